"""Small seccomp filters: programs that answer some system calls themselves and let the others through."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Sequence

_ALLOW, _KILL, _ANSWER = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # instructions of the classic packet filter
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in what a filter sees of a call
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_CLONE_NEWUSER = 0x10000000

# Numbers by machine; from 424 on, they are the same on every machine.
_ATTRIBUTES = {  # chmod, setxattr, removexattr and their kin
    "x86_64": (90, 91, 268, 188, 189, 190, 197, 198, 199, 452, 463, 466, 469),
    "aarch64": (52, 53, 5, 6, 7, 14, 15, 16, 452, 463, 466, 469),
}
_DANGEROUS = {  # keys, tracing, files in memory, file handles, BPF, page faults, io_uring, mounts, namespaces
    "x86_64": (
        *(101, 155, 165, 166, 248, 249, 250, 272, 298, 303, 304, 308, 310, 311, 319, 321, 323),
        *(425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 447, 467),
    ),
    "aarch64": (
        *(117, 39, 40, 41, 97, 217, 218, 219, 241, 264, 265, 268, 270, 271, 279, 280, 282),
        *(425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 447, 467),
    ),
}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435


def ignore_attributes() -> bytes:
    """A filter under which changing permission bits and extended attributes succeeds and does nothing."""
    return _program(_answer(_ATTRIBUTES[os.uname().machine], 0))


def deny_dangerous() -> bytes:
    """A filter that refuses what generated code has no use for and a kernel has had holes in."""
    clone = _CLONE[os.uname().machine]
    no_new_user_namespace = [
        (_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, _CLONE_NEWUSER),
        (_RETURN, 0, 0, _ANSWER | errno.EPERM),
        (_LOAD, 0, 0, _NUMBER),
    ]
    # The arguments of clone3 cannot be seen, so it is said not to exist; C libraries then use clone.
    rules = [*_answer((_CLONE3,), errno.ENOSYS), *_answer(_DANGEROUS[os.uname().machine], errno.EPERM)]
    return _program([*rules, *no_new_user_namespace])


_Instruction = tuple[int, int, int, int]


def _answer(calls: Sequence[int], number: int) -> list[_Instruction]:
    """Answer these calls with an error number; 0 is success."""
    rules: list[_Instruction] = []
    for call in calls:
        rules += [(_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ANSWER | number)]
    return rules


def _program(rules: Sequence[_Instruction]) -> bytes:
    start: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURES[os.uname().machine]),
        (_RETURN, 0, 0, _KILL),  # calls in another architecture's numbering
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL),  # a second numbering of the same calls
    ]
    return b"".join(struct.pack("=HBBI", *one) for one in (*start, *rules, (_RETURN, 0, 0, _ALLOW)))
