"""Opens what a run works with: its models by role, and its sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from engine.effects import RoleModel
from engine.errors import InputError
from engine.events import EventLog
from engine.flow.model import Flow
from engine.models import ModelSpec, open_model
from engine.models.base import Decoding, Model
from engine.sandbox import open_sandbox
from engine.sandbox.base import Limits, Sandbox


@dataclass(frozen=True)
class RunOptions:
    """What the user chose for a run besides the flow.

    model, base_url  override the flow's; record  a file that keeps what the model said
    unprotected  generated code runs without a sandbox; asked for anew each time that a run goes on
    """

    model: str | None = None
    base_url: str | None = None
    record: Path | None = None
    replay_drift: Literal["refuse", "warn"] = "refuse"
    seed: int = 0
    unprotected: bool = False

    def to_json(self) -> dict[str, Any]:
        """The options as plain data; `from_json` reads them back."""
        return {**asdict(self), "record": str(self.record.resolve()) if self.record else None}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RunOptions:
        """Options from plain data."""
        return RunOptions(**{**data, "record": Path(data["record"]) if data["record"] else None})


@dataclass
class Relay:
    """Hands what a model tells (retries, workarounds) on to the run's events, once there are any."""

    log: EventLog | None = None

    def __call__(self, kind: str, data: Mapping[str, Any]) -> None:
        """Hand one event on."""
        if self.log is not None:
            self.log.emit(kind, **data)


@dataclass(frozen=True)
class Tools:
    """What a run works with. `models` has an entry "default" and one for each role that the flow names."""

    models: Mapping[str, RoleModel]
    sandbox: Sandbox
    limits: Limits
    relay: Relay


@asynccontextmanager
async def open_tools(flow: Flow, options: RunOptions) -> AsyncIterator[Tools]:
    """Models and sandbox of a flow; InputError for what is not there."""
    limits = Limits(**{one.name: flow.sandbox[one.name] for one in fields(Limits) if one.name in flow.sandbox})
    async with AsyncExitStack() as stack:
        relay = Relay()
        models = _open_models(flow, options, stack, relay)
        sandbox = await open_sandbox(
            flow.sandbox.get("backend", "auto"),
            limits=limits,
            image=flow.sandbox.get("image"),
            pull=flow.sandbox.get("pull", False),
            unprotected=options.unprotected,
        )
        stack.push_async_callback(sandbox.close)
        yield Tools(models, sandbox, limits, relay)


def _open_models(flow: Flow, options: RunOptions, stack: AsyncExitStack, relay: Relay) -> dict[str, RoleModel]:
    opened: dict[ModelSpec, Model] = {}
    roles: dict[str, RoleModel] = {}
    for role in ("default", *flow.models):
        settings = {**flow.model, **flow.models.get(role, {})}
        spec = model_spec(settings, options)
        if spec not in opened:
            opened[spec] = open_model(spec, record=options.record, replay_drift=options.replay_drift, on_event=relay)
            stack.push_async_callback(opened[spec].close)
        decoding = Decoding(**{one.name: settings[one.name] for one in fields(Decoding) if one.name in settings})
        if decoding.seed is None and options.seed:
            decoding = replace(decoding, seed=options.seed)
        roles[role] = RoleModel(opened[spec], decoding, settings.get("max_input_tokens", 128_000))
    return roles


def model_spec(settings: Mapping[str, Any], options: RunOptions) -> ModelSpec:
    """Which model to open. Raises InputError naming the three ways to give one."""
    name = options.model or settings.get("name")
    if not name:
        raise InputError(
            "no model is configured. Give one of:\n"
            "  an endpoint   --model NAME [--base-url URL], key in OPENAI_API_KEY\n"
            "  a recording   --model replay:FILE\n"
            "  the mailbox   --model mailbox:DIR (each request becomes a file there; answer it with a file)"
        )
    return ModelSpec(
        name=name,
        base_url=options.base_url or settings.get("base_url"),
        api_key_env=settings.get("api_key_env", "OPENAI_API_KEY"),
        price=settings.get("price"),
    )
