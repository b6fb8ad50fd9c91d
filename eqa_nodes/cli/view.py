"""`eqa view`: an episode in a viewer, or as a clip to share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.groups import SOURCES, BagReading
from eqa_nodes.cli.limits import whole
from eqa_nodes.cli.options import FILE, argument, flag, group, option


@dataclass(frozen=True, kw_only=True)
class View:
    """Writes an episode as a file for a viewer: images, transforms, maps, the surfaces that were seen, decisions, calls
    of a model, remembered objects, question and answer. Or as a clip: a short film with captions, to share.
    """

    path: Path = argument(f"run directory, for --rerun with bags; or {SOURCES}", metavar="RUN")
    clip: bool = flag("write a short film of the question: the camera, the growing map, each decision, the proof")
    rerun: bool = flag("write a Rerun recording (.rrd), which `rerun FILE` shows")
    out: Path | None = option(None, "output file (default: EPISODE.rrd; of a clip EPISODE.gif, or one that ends in "
                              ".webp, or in .mp4 with the extra video)", metavar="FILE", writes=FILE)
    episode: str = option("", "which episode, where the run has several", metavar="ID")
    every: int = option(1, "write the images of every Nth frame only", type=whole, metavar="N")
    voxel: float = option(0.04, "edge length of a voxel of the surface, metres", metavar="M")
    memory: Path | None = option(None, "memory file with the objects (default: the run's)", metavar="FILE")
    bag: BagReading = group(BagReading)

    def run(self) -> int:
        """Write the file, and print what it holds."""
        if self.clip:
            return self._clip()
        from eqa_nodes.cli.frames_bar import frames_bar
        from eqa_nodes.cli.paths import check_file
        from eqa_nodes.core.errors import ConfigError, StorageError
        from eqa_nodes.recordings.histories import open_history
        from eqa_nodes.viewing.episodes import episode_of
        from eqa_nodes.viewing.library import rerun
        from eqa_nodes.viewing.recording import write_recording
        from eqa_nodes.viewing.rrd_file import check_name

        if not self.rerun:
            raise ConfigError("no viewer is named: --rerun writes a recording for Rerun, --clip a short film; eqa "
                              "report RUN writes a page of a run")
        rerun()
        episode = episode_of(self.path, self.episode)
        if self.memory is not None:
            if not self.memory.is_file():
                raise StorageError(f"no memory file {self.memory}: name the file that the memory node wrote")
            episode = episode._replace(memory=self.memory)
        out = self.out or Path(f"{episode.name}.rrd")
        check_name(out)
        check_file(out)
        options = self.bag.chosen()
        history = open_history(episode.history, options=options)
        with frames_bar(history) as show:
            written = write_recording(episode, history, out, voxel_m=self.voxel, every=self.every, options=options,
                                      progress=show)
        for reason, n in sorted((history.dropped + written.refused).items()):
            _print(f"not used: {n} x {reason}")
        _print(f"written: {out}, {out.stat().st_size / 1e6:.1f} MB: {written}")
        return 0

    def _clip(self) -> int:
        from eqa_nodes.bench.report.clip import write_clip
        from eqa_nodes.cli.paths import check_file
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.core.storage.names import file_name
        from eqa_nodes.recordings.animation import check_kind
        from eqa_nodes.viewing.traces import trace_in

        if self.rerun:
            raise ConfigError("--rerun and --clip write different files: name one of them")
        if self.out is not None:
            check_kind(self.out)
        name, trace = trace_in(self.path, self.episode, self.bag.namespace)
        out = self.out or Path(f"{file_name(name)}.gif")
        check_file(out)
        images = write_clip(out, trace)
        _print(f"written: {out}, {out.stat().st_size / 1e6:.1f} MB: {images} images")
        return 0


def _print(line: str) -> None:
    from rich.console import Console

    Console().print(line, soft_wrap=True, markup=False, highlight=False)
