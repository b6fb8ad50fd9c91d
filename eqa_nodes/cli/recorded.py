"""A recording that is asked: which one, and which of its views answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli import names
from eqa_nodes.cli.groups import FORMAT, SOURCES, ViewsOptions
from eqa_nodes.cli.options import group, option

if TYPE_CHECKING:
    from eqa_nodes.recordings.bags.history import BagOptions
    from eqa_nodes.runners.history import HistorySource


@dataclass(frozen=True, kw_only=True)
class HistoryOptions:
    """A recording that questions are about."""

    history: Path | None = option(None, f"run directory with bags; or {SOURCES}", metavar="PATH")
    episode: str = option("", "with --history: which episode, where it is a run of several", metavar="ID", rare=True)
    format: str = option("", FORMAT, complete=names.histories, rare=True)
    views: ViewsOptions = group(ViewsOptions)

    def check(self) -> None:
        """Raise ConfigError for options of a recording where none is named: they would be ignored."""
        from eqa_nodes.core.errors import ConfigError

        if self.history is not None:
            return
        views = self.views
        given = {"--episode": self.episode, "--format": self.format, "--frames": views.frames,
                 "-k": views.k is not None, "--cache": views.cache is not None}
        if lost := [name for name, value in given.items() if value]:
            raise ConfigError(f"{' and '.join(lost)} {'need' if len(lost) > 1 else 'needs'} --history PATH")

    def source(self, options: BagOptions | None) -> HistorySource:
        """Return the recording. options: how a bag is read, None = the usual way. Raises EqaError."""
        from eqa_nodes.recordings.run_bags import history_path
        from eqa_nodes.runners.history import file_source

        assert self.history is not None
        return file_source(history_path(self.history, self.episode), self.format, options)
