"""How a recording is stored: parameters of the recorder node, options of `eqa record`."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import NotNegative, Percent, Positive, check_ranges

_CHOICES = {"compression": ("none", "lz4", "zstd"), "color": ("raw", "jpeg", "png"), "depth": ("raw", "png")}


@dataclass(frozen=True)
class RecordingConfig:
    """What is done to chunks and images on the way to the disk; docs/bags.md has the figures."""

    compression: str = "lz4"  # of the MCAP chunks: none | lz4 | zstd; all exact
    color: str = "raw"  # raw | jpeg | png, as image_transport's plugin names it; png is exact
    jpeg_quality: Percent = 90  # of colour as jpeg
    depth: str = "raw"  # raw | png: 16 bits; 16UC1 stays exact, 32FC1 is rounded to 1 mm and ends at 65.535 m
    split_mb: NotNegative = 0.0  # a new file after so many megabytes; 0 = never
    split_s: NotNegative = 0.0  # a new file after so many seconds of stamps; 0 = never
    # megabytes that may wait for the disk, 8 at least; beyond them the oldest images are dropped
    buffer_mb: Positive = 256.0

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
