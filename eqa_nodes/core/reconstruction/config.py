"""Settings of the reconstruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.ranges import Positive, Range, check_ranges
from eqa_nodes.core.settings import setting


@dataclass(frozen=True)
class ReconstructionConfig:
    """Settings of the coloured surface that is put together from depth images."""

    voxel_m: Positive = setting(0.02, "Edge length of a voxel in metres.")
    truncation_m: Positive = setting(0.08,
        "Distance in metres around a surface within which voxels are kept; at least two voxels.")
    range_m: Positive = setting(4.0, "Maximum depth along the optical axis in metres at which a pixel is used.")
    min_views: Annotated[int, Range(1, 100)] = setting(2, "Minimum number of frames that must have seen a surface.")
    max_blocks: Annotated[int, Range(1, 4_000_000)] = setting(150_000,
        "Maximum number of blocks of 8 x 8 x 8 voxels. Each needs 10 kB; room is made in steps that double it, so that "
        "for a moment three times as much may be allocated.")

    def __post_init__(self) -> None:
        check_ranges(self, "reconstruction")
        if self.truncation_m < 2 * self.voxel_m:
            raise ConfigError(f"reconstruction.truncation_m is {self.truncation_m}: below two voxels "
                              f"({2 * self.voxel_m:g}) a surface has holes")
