"""A unified diff as a model writes it, applied strictly: what it keeps and removes must stand in the file as it says.

Forgiven is what does no harm: fences, words around the diff, missing file names, wrong line numbers where only one
place fits, wrong line counts, a missing mark for a missing newline at the end, LF in place of CRLF.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from engine.models.thinking import without_thinking

_HUNK = re.compile(r"@@(?:\s+-(\d+)(?:,(\d+))?\s+\+(\d+)(?:,(\d+))?)?")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+-]*)[ \t]*$")
_REFUSED = re.compile(
    r"(new file|deleted file) mode|(rename|copy) (from|to) |similarity index|GIT binary patch|Binary files "
)
_START = re.compile(r"(diff --git |Index: |--- \S|@@)")
_NO_NEWLINE = "\\"


class PatchError(ValueError):
    """A patch that is not applied; the sentence says why, for whoever wrote it."""


@dataclass(frozen=True)
class _Line:
    """A line of a file or of a hunk without its newline, and whether it has one."""

    text: str
    newline: bool = True


@dataclass
class _Hunk:
    """`lines` are pairs of " ", "-" or "+" and a line; `start` is the line that the header names, from 1, or None."""

    header: str
    number: int
    start: int | None
    lines: list[tuple[str, _Line]] = field(default_factory=list)

    @property
    def old(self) -> list[_Line]:
        return [line for mark, line in self.lines if mark != "+"]


def is_patch(answer: str) -> bool:
    """Whether an answer is a diff, well made or not, and no whole file."""
    body = without_thinking(answer)
    lines = _patch_lines(body)
    if not any(one.startswith("@@") for one in lines):
        return False
    outside = [one for one in body.split("\n") if one.startswith(("# ", "## "))]
    return not outside and any(one[:1] in ("+", "-") for one in lines)


def apply_patch(original: str, answer: str, path: str) -> str:
    """The text of the file at `path` after the diff in a model's answer. Raises PatchError; then nothing is changed."""
    hunks = _read(_patch_lines(without_thinking(answer)), path)
    if not hunks:
        raise PatchError("the answer holds no hunk: a line that begins with @@, and the lines that change after it")
    lines = _split(original)
    exact = "\r" in answer
    places = sorted((_place(hunk, lines, exact, path), hunk.number, hunk) for hunk in hunks)
    for (start, _, hunk), (following, _, other) in pairwise(places):
        if start + len(hunk.old) > following or (start == following and not hunk.old):
            raise PatchError(f"hunks {hunk.number} and {other.number} of the patch change the same lines of {path}")
    result: list[_Line] = []
    done = 0
    for start, _, hunk in places:
        result += lines[done:start]
        result += _changed(hunk, lines[start : start + len(hunk.old)], exact)
        done = start + len(hunk.old)
    return _joined([*result, *lines[done:]], original, path)


def _joined(lines: Sequence[_Line], original: str, path: str) -> str:
    last = len(lines) - 1
    text = "".join(one.text + ("\n" if one.newline or index < last else "") for index, one in enumerate(lines))
    if text == original:
        raise PatchError(f"the patch changes nothing in {path}")
    return text


def _patch_lines(body: str) -> list[str]:
    """The lines of the diff, without fences and words around it."""
    lines = body.lstrip("\ufeff").split("\n")
    if all(one.endswith("\r") for one in lines[:-1]):
        lines = [one.removesuffix("\r") for one in lines]
    fenced = [block for block in _blocks(lines) if any(_START.match(one) for one in block)]
    if fenced:
        return [line for block in fenced for line in block]
    starts = (index for index, one in enumerate(lines) if _begins(lines, index) or one.startswith("@@"))
    first = next(starts, None)
    return [] if first is None else lines[first:]


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """What stands between fences that begin their line; inside a diff no line but a fence can."""
    opened: tuple[int, str] | None = None
    for index, line in enumerate(lines):
        found = _FENCE.match(line.rstrip("\r"))
        if found and opened is None:
            opened = index, found[1]
        elif found and opened and found[1].startswith(opened[1]) and not found[2]:
            yield list(lines[opened[0] + 1 : index])
            opened = None
    if opened is not None:
        yield list(lines[opened[0] + 1 :])


def _begins(lines: Sequence[str], index: int) -> bool:
    """Whether a file's header begins at a line."""
    line = lines[index]
    pair = line.startswith("--- ") and index + 1 < len(lines) and lines[index + 1].startswith("+++ ")
    return pair or line.startswith("diff --git ")


def _read(lines: Sequence[str], path: str) -> list[_Hunk]:
    hunks: list[_Hunk] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if _begins(lines, index) or (not hunks and line.startswith(("--- ", "+++ "))):
            _check_names(lines[index : index + 2] if line.startswith("--- ") else [line], path)
            index += 2 if line.startswith("--- ") and _begins(lines, index) else 1
        elif found := _HUNK.match(line):
            body = _body(lines, index + 1, found)
            hunks.append(_hunk(line, len(hunks) + 1, found, body, path))
            index += 1 + len(body)
        elif _REFUSED.match(line):
            raise PatchError(
                f"'{line[:80]}': a patch may only change lines of {path}; it is not made, moved or removed"
            )
        else:
            index += 1
    return hunks


def _check_names(lines: Sequence[str], path: str) -> None:
    """The names in a file's header must be the file's own."""
    for line in lines:
        if line.startswith("diff --git "):
            names = line.removeprefix("diff --git ").split(" ")
        else:
            names = [line[4:].partition("\t")[0].strip()]
        for name in names:
            plain = name.strip('"').removeprefix("./")
            if plain == "/dev/null":
                raise PatchError(f"a patch may not make or remove {path}; it may only change its lines")
            if path not in (plain, plain.removeprefix("a/"), plain.removeprefix("b/")):
                raise PatchError(f"the patch is for '{name[:100]}'; only {path} may be changed")


def _body(lines: Sequence[str], start: int, header: re.Match[str]) -> list[str]:
    """The lines of a hunk: as many as its header says, if that is where it ends; else up to what is no part of it."""
    if header[1] is not None:
        counted = _counted(lines, start, int(header[2] or 1), int(header[4] or 1))
        rest = lines[start + len(counted) :]
        if counted and all(not one.strip() or one[:1] not in " +-" for one in rest[:1]):
            return counted
    end = start
    while end < len(lines) and not lines[end].startswith("@@") and not _begins(lines, end):
        if lines[end][:1] not in ("", " ", "+", "-", _NO_NEWLINE, "\r") and not any(
            one.startswith("@@") for one in lines[end:]
        ):
            break  # words after the diff
        end += 1
    while end > start and not lines[end - 1].strip("\r"):
        end -= 1
    return list(lines[start:end])


def _counted(lines: Sequence[str], start: int, old: int, new: int) -> list[str]:
    """The lines of a hunk whose header counts them rightly, else none."""
    end = start
    while end < len(lines) and (old > 0 or new > 0):
        mark = lines[end][:1]
        if mark not in ("", " ", "+", "-", _NO_NEWLINE, "\r"):
            return []
        old -= mark in ("", " ", "-", "\r")
        new -= mark in ("", " ", "+", "\r")
        end += 1
    if end < len(lines) and lines[end].startswith(_NO_NEWLINE):
        end += 1
    return list(lines[start:end]) if old == new == 0 else []


def _hunk(header: str, number: int, found: re.Match[str], body: Sequence[str], path: str) -> _Hunk:
    hunk = _Hunk(header.strip(), number, int(found[1]) if found[1] else None)
    for line in body:
        mark, text = (line[:1], line[1:]) if line.strip("\r") else (" ", line)
        if mark == _NO_NEWLINE and hunk.lines:
            previous, last = hunk.lines[-1]
            hunk.lines[-1] = previous, _Line(last.text, newline=False)
        elif mark in (" ", "+", "-"):
            hunk.lines.append((mark, _Line(text)))
        else:
            raise PatchError(
                f"hunk {number} ({hunk.header}): the line '{line[:80]}' begins with none of ' ', '+' and '-'; "
                "each line of a hunk must"
            )
    if not any(mark != " " for mark, _ in hunk.lines):
        raise PatchError(f"hunk {number} ({hunk.header}) of the patch for {path} changes no line")
    return hunk


def _place(hunk: _Hunk, lines: Sequence[_Line], exact: bool, path: str) -> int:
    """The index of the line at which a hunk fits: where it says, else the only place. Raises PatchError."""
    old = hunk.old
    where = f"hunk {hunk.number} ({hunk.header})"
    if not old:
        if lines:
            raise PatchError(
                f"{where} only adds lines: give at least one line of {path} beside them, so that it is clear where"
            )
        return 0
    if hunk.start is not None and _fits(old, lines, hunk.start - 1, exact):
        return hunk.start - 1
    places = [index for index in range(len(lines) - len(old) + 1) if _fits(old, lines, index, exact)]
    if len(places) == 1:
        return places[0]
    if places:
        shown = ", ".join(str(one + 1) for one in places[:5])
        raise PatchError(
            f"{where} fits {path} at lines {shown}: give more unchanged lines, so that only one place fits"
        )
    raise PatchError(f"{where} does not fit {path}: {_why(old, lines, exact)}")


def _why(old: Sequence[_Line], lines: Sequence[_Line], exact: bool) -> str:
    """Which line of a hunk the file does not have; where it has each, that they do not stand together."""
    for one in old:
        if not any(_same(one, other, exact, last=True) for other in lines):
            return f"the file has no line {one.text[:120]!r}; copy unchanged and removed lines exactly as they are"
    return "the file has its unchanged and removed lines, but not one right after the other"


def _fits(old: Sequence[_Line], lines: Sequence[_Line], start: int, exact: bool) -> bool:
    if start < 0 or start + len(old) > len(lines):
        return False
    last = len(lines) - 1
    pairs = zip(old, lines[start : start + len(old)], strict=True)
    return all(_same(one, other, exact, last=start + index == last) for index, (one, other) in enumerate(pairs))


def _same(one: _Line, other: _Line, exact: bool, *, last: bool) -> bool:
    """Whether a hunk's line is the file's. The last line of a file may lack its newline without a mark."""
    if not one.newline and (other.newline or not last):
        return False
    return one.text == other.text or (not exact and one.text == other.text.removesuffix("\r"))


def _changed(hunk: _Hunk, old: Sequence[_Line], exact: bool) -> list[_Line]:
    """The lines that a hunk makes of the file's: kept ones stay as they are, new ones end as the one before them."""
    carriage = not exact and any(one.text.endswith("\r") for one in old[:1])
    remaining = iter(old)
    result = []
    for mark, line in hunk.lines:
        if mark == "+":
            result.append(_Line(line.text + "\r" if carriage and line.newline else line.text, line.newline))
            continue
        one = next(remaining)
        carriage = not exact and one.text.endswith("\r")
        result += [one] if mark == " " else []
    return result


def _split(text: str) -> list[_Line]:
    lines = text.split("\n")
    last = lines.pop()
    return [*(_Line(one) for one in lines), *([_Line(last, newline=False)] if last else [])]
