"""Chooses the topics of a bag for the roles of a history and of the graph: by type and count first, by name last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from eqa_nodes.wire.graph import TOPICS, UNSTAMPED

IMAGE, _COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
# The roles of a history and the message types that can have them.
ROLES: dict[str, tuple[str, ...]] = {
    "color": (IMAGE, _COMPRESSED), "depth": (IMAGE, _COMPRESSED), "camera_info": ("sensor_msgs/msg/CameraInfo",),
    "tf": ("tf2_msgs/msg/TFMessage",), "tf_static": ("tf2_msgs/msg/TFMessage",), "odom": ("nav_msgs/msg/Odometry",),
}
_CAMERA = ("color", "depth", "camera_info")
_REGISTERED = ("aligned_depth", "depth_registered", "depth_to_rgb", "depth_to_color")  # seen from the colour camera
_OTHER_IMAGES = ("infra", "/ir/", "confidence", "label", "mask", "segment", "semantic", "panoptic", "debug", "thermal",
                 "disparity", "theora")
_METRIC = ("16UC1", "32FC1", "mono16")  # encodings of depth; infrared images use the last one, too
_PLAIN = ("rgb8", "bgr8", "rgba8", "bgra8", "8UC3", "jpeg", "png", "")  # can be read directly, or not known yet
_FEW = 0.05  # a topic with less than this share of the largest number of messages counts as empty


class Head(NamedTuple):
    """Properties from the first message of an image or a camera_info. size: width and height, pixels, 0 = unknown."""

    encoding: str = ""
    frame: str = ""
    size: tuple[int, int] = (0, 0)


def head_of(message: Any) -> Head:
    """Return the properties of an Image, a CompressedImage or a CameraInfo."""
    text = getattr(message, "encoding", "") or getattr(message, "format", "")
    size = getattr(message, "width", 0), getattr(message, "height", 0)
    return Head(text, message.header.frame_id.lstrip("/"), size)


class Guess(NamedTuple):
    """topics: role or key of the graph -> topic; unclear: role or key -> equally likely topics."""

    topics: dict[str, str]
    unclear: dict[str, tuple[str, ...]]


@dataclass
class TopicChoice:
    """The topics of a bag, and the data that decides between them.

    types: topic -> message type; counts: topic -> number of messages; head: returns the head of a topic's first
    message; namespace: the robot's, "" = any.
    """

    types: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=Counter)
    head: Callable[[str], Head] = lambda topic: Head()
    namespace: str = ""

    def guess(self, named: Mapping[str, str] = MappingProxyType({})) -> Guess:
        """Return the topic of each role and of each key of the graph. named: role -> given topic.

        A topic that is given for one role is not used for another.
        """
        found, unclear = dict(named), dict[str, tuple[str, ...]]()
        self._images(found, unclear)
        self._settle("camera_info", self._of_role("camera_info", found), self._rank_info(found), found, unclear)
        color = found.get("color", "")
        if info := self._depth_info(found):
            found["depth_camera_info"] = info
        for key in TOPICS.keys() - {*_CAMERA, *found}:
            self._settle(key, self._of_graph(key), partial(self._rank_graph, key, color), found, unclear)
        if "labels" not in named and not self._own_labels(found):
            found.pop("labels", None)
        return Guess(found, unclear)

    def wrong(self, key: str) -> dict[str, str]:
        """Return the topics with the graph's name of a key but another type: topic -> type."""
        return {t: kind for t, kind in self.types.items() if _named(key, t) and kind not in types_of(key)}

    def _images(self, found: dict[str, str], unclear: dict[str, tuple[str, ...]]) -> None:
        """Choose colour and depth together, preferably of the same camera."""
        images, roles = self._of_role("color", found), ("color", "depth")
        heads = {t: self.head(t) for t in (*images, *(found[role] for role in roles if role in found))}
        colors, depths = ([found[role]] if role in found else [
            t for t in images if _kind(t, self.types[t], heads[t].encoding) == role] or [""] for role in roles)
        full = {*self._full(colors), *self._full(depths)}
        ranks = {pair: _rank_pair(*pair, self.types, heads, full) for pair in product(colors, depths)}
        best = [pair for pair, rank in ranks.items() if rank == max(ranks.values())]
        for role, topics in zip(roles, zip(*best, strict=True), strict=True):
            _note(role, sorted({*topics} - {""}), found, unclear)

    def _depth_info(self, found: Mapping[str, str]) -> str:
        """Return the camera_info of depth if depth has another frame than colour and such a topic exists, else ""."""
        if not {"color", "depth", "camera_info"} <= found.keys():
            return ""
        frames, info = [self.head(found[role]).frame for role in ("color", "depth")], _beside(found["depth"])
        free = self.types.get(info) in ROLES["camera_info"] and self.counts.get(info, 0) and info not in found.values()
        return info if free and all(frames) and len({*frames}) == 2 else ""

    def _own_labels(self, found: Mapping[str, str]) -> bool:
        """Return whether label images are the graph's: beside their table, or with the graph's name and encoding.

        Other label images are from another program, in any encoding and at any rate.
        """
        topic, table = (PurePosixPath(found.get(key, "")) for key in ("labels", "label_table"))
        own = str(topic) == f"/{TOPICS['labels'].name}" and self.head(str(topic)).encoding == "16UC1"
        return own or ("label_table" in found and topic.parent == table.parent)

    def _settle(self, role: str, topics: list[str], rank: Callable[[str], tuple[Any, ...]], found: dict[str, str],
                unclear: dict[str, tuple[str, ...]]) -> None:
        full = set(self._full(topics))
        ranks = {t: (t in full, *rank(t)) for t in topics}
        _note(role, [t for t in topics if ranks[t] == max(ranks.values())], found, unclear)

    def _of_role(self, role: str, found: Mapping[str, str]) -> list[str]:
        """Return the topics in the namespace that have a type of a role and no other role yet."""
        taken, prefix = set(found.values()), f"/{self.namespace}/" if self.namespace else "/"
        return [t for t in sorted(self.types) if self.types[t] in ROLES[role] and t not in taken
                and t.startswith(prefix) and (role == "camera_info" or not any(word in t for word in _OTHER_IMAGES))]

    def _of_graph(self, key: str) -> list[str]:
        """Return topics with a type of a key and the graph's name, not in other namespaces; odometry of any name."""
        inside, name = f"/{self.namespace}/" if self.namespace else "/", f"/{TOPICS[key].name.lstrip('/')}"
        return [t for t in sorted(self.types) if self.types[t] in types_of(key)
                and (_named(key, t) or key == "odom") and (t.startswith(inside) or t == name)]

    def _rank_graph(self, key: str, color: str, topic: str) -> tuple[Any, ...]:
        """Prefer the given namespace, then topics outside any namespace, then the colour camera's namespace."""
        prefix = topic[:-len(TOPICS[key].name.lstrip("/"))]
        around = _named(key, topic) and (color or "/").startswith(prefix)
        return bool(self.namespace) and topic.startswith(f"/{self.namespace}/"), around, -len(prefix) * around

    def _rank_info(self, found: Mapping[str, str]) -> Callable[[str], tuple[Any, ...]]:
        """Prefer the camera_info beside the image, then one with the frame and the size of the colour image."""
        beside = {role: _beside(found[role]) for role in ("color", "depth") if role in found}
        color = self.head(found["color"]) if "color" in found else Head()

        def rank(topic: str) -> tuple[Any, ...]:
            head = self.head(topic)
            return (topic == beside.get("color"), _agree(head.frame, color.frame), _agree(head.size, color.size),
                    topic == beside.get("depth"), _shared(topic, found.get("color", "")))
        return rank

    def _full(self, topics: Iterable[str]) -> Iterator[str]:
        """Yield the topics that have messages, or all topics if none has."""
        topics = list(topics)
        most = max((self.counts.get(t, 0) for t in topics), default=0)
        return (t for t in topics if self.counts.get(t, 0) >= _FEW * most)


def _note(role: str, best: list[str], found: dict[str, str], unclear: dict[str, tuple[str, ...]]) -> None:
    if role not in found and len(best) == 1:
        found[role] = best[0]
    elif role not in found and best:
        unclear[role] = tuple(best)


def _rank_pair(color: str, depth: str, types: Mapping[str, str], heads: Mapping[str, Head],
               full: set[str]) -> tuple[Any, ...]:
    """Return the rank of a pair of colour and depth topics ("": none) for a history: by messages, then by names."""
    c, d = heads.get(color, Head()), heads.get(depth, Head())
    last, camera = _last(image_topic(color)), str(PurePosixPath(color).parent)
    return (
        (color in full) + (depth in full), _agree(c.frame, d.frame), _quality(c.encoding), _agree(c.size, d.size),
        any(word in depth for word in _REGISTERED), "depth" in depth, "depth" not in color, _shared(color, depth),
        types.get(depth) == IMAGE, _last(depth).startswith("image_raw"),
        any(word in camera for word in ("color", "rgb")), any(word in last for word in ("color", "rgb")),
        types.get(color) == IMAGE, _last(color).startswith("image_raw"),
        *((_named(role, topic), topic == f"/{TOPICS[role].name}") for role, topic in (("color", color),
                                                                                      ("depth", depth))))


def _kind(topic: str, type_name: str, encoding: str) -> str:
    """Return the role that an image can have by its encoding: color, depth, "" = neither.

    If no message states the encoding, the name decides. A JPEG cannot store depth.
    """
    form, _, transport = (part.strip() for part in encoding.partition(";"))
    if _last(topic) == "compressedDepth" or "compressedDepth" in transport:
        return "depth"
    if type_name == _COMPRESSED and (form in _METRIC or ("depth" in topic and not transport)):
        return "depth" if form in _METRIC and "png" in transport else ""
    if form in ("mono16", "") or (form.endswith("C1") and form not in (*_METRIC, "8UC1")):
        return "depth" if "depth" in topic else "color" if not form else ""
    return "depth" if form in _METRIC else "color"


def _quality(encoding: str) -> int:
    """Return 2 for colour, 1 for grey, which infrared cameras have as well, 0 for encodings that cannot be read."""
    form = encoding.partition(";")[0].strip()
    return 2 if form in _PLAIN else 1 if form in ("mono8", "8UC1") else 0


def _agree(a: Any, b: Any) -> int:
    """Return 1 if both are known and equal, -1 if they differ, 0 if one is unknown."""
    return 0 if not (a and b) or (0, 0) in (a, b) else 1 if a == b else -1


def types_of(key: str) -> tuple[str, ...]:
    """Return the accepted message types of a role or of another topic of the graph."""
    return ROLES.get(key) or (TOPICS[key].type, *((UNSTAMPED,) if key == "cmd_vel" else ()))


def _named(key: str, topic: str) -> bool:
    """Return whether a topic has the graph's name, in any namespace."""
    return topic.endswith(f"/{TOPICS[key].name.lstrip('/')}")


def image_topic(topic: str) -> str:
    """Return the topic without the suffix of an image transport."""
    return str(PurePosixPath(topic).parent) if _last(topic).startswith("compressed") else topic


def _beside(topic: str) -> str:
    """Return the name of the camera_info beside an image."""
    return f"{PurePosixPath(image_topic(topic)).parent}/camera_info"


def rectified(topics: Mapping[str, str]) -> tuple[bool, bool]:
    """Return for colour and depth whether their names mean rectified images (image_rect, image_rect_color ...).

    If the name of depth does not state it, depth is like the colour image that it is registered to.
    """
    color, depth = (_last(image_topic(topics.get(role, ""))) for role in ("color", "depth"))
    return "rect" in color, "rect" in depth or ("rect" in color and "raw" not in depth)


def _last(topic: str) -> str:
    return PurePosixPath(topic).name


def _shared(a: str, b: str) -> int:
    """Return the number of leading names that two topics share: topics of one camera share the most."""
    count = 0
    for x, y in zip(PurePosixPath(a).parts, PurePosixPath(b).parts):
        if x != y:
            break
        count += 1
    return count
