"""Finds the topic of each role (colour image, depth image, ...) by name and type, unless it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

_IMAGE, _COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
# What a history is made of, with the message types that can tell it.
ROLES: dict[str, tuple[str, ...]] = {
    "color": (_IMAGE, _COMPRESSED), "depth": (_IMAGE, _COMPRESSED), "camera_info": ("sensor_msgs/msg/CameraInfo",),
    "tf": ("tf2_msgs/msg/TFMessage",), "tf_static": ("tf2_msgs/msg/TFMessage",), "odom": ("nav_msgs/msg/Odometry",),
}
_REGISTERED = ("aligned_depth", "depth_registered", "depth_to_rgb", "depth_to_color")  # seen from the colour camera
_OTHER_IMAGES = ("infra", "/ir/", "confidence", "label", "mask", "segment", "debug", "thermal", "disparity", "theora")


class Guess(NamedTuple):
    """topics: role -> topic; unclear: role -> topics that are equally likely."""

    topics: dict[str, str]
    unclear: dict[str, tuple[str, ...]]


def guess(types: Mapping[str, str], known: Mapping[str, str]) -> Guess:
    """Find the roles that are not known yet. types: topic -> message type, of the bag; known: role -> topic."""
    found, unclear = dict(known), dict[str, tuple[str, ...]]()
    images = [t for t in sorted(types) if types[t] in ROLES["color"] and not any(word in t for word in _OTHER_IMAGES)]

    def settle(role: str, topics: Sequence[str], rank: Callable[[str], tuple[int, ...]]) -> None:
        best = [t for t in topics if rank(t) == max(map(rank, topics))]
        if role not in found and len(best) == 1:
            found[role] = best[0]
        elif role not in found and best:
            unclear[role] = tuple(best)

    settle("depth", [t for t in images if _is_depth(t, types[t])], lambda t: (
        any(word in t for word in _REGISTERED), types[t] == _IMAGE, _last(t).startswith("image_raw")))
    settle("color", [t for t in images if "depth" not in t], lambda t: (
        _shared(t, found.get("depth", "")), any(w in str(PurePosixPath(t).parent) for w in ("color", "rgb")),
        any(w in _last(image_topic(t)) for w in ("color", "rgb")), types[t] == _IMAGE,
        _last(t).startswith("image_raw")))
    siblings = [f"{PurePosixPath(image_topic(found[role])).parent}/camera_info"
                for role in ("color", "depth") if role in found]
    infos = [t for t in sorted(types) if types[t] in ROLES["camera_info"]]
    settle("camera_info", infos, lambda t: (len(siblings) - siblings.index(t) if t in siblings else 0,))
    settle("odom", [t for t in sorted(types) if types[t] in ROLES["odom"]], lambda t: (0,))
    return Guess(found, unclear)


def image_topic(topic: str) -> str:
    """Return the topic without the name that an image transport adds."""
    return str(PurePosixPath(topic).parent) if _last(topic).startswith("compressed") else topic


def rectified(topics: Mapping[str, str]) -> tuple[bool, bool]:
    """Return for colour and depth whether their names mean rectified images (image_rect, image_rect_color ...).

    Depth that names nothing is as the colour image that it is registered to.
    """
    color, depth = (_last(image_topic(topics.get(role, ""))) for role in ("color", "depth"))
    return "rect" in color, "rect" in depth or ("rect" in color and "raw" not in depth)


def _is_depth(topic: str, type_name: str) -> bool:
    """A JPEG of depths is no depth image: compressed ones are those of compressed_depth_image_transport."""
    return "depth" in topic and (type_name == _IMAGE or _last(topic) == "compressedDepth")


def _last(topic: str) -> str:
    return PurePosixPath(topic).name


def _shared(a: str, b: str) -> int:
    """Return how many leading names two topics share: those of one camera share most."""
    count = 0
    for x, y in zip(PurePosixPath(a).parts, PurePosixPath(b).parts):
        if x != y:
            break
        count += 1
    return count
