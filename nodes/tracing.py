"""Traces the failing tests of a validation to the files at fault (CodeTeam, 3.2.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nodes.contract import Contract, is_test
from nodes.localise import Localisation, localise
from nodes.schedule import OWN_TESTS, PACKAGING
from nodes.testing import Failure, temporary_test

_READ_AGAIN = 2  # failures in a row after which QA has read a test again

Tests = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Traced:
    """A failing test, and where it comes from.

    target   the file that it is about
    test     the temporary test, None for one of the repository's own
    """

    failure: Failure
    target: str
    test: Mapping[str, Any] | None
    found: Localisation

    @property
    def doubted(self) -> bool:
        """Whether the test itself seems wrong and was not read again yet."""
        return self.found.test_at_fault and self.test is not None and self.test["failures"] < _READ_AGAIN

    @property
    def repair(self) -> Sequence[str]:
        """The minimal repair scope, also of a test that was read again and stays as it is."""
        return self.found.repair or self.found.suspected[:1]


def trace_failures(
    contract: Contract, runs: Mapping[str, Mapping[str, Any]], tests: Tests, sources: Mapping[str, str]
) -> list[Traced]:
    """Every failing test with the files at fault; of failures that follow from one another, the earliest file.

    runs, tests  as the state keys of these names have them; sources  the files written so far
    """
    alone = list(_each(contract, runs, tests, sources))
    return [_among(one, alone[:index] + alone[index + 1 :], contract, sources) for index, one in enumerate(alone)]


def _each(
    contract: Contract, runs: Mapping[str, Mapping[str, Any]], tests: Tests, sources: Mapping[str, str]
) -> Iterator[Traced]:
    for key, run in runs.items():
        for failure in (Failure(**one) for one in run["failures"] if key != PACKAGING):
            target = _target(failure, key, contract)
            if target is None:
                continue
            written = tests.get(target, [])
            test = written[failure.test - 1] if 0 < failure.test <= len(written) else None
            yield Traced(
                failure, target, test, localise(failure, target, contract, _seen(sources, target, failure, test))
            )


def _among(one: Traced, others: Sequence[Traced], contract: Contract, sources: Mapping[str, str]) -> Traced:
    """The same, knowing what the other failures say."""
    failing = {path for other in others for path in other.found.repair} - set(one.found.repair)
    if not failing:
        return one
    seen = _seen(sources, one.target, one.failure, one.test)
    return replace(one, found=localise(one.failure, one.target, contract, seen, failing=failing))


def _target(failure: Failure, key: str, contract: Contract) -> str | None:
    """The file that a test is about. What no test of the repository itself names is its first test's."""
    if key != OWN_TESTS:
        return key.partition(":")[2]
    own = [path for path in contract.files if is_test(path)]
    return next((path for path in own if path in failure.detail), own[0] if own else None)


def _seen(
    sources: Mapping[str, str], target: str, failure: Failure, test: Mapping[str, Any] | None
) -> Mapping[str, str]:
    return {**sources, temporary_test(target, failure.test): test["source"]} if test else sources
