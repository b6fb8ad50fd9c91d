"""How a recording is stored: parameters of the recorder node, options of `eqa record`."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import NotNegative, Percent, Positive, check_ranges
from eqa_nodes.core.settings import setting

_CHOICES = {"compression": ("none", "lz4", "zstd"), "color": ("raw", "jpeg", "png"), "depth": ("raw", "png")}


@dataclass(frozen=True)
class RecordingConfig:
    """What is done to chunks and images on the way to the disk; docs/bags.md has the figures."""

    compression: str = setting("lz4", "Compression of the MCAP chunks: none | lz4 | zstd; all are lossless.")
    color: str = setting("raw",
        "Format of colour images, by the name of the image transport plugin: raw | jpeg | png; raw and png are "
        "lossless.")
    jpeg_quality: Percent = setting(90, "JPEG quality of the colour images (1 to 100).")
    depth: str = setting("raw",
        "Format of depth images: raw | png (16 bits; 16UC1 is lossless, 32FC1 is rounded to 1 mm and ends at 65.535 "
        "m).")
    split_mb: NotNegative = setting(0.0, "Size in megabytes after which a new file begins; 0 never splits.")
    split_s: NotNegative = setting(0.0,
        "Duration in seconds of the stamps after which a new file begins; 0 never splits.")
    buffer_mb: Positive = setting(256.0,
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
