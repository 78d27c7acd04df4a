"""Language models behind one small interface: endpoints, recordings, a mailbox, scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from engine.errors import InputError
from engine.models.base import Model
from engine.models.endpoint import find_endpoint
from engine.models.events import OnEvent, no_event
from engine.models.spec import ModelSpec

__all__ = ["ModelSpec", "open_model"]


def open_model(
    spec: ModelSpec,
    *,
    record: Path | None = None,
    replay_drift: Literal["refuse", "warn"] = "refuse",
    on_event: OnEvent = no_event,
) -> Model:
    """Open a model; `record` keeps what it says, `on_event` hears of retries, workarounds and drift.

    Raises InputError if there is no key, no recording, no folder, or the address is none.
    """
    model = _open(spec, replay_drift, on_event)
    if record is None:
        return model
    from engine.models.recording import RecordingModel

    return RecordingModel(model, record)


def _open(spec: ModelSpec, replay_drift: Literal["refuse", "warn"], on_event: OnEvent) -> Model:
    rest = spec.name.partition(":")[2]
    if spec.is_endpoint:
        find_endpoint(spec)  # a missing key is told before what is slow to import
        from engine.models.openai import OpenAIModel

        return OpenAIModel(spec, on_event=on_event)
    if not rest:
        raise InputError(
            f"--model '{spec.name}': something must follow the colon: a path, or for script MODULE:FUNCTION"
        )
    if spec.kind == "script":
        from engine.models.scripted import load_script

        return load_script(rest)
    if spec.kind == "replay":
        from engine.models.replay import ReplayModel

        return ReplayModel(Path(rest), drift=replay_drift, on_event=on_event)
    from engine.models.mailbox import MailboxModel

    return MailboxModel(Path(rest))
