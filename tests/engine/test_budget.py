from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.budget import Budget
from engine.errors import BudgetExceeded
from engine.journal import Journal, Totals


def spend(journal: Journal, place: str, tokens: int, cost: float = 0.0) -> None:
    async def perform() -> dict[str, Any]:
        return {"input_tokens": tokens, "output_tokens": 0, "cost": cost}

    asyncio.run(journal.effect("model", place, {}, perform))


def one_call(budget: Budget, node: str, most: int, tokens: int, cost: float = 0.0) -> None:
    with budget.call(node, most):
        pass
    budget.settle(node, Totals(1, tokens, cost))


def test_a_call_is_refused_before_it_is_made_when_it_could_go_beyond(tmp_path: Path) -> None:
    budget = Budget({"tokens": 100}, Journal(tmp_path / "j"))
    one_call(budget, "develop", 60, 50)
    with pytest.raises(BudgetExceeded) as caught:
        one_call(budget, "develop", 51, 10)
    assert str(caught.value) == "budget: tokens of 100 reached (50 used)"
    one_call(budget, "develop", 50, 10)
    assert budget.spent["tokens"] == 60


def test_calls_under_way_count_with_the_most_they_could_take(tmp_path: Path) -> None:
    budget = Budget({"tokens": 100}, Journal(tmp_path / "j"))
    with budget.call("a", 80), pytest.raises(BudgetExceeded), budget.call("b", 30):
        pass
    with budget.call("b", 30):
        pass


def test_a_node_has_limits_of_its_own_and_what_its_flow_spends_is_its(tmp_path: Path) -> None:
    budget = Budget({"calls": 10, "nodes": {"develop": {"calls": 1}, "talk": {"tokens": 20}}}, Journal(tmp_path / "j"))
    one_call(budget, "develop", 5, 5)
    with pytest.raises(BudgetExceeded, match="budget: calls of node 'develop' of 1 reached"):
        one_call(budget, "develop", 5, 5)
    one_call(budget, "qa", 5, 5)
    one_call(budget, "talk.1.speak", 15, 15)
    with pytest.raises(BudgetExceeded, match="tokens of node 'talk'"):
        one_call(budget, "talk.2.speak", 15, 15)
    assert budget.spent["calls"] == 3


def test_what_was_spent_is_kept_over_a_resume(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    spend(journal, "develop/a.py#1", 30, 0.25)
    spend(journal, "talk.1.speak/0#1", 5, 0.25)
    first = Budget({}, journal)
    first.save()
    journal.close()
    journal = Journal(tmp_path / "j")
    budget = Budget({"cost": 0.5, "nodes": {"develop": {"tokens": 40}}}, journal)
    assert {name: budget.spent[name] for name in ("tokens", "calls", "cost")} == {"tokens": 35, "calls": 2, "cost": 0.5}
    with pytest.raises(BudgetExceeded, match="cost"):
        one_call(budget, "qa", 1, 1)
    budget = Budget({"nodes": {"develop": {"tokens": 40}}}, journal)
    with pytest.raises(BudgetExceeded, match="tokens of node 'develop'"):
        one_call(budget, "develop", 11, 1)
    journal.close()


def test_time_counts_while_the_run_is_running_not_while_it_is_stopped(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.set_meta("wall seconds", "100")
    budget = Budget({"wall": 100}, journal)
    assert 100 <= budget.wall < 110
    with pytest.raises(BudgetExceeded, match="wall of 100 reached"):
        one_call(budget, "a", 1, 1)
    journal.close()
