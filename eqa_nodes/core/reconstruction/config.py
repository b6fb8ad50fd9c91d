"""Settings of the reconstruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.ranges import NotNegative, Positive, Range, check_ranges
from eqa_nodes.core.settings import constant, setting


@dataclass(frozen=True)
class ReconstructionConfig:
    """Settings of the coloured surface that is reconstructed from depth images."""

    voxel_m: Positive = setting(0.02, "Edge length of a voxel in metres.")
    truncation_m: Positive = constant(0.08,
        "Distance in metres around a surface within which voxels are kept; at least two voxels.")
    range_m: Positive = setting(4.0, "Maximum depth along the optical axis in metres at which a pixel is used.")
    min_views: Annotated[int, Range(1, 100)] = constant(2, "Minimum number of frames that must have seen a surface.")
    max_blocks: Annotated[int, Range(1, 4_000_000)] = constant(150_000,
        "Maximum number of blocks of 8 x 8 x 8 voxels; a frame that needs more is refused. Each needs 10 kB; room is "
        "made in steps that double it, so that for a moment three times as much may be allocated.")
    max_weight: Annotated[int, Range(1, 10_000)] = constant(20,
        "Frames after which older ones count less. What was taken away disappears after at most about as many frames "
        "that see through it.")

    def __post_init__(self) -> None:
        check_ranges(self, "reconstruction")
        if self.max_weight < self.min_views:
            raise ConfigError(f"reconstruction.max_weight is {self.max_weight}, less than min_views "
                              f"({self.min_views}): no surface would have been seen often enough")
        if self.truncation_m < 2 * self.voxel_m:
            raise ConfigError(f"reconstruction.truncation_m is {self.truncation_m}: below two voxels "
                              f"({2 * self.voxel_m:g}) a surface has holes")


@dataclass(frozen=True)
class ClosingConfig:
    """Settings of closing a measured surface so that a robot can drive in it."""

    hole_m: NotNegative = setting(0.1, "Maximum size of a hole in a surface that is filled, in metres; 0 = none is.")
    gap_m: NotNegative = setting(0.6, "Maximum width of a strip of unseen floor that is closed, in metres; 0 = none.")
    area_m2: NotNegative = setting(1.0, "Maximum area of unseen floor that is closed where seen floor and obstacles "
                                   "enclose it, in square metres.")
    crumb_m: NotNegative = setting(0.1, "Isolated pieces smaller than this are removed, in "
                                   "metres; 0 = none is.")
    footprint_m: Positive = setting(0.3, "Radius in metres around the path of the base within which there is floor.")
    height_m: Positive = setting(1.5, "Height in metres up to which something above the floor is an obstacle.")

    def __post_init__(self) -> None:
        check_ranges(self, "closing")
