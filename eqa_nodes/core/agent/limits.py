"""The limits of a question: which values they may have, and the words that say which of them ended it."""

from __future__ import annotations

import math
import re

from eqa_nodes.core.errors import BadQuestion, LimitReached
from eqa_nodes.core.mapping.area import check_area
from eqa_nodes.core.types.questions import Limits

MOST = 2 ** 32 - 1  # of what is counted: the messages hold no more
COUNTED, MEASURED = ("steps", "calls", "tokens", "poses"), ("metres", "seconds", "money")
POSE_STEP_M = 3.0  # between two poses, at most
_UNITS = {"steps": "steps", "metres": "metres", "seconds": "seconds", "calls": "model calls", "tokens": "model tokens",
          "money": "units of money", "poses": "poses"}
_SAID = "ended by the limit of "
_FOUND = re.compile(f"(?:^|; ){_SAID}([^;]+)$")


def check_limits(limits: Limits) -> None:
    """Raises BadQuestion for a limit that is negative, infinite or no number; 0 is no limit."""
    for name in (*COUNTED, *MEASURED):
        value = getattr(limits, name)
        if not (math.isfinite(value) and value >= 0):
            raise BadQuestion(f"the limit of {name} is {value}: it must be a number above 0, or 0 for no limit")
        if name in COUNTED and (value != int(value) or value > MOST):
            raise BadQuestion(f"the limit of {name} is {value}: it must be a whole number up to {MOST}, 0 = no limit")
    check_area(limits.area)


def poses_of(drive_m: float) -> int:
    """Return how many poses a drive of that length adds. HM-EQA (Ren et al. 2024).

    Its robot moves at most 3 m from one pose to the next, and each drive ends in a pose, however short it is.
    """
    return max(1, math.ceil(round(drive_m, 6) / POSE_STEP_M))


def left(limit: float, spent: float) -> float:
    """Return what is left of a limit; inf for none, which is 0."""
    return max(limit - spent, 0) if limit else math.inf


def metres_left(limits: Limits, metres: float, poses: int) -> float:
    """Return how far a drive may go by the limits of metres and of poses. metres, poses: so far."""
    return min(left(limits.metres, metres), POSE_STEP_M * left(limits.poses, poses))


def in_words(limits: Limits, name: str) -> str:
    """Return a limit with its value, as in "30 steps"."""
    value = getattr(limits, name)
    return f"{value if name in COUNTED else format(value, 'g')} {_UNITS[name]}"


def exceeded(error: LimitReached, limits: Limits) -> str:
    """Return the limit that an error of the model's turn names, in words."""
    name = str(error).partition(":")[0]
    return in_words(limits, name) if name in _UNITS else str(error)


def with_limit(message: str, limit: str) -> str:
    """Return an answer's message that also says which limit ended the search; limit "": none did."""
    return "; ".join(filter(None, (message, f"{_SAID}{limit}" if limit else "")))


def limit_in(message: str) -> str:
    """Return the limit that `with_limit` put into a message, "" where there is none: messages have no field for it."""
    found = _FOUND.search(message)
    return found[1] if found else ""
