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
# What a history is made of, with the message types that can tell it.
ROLES: dict[str, tuple[str, ...]] = {
    "color": (IMAGE, _COMPRESSED), "depth": (IMAGE, _COMPRESSED), "camera_info": ("sensor_msgs/msg/CameraInfo",),
    "tf": ("tf2_msgs/msg/TFMessage",), "tf_static": ("tf2_msgs/msg/TFMessage",), "odom": ("nav_msgs/msg/Odometry",),
}
FORMER = "std_msgs/msg/String"  # of answers and decisions in bags of earlier versions
_CAMERA = ("color", "depth", "camera_info")
_REGISTERED = ("aligned_depth", "depth_registered", "depth_to_rgb", "depth_to_color")  # seen from the colour camera
_OTHER_IMAGES = ("infra", "/ir/", "confidence", "label", "mask", "segment", "semantic", "panoptic", "debug", "thermal",
                 "disparity", "theora")
_METRIC = ("16UC1", "32FC1", "mono16")  # encodings of depth; infrared images have the last one, too
_PLAIN = ("rgb8", "bgr8", "rgba8", "bgra8", "8UC3", "jpeg", "png", "")  # read as they are, or not known yet
_FEW = 0.05  # a topic with fewer messages than this share of the most is as good as empty


class Head(NamedTuple):
    """What the first message of an image or a camera_info says. size: width and height, 0 where it does not say it."""

    encoding: str = ""
    frame: str = ""
    size: tuple[int, int] = (0, 0)


def head_of(message: Any) -> Head:
    """Return what an Image, a CompressedImage or a CameraInfo says about itself."""
    text = getattr(message, "encoding", "") or getattr(message, "format", "")
    size = getattr(message, "width", 0), getattr(message, "height", 0)
    return Head(text, message.header.frame_id.lstrip("/"), size)


class Guess(NamedTuple):
    """topics: role or key of the graph -> topic; unclear: the same -> topics that are equally likely."""

    topics: dict[str, str]
    unclear: dict[str, tuple[str, ...]]


@dataclass
class TopicChoice:
    """The topics of a bag, and what decides between them.

    types: topic -> message type; counts: topic -> messages; head: what the first message of a topic says;
    namespace: of the robot, "" = any.
    """

    types: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=Counter)
    head: Callable[[str], Head] = lambda topic: Head()
    namespace: str = ""

    def guess(self, named: Mapping[str, str] = MappingProxyType({})) -> Guess:
        """Return the topic of each role and of each key of the graph. named: role -> topic that is given.

        A topic that is given for one role serves no other one.
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
        """Return the topics that have the graph's name of a key, and another type: topic -> type."""
        return {t: kind for t, kind in self.types.items() if _named(key, t) and kind not in types_of(key)}

    def _images(self, found: dict[str, str], unclear: dict[str, tuple[str, ...]]) -> None:
        """Choose colour and depth together: those of one camera belong together."""
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
        """Return the camera_info beside depth that is seen from another frame than colour; "" where there is none."""
        if not {"color", "depth", "camera_info"} <= found.keys():
            return ""
        frames, info = [self.head(found[role]).frame for role in ("color", "depth")], _beside(found["depth"])
        free = self.types.get(info) in ROLES["camera_info"] and self.counts.get(info, 0) and info not in found.values()
        return info if free and all(frames) and len({*frames}) == 2 else ""

    def _own_labels(self, found: Mapping[str, str]) -> bool:
        """Return whether label images are the graph's: their table is beside them, or name and encoding are its own.

        Others are of another program, in any encoding and at any rate.
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
        """Return the topics in the namespace that have a type of a role, and no other role."""
        taken, prefix = set(found.values()), f"/{self.namespace}/" if self.namespace else "/"
        return [t for t in sorted(self.types) if self.types[t] in ROLES[role] and t not in taken
                and t.startswith(prefix) and (role == "camera_info" or not any(word in t for word in _OTHER_IMAGES))]

    def _of_graph(self, key: str) -> list[str]:
        """Return the topics with a type of a key, named as in the graph, outside of other namespaces; any odometry."""
        inside, name = f"/{self.namespace}/" if self.namespace else "/", f"/{TOPICS[key].name.lstrip('/')}"
        return [t for t in sorted(self.types) if self.types[t] in types_of(key)
                and (_named(key, t) or key == "odom") and (t.startswith(inside) or t == name)]

    def _rank_graph(self, key: str, color: str, topic: str) -> tuple[Any, ...]:
        """In the namespace that was named, else outside of any, else in one that the colour camera is in."""
        prefix = topic[:-len(TOPICS[key].name.lstrip("/"))]
        around = _named(key, topic) and (color or "/").startswith(prefix)
        return bool(self.namespace) and topic.startswith(f"/{self.namespace}/"), around, -len(prefix) * around

    def _rank_info(self, found: Mapping[str, str]) -> Callable[[str], tuple[Any, ...]]:
        """A camera_info is beside its image; else it has the frame and the size of the colour image."""
        beside = {role: _beside(found[role]) for role in ("color", "depth") if role in found}
        color = self.head(found["color"]) if "color" in found else Head()

        def rank(topic: str) -> tuple[Any, ...]:
            head = self.head(topic)
            return (topic == beside.get("color"), _agree(head.frame, color.frame), _agree(head.size, color.size),
                    topic == beside.get("depth"), _shared(topic, found.get("color", "")))
        return rank

    def _full(self, topics: Iterable[str]) -> Iterator[str]:
        """Yield the topics that hold messages; all of them where none does."""
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
    """Return how likely a colour and a depth topic ("": none) are those of a history: messages, then names."""
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

    Where no message says it, the name does. A JPEG of depths has lost them.
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
    """Return 2 for colours, 1 for grey, which an infrared camera has as well, 0 for what the reader does not know."""
    form = encoding.partition(";")[0].strip()
    return 2 if form in _PLAIN else 1 if form in ("mono8", "8UC1") else 0


def _agree(a: Any, b: Any) -> int:
    """Return 1 where both are known and equal, -1 where they differ, 0 where one is not known."""
    return 0 if not (a and b) or (0, 0) in (a, b) else 1 if a == b else -1


def types_of(key: str) -> tuple[str, ...]:
    """Return the message types that a role, or another topic of the graph, is read from."""
    also = {"cmd_vel": (UNSTAMPED,), **dict.fromkeys(("answer", "decision"), (FORMER,))}
    return ROLES.get(key) or (TOPICS[key].type, *also.get(key, ()))


def _named(key: str, topic: str) -> bool:
    """Return whether a topic has the graph's name, in any namespace."""
    return topic.endswith(f"/{TOPICS[key].name.lstrip('/')}")


def image_topic(topic: str) -> str:
    """Return the topic without the name that an image transport adds."""
    return str(PurePosixPath(topic).parent) if _last(topic).startswith("compressed") else topic


def _beside(topic: str) -> str:
    """Return the name of the camera_info beside an image."""
    return f"{PurePosixPath(image_topic(topic)).parent}/camera_info"


def rectified(topics: Mapping[str, str]) -> tuple[bool, bool]:
    """Return for colour and depth whether their names mean rectified images (image_rect, image_rect_color ...).

    Depth that names nothing is as the colour image that it is registered to.
    """
    color, depth = (_last(image_topic(topics.get(role, ""))) for role in ("color", "depth"))
    return "rect" in color, "rect" in depth or ("rect" in color and "raw" not in depth)


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
