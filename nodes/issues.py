"""Issue records: what QA found, about which file, and what has to be repaired (CodeTeam, 3.2.6)."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Issue = dict[str, Any]

_LONGEST_MESSAGE = 400
_VARYING = re.compile(r"0x[0-9a-f]+|[0-9]+")


@dataclass(frozen=True)
class IssueBook:
    """Makes the issue records of a round, knowing those of the rounds before.

    number  of the round, from 1; seen  how often each id was found before
    """

    number: int
    seen: Mapping[str, int]

    @staticmethod
    def after(rounds: Sequence[Mapping[str, Any]], number: int) -> IssueBook:
        """The book of round `number` after the validations so far."""
        found = Counter(key for one in rounds for key in {issue["id"] for issue in one["issues"]})
        return IssueBook(number, found)

    def issue(
        self,
        category: str,
        message: str,
        suspected: Sequence[str],
        repair: Sequence[str] = (),
        *,
        target: str | None = None,
        test: str | None = None,
        detail: str = "",
    ) -> Issue:
        """A record. Its id depends on the symptom and the file it shows in, not on numbers in its message.

        repair  the minimal repair scope; the first suspect, if not given
        """
        head = message.partition("\n")[0][:_LONGEST_MESSAGE]
        identity = f"{category}|{target or suspected[0]}|{_VARYING.sub('#', head)}"
        key = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:10]
        return {
            "id": key,
            "category": category,
            "message": head,
            "suspected": list(suspected),
            "repair": list(repair or suspected[:1]),
            "target": target,
            "test": test,
            "detail": detail,
            "round": self.number,
            "seen": self.seen.get(key, 0) + 1,
        }


def unique(issues: Sequence[Issue]) -> list[Issue]:
    """Each id once, the first record of it."""
    found: dict[str, Issue] = {}
    for one in issues:
        found.setdefault(one["id"], one)
    return list(found.values())
