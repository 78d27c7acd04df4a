"""Opens what a run works with: its models by role, and its sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from engine.contract import declared_roles
from engine.effects import RoleModel
from engine.errors import InputError
from engine.events import EventLog
from engine.flow.model import Flow
from engine.models import ModelSpec, open_model
from engine.models.base import Answer, Decoding, Model, Request
from engine.models.endpoint import check_address
from engine.models.patience import Patience
from engine.sandbox import open_sandbox
from engine.sandbox.base import Limits, Sandbox


@dataclass(frozen=True)
class RunOptions:
    """What the user chose for a run besides the flow.

    model         in the place of all models that the flow names, of `model` and of every role's
    base_url      in the place of all addresses
    record        a file that keeps what the models say
    replay_drift  whether a recorded answer may serve when only its place matches
    unprotected   generated code runs without a sandbox; asked for anew each time that a run goes on
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


@dataclass(frozen=True)
class NoModel:
    """Stands where a flow names models for its roles and none for the rest: an error, but only when it is asked."""

    name: str = "none"

    async def answer(self, request: Request) -> Answer:
        """Raises InputError."""
        raise InputError(f"{request.place}: no model is configured for this; set model.name, or give --model NAME")

    async def close(self) -> None:
        """Nothing to give back."""


def _open_models(flow: Flow, options: RunOptions, stack: AsyncExitStack, relay: Relay) -> dict[str, RoleModel]:
    for section in (flow.model, *flow.models.values()):  # also where nobody is asked there: the flow is kept
        if section.get("base_url"):
            check_address(section["base_url"])
    specs = {role: model_spec(flow, role, options) for role in _roles(flow, options)}
    _refuse_without_effect(specs.values(), options)
    opened: dict[ModelSpec, Model] = {}
    roles: dict[str, RoleModel] = {}
    for role, spec in specs.items():
        settings = {**flow.model, **flow.models.get(role, {})}
        if spec not in opened:
            opened[spec] = open_model(spec, record=options.record, replay_drift=options.replay_drift, on_event=relay)
            stack.push_async_callback(opened[spec].close)
        decoding = Decoding(**{one.name: settings[one.name] for one in fields(Decoding) if one.name in settings})
        if decoding.seed is None and options.seed:
            decoding = replace(decoding, seed=options.seed)
        roles[role] = RoleModel(opened[spec], decoding, settings.get("max_input_tokens", 128_000))
    return {"default": RoleModel(NoModel(), Decoding(), 128_000), **roles}


def _roles(flow: Flow, options: RunOptions) -> list[str]:
    """The roles to open models for; without "default" where no node is known to need that one and it has no name."""
    named = [role for role, one in flow.models.items() if one.get("name")]
    spared = named and not (options.model or flow.model.get("name")) and declared_roles(flow) <= {"default", *named}
    return list(flow.models) if spared else ["default", *flow.models]


def model_spec(flow: Flow, role: str, options: RunOptions) -> ModelSpec:
    """Which model to open for a role.

    What the user chose stands in the place of all that the flow names: of `model`, and of every role's.
    Raises InputError naming the three ways to give one.
    """
    settings = {**flow.model, **(flow.models.get(role, {}) if options.model is None else {})}
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
        price=_price(settings) if settings.get("name", name) == name else None,  # another model has another price
        patience=Patience(**{to: settings[key] for key, to in _PATIENCE.items() if key in settings}),
    )


def _refuse_without_effect(specs: Iterable[ModelSpec], options: RunOptions) -> None:
    """Raise InputError for what the user chose though nothing that is opened heeds it."""
    specs = list(specs)
    names = " and ".join(sorted({f"'{one.name}'" for one in specs}))
    if options.base_url is not None and not any(one.is_endpoint for one in specs):
        raise InputError(f"--base-url has no effect: {names} asks no endpoint; leave it out, or give --model NAME")
    if options.replay_drift == "warn" and not any(one.kind == "replay" for one in specs):
        raise InputError(
            f"--replay-drift=warn has no effect: {names} is no recording; leave it out, or give --model replay:FILE"
        )


_PATIENCE = {"timeout": "idle", "retry_delay": "first", "longest_delay": "longest"}


def _price(settings: Mapping[str, Any]) -> Mapping[str, float] | None:
    price: Mapping[str, float] | None = settings.get("price")
    if price and not {"input", "output"} <= price.keys():
        raise InputError("model.price: give both input and output, in US dollars per million tokens")
    return price or None
