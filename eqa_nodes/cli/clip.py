"""`eqa clip`: an episode as a short film to share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.groups import SOURCES
from eqa_nodes.cli.options import FILE, argument, option


@dataclass(frozen=True, kw_only=True)
class Clip:
    """Writes a short film of a question with captions: the camera, the growing map, each decision, the proof."""

    path: Path = argument(f"run directory, or {SOURCES}", metavar="RUN")
    out: Path | None = option(None, "output file (default: EPISODE.gif; one that ends in .mp4 needs the extra "
                              "video)", metavar="FILE", writes=FILE)
    episode: str = option("", "which episode, if the run has several", metavar="ID")
    namespace: str = option("", "namespace of the graph in a bag", metavar="NS")

    def run(self) -> int:
        """Write the file, and print what it holds."""
        from rich.console import Console

        from eqa_nodes.bench.report.clip import write_clip
        from eqa_nodes.bench.report.traces import trace_in
        from eqa_nodes.core.storage.checks import check_file
        from eqa_nodes.core.storage.text import file_name
        from eqa_nodes.media.animation import check_kind

        if self.out is not None:
            check_kind(self.out)
        name, trace = trace_in(self.path, self.episode, self.namespace)
        out = self.out or Path(f"{file_name(name)}.gif")
        check_file(out)
        images = write_clip(out, trace)
        Console().print(f"written: {out}, {out.stat().st_size / 1e6:.1f} MB: {images} images", soft_wrap=True,
                        markup=False, highlight=False)
        return 0
