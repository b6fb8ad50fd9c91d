"""`eqa scan`: the surfaces that an episode history shows, as a coloured mesh."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.history import PATH, HistoryReading
from eqa_nodes.cli.options import FILE, argument, flag, group, option

if TYPE_CHECKING:
    from eqa_nodes.core.errors import StorageError
    from eqa_nodes.core.reconstruction.config import ClosingConfig, ReconstructionConfig
    from eqa_nodes.core.reconstruction.volume import Reconstruction
    from eqa_nodes.core.types.views import Mesh
    from eqa_nodes.recordings.episode_history import EpisodeHistory


@dataclass(frozen=True, kw_only=True)
class Scan:
    """Reconstructs the surfaces of a history as a coloured mesh in metres, with the floor closed so that a robot can
    drive in it. Labels are written beside a .glb file.
    """

    path: Path = argument(PATH, metavar="PATH")
    episode: str = option("", "episode to use if PATH is a run with the bags of several", metavar="ID")
    out: Path = option(Path("scan.glb"), "output file: .glb, which a scene mesh:FILE opens, or .ply",
                       metavar="FILE", writes=FILE)
    voxel: float = option(0.02, "edge length of a voxel, metres; finer ones need more memory", metavar="M")
    range: float = option(4.0, "maximum depth that is used, metres", metavar="M")
    min_views: int = option(2, "minimum number of frames that must have seen a surface", metavar="N")
    max_blocks: int = option(150_000, "maximum number of blocks of 8 x 8 x 8 voxels, 10 kB each; frames that need more "
                             "are not used", metavar="N")
    raw: bool = flag("write the surface as measured: close, fill and remove nothing")
    holes: float = option(0.1, "maximum size of a hole in a surface that is filled, metres", metavar="M")
    gap: float = option(0.6, "maximum width of a strip of unseen floor that is closed, metres", metavar="M")
    crumbs: float = option(0.1, "isolated pieces smaller than this are removed, metres",
                           metavar="M")
    how: HistoryReading = group(HistoryReading)

    def run(self) -> int:
        """Read, write the mesh, and print what was used.

        If reading fails halfway, the mesh of the frames read so far is written before the error is raised.
        """
        from eqa_nodes.cli.printing import frames_bar
        from eqa_nodes.core.errors import StorageError
        from eqa_nodes.core.reconstruction.config import ClosingConfig
        from eqa_nodes.core.reconstruction.volume import Reconstruction
        from eqa_nodes.recordings.episode_history import no_frame
        from eqa_nodes.scanning.mesh_file import check_mesh_name, write_mesh, write_semantics

        check_mesh_name(self.out)
        closing = ClosingConfig(hole_m=self.holes, gap_m=self.gap, crumb_m=self.crumbs)
        built = Reconstruction(self._config())
        history, refused = self.how.opened(self._source()), Counter[str]()
        broken: StorageError | None = None
        bases: list[tuple[float, float, float]] = []
        with frames_bar(history) as show:
            try:
                _add(built, history, show, refused, bases)
            except StorageError as error:
                broken = error
        if not built.frames:
            raise broken or no_frame(history, refused)
        _print_refused(refused + history.dropped)
        mesh = built.mesh()
        if not self.raw and len(mesh.triangles):
            mesh = _closed(mesh, bases, closing)
        write_mesh(mesh, self.out)
        for file in write_semantics(mesh, history.labels, self.out):
            _print(f"written: {file}")
        _print_summary(built, mesh, sum((refused + history.dropped).values()), self.out)
        if broken is not None:
            raise broken
        return 0

    def _source(self) -> Path:
        """Return the history: PATH itself, or a bag of the run that PATH is. Raises StorageError."""
        from eqa_nodes.recordings.run_bags import history_path

        return history_path(self.path, self.episode)

    def _config(self) -> ReconstructionConfig:
        from eqa_nodes.core.reconstruction.config import ReconstructionConfig

        default = ReconstructionConfig()
        truncation_m = default.truncation_m * self.voxel / default.voxel_m
        return replace(default, voxel_m=self.voxel, truncation_m=truncation_m, range_m=self.range,
                       min_views=self.min_views, max_blocks=self.max_blocks,
                       max_weight=max(default.max_weight, self.min_views))


def _add(built: Reconstruction, history: EpisodeHistory, show: Callable[[int], None], refused: Counter[str],
         bases: list[tuple[float, float, float]]) -> None:
    """Add the frames of a history; count those that the reconstruction refuses, by reason. Raises StorageError.

    bases: where the base was in the others, x, y, z in metres.
    """
    from eqa_nodes.core.errors import BadFrame, MapFull

    for recorded in history.recorded():
        try:
            built.add(recorded.frame)
            bases.append(recorded.frame.map_from_base.xyz)
        except (BadFrame, MapFull) as error:
            refused[str(error)] += 1
        show(recorded.index + 1)


def _closed(mesh: Mesh, bases: list[tuple[float, float, float]], config: ClosingConfig) -> Mesh:
    """Close a mesh and print what was done. Raises NoFloor."""
    import numpy as np

    from eqa_nodes.core.reconstruction.closing import closed

    done = closed(mesh, np.array(bases), config)
    _print(f"closed: {done.floor_m2:.1f} m2 of floor, at {', '.join(f'{z:.2f} m' for z in done.storeys_m)}; "
           f"{done.hole_triangles} triangles in small holes; {done.crumbs} crumbs removed")
    return done.mesh


def _print_refused(counts: Counter[str]) -> None:
    for reason, n in sorted(counts.items()):
        _print(f"not used: {n} x {reason}")


def _print_summary(built: Reconstruction, mesh: Mesh, refused: int, out: Path) -> None:
    from eqa_nodes.core.reconstruction.blocks import BLOCK_BYTES

    x, y, z = mesh.vertices.max(axis=0) - mesh.vertices.min(axis=0)
    _print(f"written: {out}: {built.frames} frames used, {refused} not; {len(mesh.vertices)} vertices, "
           f"{len(mesh.triangles)} triangles; {x:.2f} x {y:.2f} x {z:.2f} m; {built.blocks * BLOCK_BYTES / 1e6:.0f} MB "
           "of voxels")


def _print(line: str) -> None:
    from rich.console import Console

    Console().print(line, soft_wrap=True, markup=False, highlight=False)
