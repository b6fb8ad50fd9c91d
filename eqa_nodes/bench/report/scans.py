"""An episode's reconstruction for its report: from the episode's bag, else from the views kept by memory."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.pillow import RESAMPLING
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.measures import shown_note
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Frame, Intrinsics, Keyframe
from eqa_nodes.wire.image_files import decode_image

if TYPE_CHECKING:
    from eqa_nodes.bench.running.predictions import Prediction
    from eqa_nodes.core.reconstruction.config import ReconstructionConfig

EMBED_SCANS = 4  # maximum episodes with scans on one page (up to 3 MB each)


@dataclass(frozen=True)
class ScanSection:
    """A scan in the template. still: URL of a PNG; data: the packed scene in base64; trouble: why there is no scan,
    "" = there is one. source: origin of its frames.
    """

    still: str = ""
    data: str = ""
    frames: int = 0
    triangles: int = 0
    objects: int = 0
    proofs: int = 0
    privileged: bool = False
    source: str = ""
    trouble: str = ""


def scan_of(run: Path, prediction: Prediction, trace: EpisodeTrace | None) -> ScanSection:
    """Reconstruct what an episode saw. Raises MissingExtra without Open3D; other errors are put in `trouble`."""
    from eqa_nodes.viewer.scene import scene_bytes, scene_of, still_png, surfaces_of

    views = trace.keyframes if trace else []
    try:
        source, frames, config = _source(run, prediction, views)
        surfaces = surfaces_of(frames, config)
        scene = scene_of(surfaces, views, {e.keyframe_id: shown_note(e.note) for e in prediction.answer.evidence})
    except (StorageError, BadFrame) as error:
        return ScanSection(trouble=str(error))
    if scene is None:
        why = "; ".join(f"{n} x {reason}" for reason, n in sorted(surfaces.refused.items()))
        return ScanSection(trouble=f"{source} shows no surface often enough" + (f" ({why})" if why else ""))
    still = "data:image/png;base64," + base64.b64encode(still_png(scene)).decode()
    proofs = sum(bool(f.jpeg) for f in scene.frustums)
    return ScanSection(still, base64.b64encode(scene_bytes(scene)).decode(), scene.frames, len(scene.mesh.triangles),
                       len(scene.boxes), proofs, scene.privileged, source)


def _source(run: Path, prediction: Prediction,
            views: list[Keyframe]) -> tuple[str, Iterable[Frame], ReconstructionConfig]:
    """Return the best available source: name, frames and settings. Raises StorageError if there is none."""
    from eqa_nodes.core.reconstruction.config import ReconstructionConfig

    if prediction.bag:
        from eqa_nodes.recordings.bags.history import BagHistory

        fine = ReconstructionConfig(voxel_m=0.03, truncation_m=0.12)
        return "the episode's bag", BagHistory(inside(run, prediction.bag)), fine
    if any(view.geometry is not None for view in views):
        coarse = ReconstructionConfig(voxel_m=0.06, truncation_m=0.18, min_views=1)
        return "the coarse depth of the remembered views", _remembered(views), coarse
    raise StorageError("nothing was recorded to reconstruct the place from: there is no bag, and no depth is "
                       "remembered; a run with --through graph or isolated records bags")


def _remembered(views: list[Keyframe]) -> Iterator[Frame]:
    """Yield remembered views as frames with the size of their coarse depth images."""
    for view in views:
        if view.geometry is None:
            continue
        depth_m = np.asarray(decode_image(view.geometry.depth_png, "of a view's depth"), np.float32) / 1000
        height, width = depth_m.shape
        k = view.geometry.intrinsics
        rgb = np.asarray(decode_image(view.jpeg, "of a view").convert("RGB").resize((width, height),
                                                                                    RESAMPLING.BOX))
        across, down = width / k.width, height / k.height
        small = Intrinsics(width, height, k.fx * across, k.fy * down, k.cx * across, k.cy * down)
        yield Frame(view.stamp_ns, np.ascontiguousarray(rgb), depth_m, small, view.map_from_base,
                    view.geometry.base_from_camera)
