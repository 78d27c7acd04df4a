"""Many callers share one gate."""

from __future__ import annotations

import asyncio
import time

import pytest

from engine.models.limiter import Limiter, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1", 1.0),
        ("0.5", 0.5),
        ("20s", 20.0),
        ("120ms", 0.12),
        ("6m0s", 360.0),
        ("1h2m3.5s", 3723.5),
        (" 1D ", 86400.0),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("1e9", None),
        ("5 s", None),
    ],
)
def test_lengths_of_time(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


def run_all(limiter: Limiter, calls: int, tokens: int = 1) -> int:
    """How many of so many calls were running at once at most."""
    running = most = 0

    async def one() -> None:
        nonlocal running, most
        async with limiter.call(tokens):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1

    async def all_of_them() -> None:
        await asyncio.wait_for(asyncio.gather(*(one() for _ in range(calls))), 20)

    asyncio.run(all_of_them())
    return most


def test_nothing_is_held_back_without_a_reason() -> None:
    assert run_all(Limiter(), 16) == 16


def test_refusals_halve_what_runs_at_once_and_successes_let_it_grow() -> None:
    limiter = Limiter()

    async def sixteen_refused() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(16):
                group.create_task(refused())

    async def refused() -> None:
        async with limiter.call(1):
            began = time.monotonic()
            await asyncio.sleep(0.005)
        limiter.refused(began, 0.0)

    asyncio.run(sixteen_refused())
    assert 4 <= limiter.most <= 8  # one burst counts once
    assert run_all(limiter, 16) <= 8
    before = limiter.most
    for _ in range(100):
        limiter.succeeded()
    assert limiter.most > before


def test_a_refusal_never_closes_the_gate_for_good() -> None:
    limiter = Limiter()
    for _ in range(50):
        limiter.refused(time.monotonic(), 0.0)
    assert limiter.most == 1
    assert run_all(limiter, 3) == 1


def test_all_wait_when_one_is_told_to_wait() -> None:
    limiter = Limiter()
    happened: list[str] = []

    async def call() -> None:
        async with limiter.call(1):
            happened.append("call")

    async def sooner() -> None:
        await asyncio.sleep(0.02)
        happened.append("sooner")

    async def both() -> None:
        limiter.refused(time.monotonic(), 0.2)
        await asyncio.gather(call(), call(), sooner())

    asyncio.run(both())
    assert happened == ["sooner", "call", "call"]


def test_what_headers_leave_is_shared_out() -> None:
    limiter = Limiter()
    limiter.learn(
        {
            "x-ratelimit-limit-requests": "100",
            "x-ratelimit-remaining-requests": "3",
            "x-ratelimit-reset-requests": "150ms",
            "x-ratelimit-limit-tokens": "1000",
            "x-ratelimit-remaining-tokens": "1000",
            "x-ratelimit-reset-tokens": "1ms",
        }
    )
    assert run_all(limiter, 8) <= 5


def test_a_request_above_the_whole_limit_is_not_held_back_for_ever() -> None:
    limiter = Limiter()
    limiter.learn(
        {"x-ratelimit-limit-tokens": "10", "x-ratelimit-remaining-tokens": "10", "x-ratelimit-reset-tokens": "1h"}
    )
    assert run_all(limiter, 1, tokens=5000) == 1


def test_headers_that_say_nothing_are_let_pass() -> None:
    limiter = Limiter()
    limiter.learn({"x-ratelimit-limit-requests": "many", "x-ratelimit-remaining-requests": "0"})
    limiter.learn({})
    assert run_all(limiter, 4) == 4


def test_a_cancelled_call_gives_its_place_back() -> None:
    limiter = Limiter()
    for _ in range(50):
        limiter.refused(time.monotonic(), 0.0)

    async def cancelled() -> None:
        async def hold() -> None:
            async with limiter.call(1):
                await asyncio.sleep(60)

        task = asyncio.ensure_future(hold())
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancelled())
    assert run_all(limiter, 2) == 1
