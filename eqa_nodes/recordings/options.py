"""How a recording is stored: parameters of the recorder node, options of `eqa record`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import NotNegative, Percent, Positive, check_ranges
from eqa_nodes.core.settings import constant, setting

_CHOICES = {"compression": ("none", "lz4", "zstd"), "color": ("raw", "jpeg", "png"), "depth": ("raw", "png"),
            "names": ("graph", "robot")}


@dataclass(frozen=True)
class ReadingConfig:
    """How to read a bag of another robot."""

    topics: tuple[str, ...] = setting((),
        "Topics of the bag for roles, as ROLE:=TOPIC, such as depth:=/cam/depth; other roles are found by type, number "
        "of messages and name.")
    namespace: str = setting("", 'Namespace of the robot, where the bag has several robots; "" finds it.')
    map_frame: str = setting("", 'Map frame of the bag; "" finds map, odom or world.')
    base_frame: str = setting("", 'Base frame of the bag; "" finds base_link, base_footprint or base.')
    tolerance_s: Positive = setting(0.02, "Maximum difference between the stamps of colour and depth in seconds.")
    depth_unit_m: NotNegative = setting(0.0,
        "Metres of one unit of depth; 0 derives it from the encoding (16UC1 is in millimetres, 32FC1 in metres).")

    def __post_init__(self) -> None:
        renamed(self.topics)
        check_ranges(self, "bag")


def renamed(words: Sequence[str]) -> dict[str, str]:
    """Return role -> topic of words such as depth:=/camera/depth/image or depth=/... Raises ConfigError."""
    parts = [word.partition(":=" if ":=" in word else "=") for word in words]
    for word, part in zip(words, parts, strict=True):
        if not all(part):
            raise ConfigError(f"{word!r} is not a remapping: write role:=/topic, as in depth:=/camera/depth/image")
    return {role: topic for role, _, topic in parts}


@dataclass(frozen=True)
class RecordingConfig:
    """How chunks and images are compressed and stored; docs/bags.md has the figures."""

    compression: str = setting("lz4", "Compression of the MCAP chunks: none | lz4 | zstd; all are lossless.")
    color: str = setting("jpeg",
        "Format of colour images, by the name of the image transport plugin: raw | jpeg | png; raw and png are "
        "lossless.")
    jpeg_quality: Percent = constant(90, "JPEG quality of the colour images (1 to 100).")
    depth: str = setting("png",
        "Format of depth images: raw | png (16 bits; 16UC1 is lossless, 32FC1 is rounded to 1 mm and ends at 65.535 "
        "m).")
    names: str = setting("graph",
        "Names of the topics in the bag: graph (such as /camera/color/image_raw, in every bag) | robot (as they are "
        "remapped and in their namespace).")
    split_mb: NotNegative = setting(0.0, "Size in megabytes after which a new file begins; 0 never splits.")
    split_s: NotNegative = constant(0.0,
        "Duration in seconds of the stamps after which a new file begins; 0 never splits.")
    buffer_mb: Positive = constant(256.0,
        "Size in megabytes of the queue for the disk, 8 or more. Beyond it the oldest images are dropped.")

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ConfigError(f"recording: {unknown(name, getattr(self, name), known)}")
        check_ranges(self, "recording")
        for name, least in (("split_mb", 1.0), ("split_s", 1.0), ("buffer_mb", 8.0)):
            value = getattr(self, name)
            if not (value >= least or (value == 0 and name != "buffer_mb")):
                raise ConfigError(f"recording: {name} is {value:g}: it must be at least {least:g}"
                                  + (", or 0 for a single file" if name != "buffer_mb" else ""))
