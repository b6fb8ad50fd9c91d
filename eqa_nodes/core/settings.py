"""Fields of settings dataclasses: default, description, and when a change takes effect.

config/parameters.py declares them as ROS parameters. The range of a value is part of its type (core/ranges.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, field
from typing import Any, Literal, TypeAlias, TypeVar

# When a change takes effect while the node runs; "" = after a restart of the node.
Live: TypeAlias = Literal["", "at once", "next episode", "next question", "next goal", "next bag", "next picture"]
NOW: Live = "at once"
EPISODE: Live = "next episode"
QUESTION: Live = "next question"
GOAL: Live = "next goal"
BAG: Live = "next bag"
PICTURE: Live = "next picture"
RESTART: Live = ""

T = TypeVar("T")


def setting(default: T, description: str = "", *, live: Live | None = None, reads: tuple[str, ...] = ()) -> T:
    """Return a field of a settings dataclass; the type is that of its default, as with dataclasses.field.

    description: text shown by `ros2 param describe`. live: when a change takes effect; None: as for the group of the
    field. reads: for a group of shared settings, the names that a node uses ("radius_m", "camera" ...) and therefore
    declares; () = all.
    """
    made: Any = field(default=default, metadata={"description": description, "live": live, "reads": reads})
    result: T = made
    return result


def constant(default: T, description: str = "") -> T:
    """Return a field of a settings dataclass that is not a ROS parameter: a paper or a measurement fixes its value.

    Python and parameter files may set it. A whole group of settings may be a constant.
    """
    made: Any = field(default=default, metadata={"description": description, "live": RESTART, "constant": True})
    result: T = made
    return result


def group(factory: Callable[[], T], *, live: Live | None = None) -> T:
    """Return a field that holds a group of settings, created together with the dataclass."""
    made: Any = field(default_factory=factory, metadata={"live": live})
    result: T = made
    return result


def description_of(own: Field[Any]) -> str:
    """Return the description of a field, "" if it has none."""
    return str(own.metadata.get("description", ""))


def is_constant(own: Field[Any]) -> bool:
    """Return whether a field is a constant and not a parameter."""
    return bool(own.metadata.get("constant", False))


def live_of(own: Field[Any], group: str) -> str:
    """Return when a change of a field takes effect. group: the value of the group that contains the field."""
    said = own.metadata.get("live")
    return group if said is None else str(said)


def reads(own: Field[Any], name: str) -> bool:
    """Return whether a node uses a setting of this group. name: name within the group, such as camera.width."""
    parts = own.metadata.get("reads", ())
    return not parts or any(f"{name}.".startswith(f"{part}.") for part in parts)
