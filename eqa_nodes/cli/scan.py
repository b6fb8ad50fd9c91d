"""`eqa scan`: the surfaces that an episode history shows, as a coloured mesh."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.history import PATH, Reading
from eqa_nodes.cli.options import FILE, argument, group, option

if TYPE_CHECKING:
    from eqa_nodes.core.reconstruction.config import ReconstructionConfig
    from eqa_nodes.core.reconstruction.volume import Reconstruction
    from eqa_nodes.core.types.surfaces import Mesh
    from eqa_nodes.recordings.episode_history import EpisodeHistory


@dataclass(frozen=True, kw_only=True)
class Scan:
    """Puts the depth images of a history together and writes their surfaces as a coloured mesh, in metres."""

    path: Path = argument(PATH, metavar="PATH")
    out: Path = option(Path("scan.glb"), "output file: .glb, which a scene mesh:FILE opens, or .ply",
                       metavar="FILE", writes=FILE)
    voxel: float = option(0.02, "edge length of a voxel, metres; finer ones need more memory", metavar="M")
    range: float = option(4.0, "maximum depth that is used, metres", metavar="M")
    min_views: int = option(2, "minimum number of frames that must have seen a surface", metavar="N")
    max_blocks: int = option(150_000, "maximum number of blocks of 8 x 8 x 8 voxels, 10 kB each; a frame that needs "
                             "more is refused", metavar="N")
    how: Reading = group(Reading)

    def run(self) -> int:
        """Read, write the mesh, and print what was used."""
        from eqa_nodes.cli.frames_bar import frames_bar
        from eqa_nodes.core.reconstruction.volume import Reconstruction
        from eqa_nodes.recordings.mesh_file import check_mesh_name, write_mesh

        check_mesh_name(self.out)
        built = Reconstruction(self._config())
        history = self.how.opened(self.path)
        with frames_bar(history) as show:
            refused = _added(built, history, show)
        _print_refused(refused + history.dropped)
        mesh = built.mesh()
        write_mesh(mesh, self.out)
        _print_summary(built, mesh, sum((refused + history.dropped).values()), self.out)
        return 0

    def _config(self) -> ReconstructionConfig:
        from eqa_nodes.core.reconstruction.config import ReconstructionConfig

        default = ReconstructionConfig()
        truncation_m = default.truncation_m * self.voxel / default.voxel_m
        return replace(default, voxel_m=self.voxel, truncation_m=truncation_m, range_m=self.range,
                       min_views=self.min_views, max_blocks=self.max_blocks)


def _added(built: Reconstruction, history: EpisodeHistory, show: Callable[[int], None]) -> Counter[str]:
    """Add the frames of a history; return how many the reconstruction refused, by reason."""
    from eqa_nodes.core.errors import BadFrame, MapFull

    refused: Counter[str] = Counter()
    for recorded in history.recorded():
        try:
            built.add(recorded.frame)
        except (BadFrame, MapFull) as error:
            refused[str(error)] += 1
        show(recorded.index + 1)
    return refused


def _print_refused(counts: Counter[str]) -> None:
    for reason, n in sorted(counts.items()):
        _print(f"not used: {n} x {reason}")


def _print_summary(built: Reconstruction, mesh: Mesh, refused: int, out: Path) -> None:
    from eqa_nodes.core.reconstruction.volume import BLOCK_BYTES

    x, y, z = mesh.vertices.max(axis=0) - mesh.vertices.min(axis=0)
    _print(f"written: {out}: {built.frames} frames used, {refused} not; {len(mesh.vertices)} vertices, "
           f"{len(mesh.triangles)} triangles; {x:.2f} x {y:.2f} x {z:.2f} m; {built.blocks * BLOCK_BYTES / 1e6:.0f} MB "
           "of voxels")


def _print(line: str) -> None:
    from rich.console import Console

    Console().print(line, soft_wrap=True, markup=False, highlight=False)
