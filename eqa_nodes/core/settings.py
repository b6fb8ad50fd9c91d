"""Fields of settings dataclasses: default, description, and when a change counts, said once.

config/parameters.py makes ROS parameters of them. The range of a value stands in its type (core/ranges.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, field
from typing import Any, Literal, TypeAlias, TypeVar

# From when on a change counts while the node runs; "" = after a restart of the node.
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

    description: what `ros2 param describe` shows. live: when a change counts; None: as the group that holds the field
    says. reads: of a group of shared settings, the names that a node uses ("radius_m", "camera" ...): it declares no
    others; () = all.
    """
    made: Any = field(default=default, metadata={"description": description, "live": live, "reads": reads})
    result: T = made
    return result


def constant(default: T, description: str = "") -> T:
    """Return a field of a settings dataclass that is not a ROS parameter: a paper or a measurement fixes its value.

    Python and parameter files may set it. A group of settings may be one as a whole.
    """
    made: Any = field(default=default, metadata={"description": description, "live": RESTART, "constant": True})
    result: T = made
    return result


def group(factory: Callable[[], T], *, live: Live | None = None) -> T:
    """Return a field that holds a group of settings, made when the dataclass is."""
    made: Any = field(default_factory=factory, metadata={"live": live})
    result: T = made
    return result


def description_of(own: Field[Any]) -> str:
    """Return the description of a field, "" where it has none."""
    return str(own.metadata.get("description", ""))


def is_constant(own: Field[Any]) -> bool:
    """Return whether a field is not a parameter."""
    return bool(own.metadata.get("constant", False))


def live_of(own: Field[Any], group: str) -> str:
    """Return when a change of a field counts. group: what holds for the group that the field stands in."""
    said = own.metadata.get("live")
    return group if said is None else str(said)


def reads(own: Field[Any], name: str) -> bool:
    """Say whether a node uses a setting of this group. name: below the group, such as camera.width."""
    parts = own.metadata.get("reads", ())
    return not parts or any(f"{name}.".startswith(f"{part}.") for part in parts)
