"""How a recording is stored: parameters of the recorder node, options of `eqa record`."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown

_CHOICES = {"compression": ("none", "lz4", "zstd"), "color": ("raw", "jpeg", "png"), "depth": ("raw", "png")}


@dataclass(frozen=True)
class RecordingConfig:
    """What is done to chunks and images on the way to the disk; docs/bags.md has the figures."""

    compression: str = "lz4"  # of the MCAP chunks: none | lz4 | zstd
    color: str = "raw"  # raw | jpeg | png
    jpeg_quality: int = 90
    depth: str = "raw"  # raw | png: 16 bits; 16UC1 stays exact, 32FC1 is rounded to 1 mm and ends at 65.535 m
    split_mb: float = 0.0  # a new file after so many megabytes; 0 = never
    split_s: float = 0.0  # ... and after so many seconds of stamps
    buffer_mb: float = 256.0  # may wait for the disk; beyond it the oldest images are dropped

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ConfigError(f"recording: {unknown(name, getattr(self, name), known)}")
        if not 1 <= self.jpeg_quality <= 100:
            raise ConfigError(f"recording: jpeg_quality is {self.jpeg_quality}: it must lie in 1 to 100")
        for name, least in (("split_mb", 1.0), ("split_s", 1.0), ("buffer_mb", 8.0)):
            value = getattr(self, name)
            if not (value >= least or (value == 0 and name != "buffer_mb")):
                raise ConfigError(f"recording: {name} is {value:g}: it must be at least {least:g}"
                                  + (", or 0 for a single file" if name != "buffer_mb" else ""))
