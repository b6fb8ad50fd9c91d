"""Named errors. Each message states the problem with the offending value, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ErrorCode(IntEnum):
    """How a question ended; the numbers are those of eqa_interfaces/action/Ask."""

    NONE = 0
    BAD_QUESTION = 1
    BAD_POSE = 2
    NAVIGATION = 3
    MODEL = 4
    STALE = 5
    SIMULATOR = 6
    CANCELED = 7
    INTERNAL = 8
    UNKNOWN_SCENE = 9
    STORAGE = 10
    NODE_LOST = 11
    BUDGET = 12
    QUEUE_FULL = 13


class EqaError(Exception):
    """Base of every error that the project raises on purpose."""

    code = ErrorCode.INTERNAL


class ConfigError(EqaError):
    """A setting is unknown, misspelt, of the wrong type or out of range."""


class BadQuestion(EqaError):
    """The question is empty or longer than the limit."""

    code = ErrorCode.BAD_QUESTION


class BadPose(EqaError):
    """A start or goal pose lies inside an obstacle or off the floor, or is not finite."""

    code = ErrorCode.BAD_POSE


class BadFrame(EqaError):
    """A camera frame cannot be used: wrong shape, encoding, intrinsics, pose or stamp."""


class MapFull(EqaError):
    """A reconstruction has reached the maximum size of its settings."""


class StaleData(EqaError):
    """Something derived from the newest observation did not arrive before the deadline."""

    code = ErrorCode.STALE


class NavigationError(EqaError):
    """The robot could not be driven."""

    code = ErrorCode.NAVIGATION


class ModelError(EqaError):
    """A model refused, timed out, or did not answer in the requested form."""

    code = ErrorCode.MODEL


class BudgetSpent(ModelError):
    """The budget of model calls, tokens or money is used up."""

    code = ErrorCode.BUDGET


class SimulatorError(EqaError):
    """The simulator failed."""

    code = ErrorCode.SIMULATOR


class UnknownScene(SimulatorError):
    """No such scene; the message lists the known ones."""

    code = ErrorCode.UNKNOWN_SCENE


class NoFloor(SimulatorError):
    """A scene has no floor that the robot could stand on."""


class StorageError(EqaError):
    """Memory or a bag could not be written or read."""

    code = ErrorCode.STORAGE


class Canceled(EqaError):
    """The caller canceled the request."""

    code = ErrorCode.CANCELED


class LimitReached(EqaError):
    """A limit of the question is reached: answer from what is known."""

    code = ErrorCode.CANCELED


class QueueFull(EqaError):
    """The queue of questions is full."""

    code = ErrorCode.QUEUE_FULL


class NodeLost(EqaError):
    """A node of the graph did not answer before the deadline."""

    code = ErrorCode.NODE_LOST


class MissingExtra(EqaError):
    """A library is not installed; the message gives the pip command. extra: pip extra that installs it, "" = none."""

    def __init__(self, library: str, extra: str) -> None:
        package = f"'eqa-nodes[{extra}]'" if extra else library
        super().__init__(f"{library} is not installed: pip install {package}")
        self.library, self.extra = library, extra


_LISTED = 40  # maximum number of known names that an error lists in addition to similar ones


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return one line about an unknown name: similar names, and all known names unless they are too many."""
    names = sorted(known)
    near = did_you_mean(name, names)
    listed = "" if near and len(names) > _LISTED else f": known are {', '.join(names)}"
    return f"unknown {what} {name!r}{near}{listed}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean a or b?)" with the known names similar to a name; "" if there are none."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=2, cutoff=0.65)
    return f" (did you mean {' or '.join(near)}?)" if near else ""
