"""What was asked on the page, as a run directory: predictions with traces, so that it can be replayed later."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from eqa_nodes.bench.running.kept import KeptRun
from eqa_nodes.console.values import Entry
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.text import shown_name
from eqa_nodes.core.types.samples import EpisodeResult
from eqa_nodes.core.types.trace import EpisodeTrace


def keeping(run: KeptRun) -> Callable[[Entry, EpisodeTrace], None]:
    """Return what writes an entry that has ended into a run directory, and says in it where it can be replayed.

    It raises StorageError and OSError.
    """
    def keep(entry: Entry, trace: EpisodeTrace) -> None:
        if trace.answer is None:
            raise StorageError(f"question {entry.id} has no answer yet")
        last = trace.poses[-1][1] if trace.poses else None
        at = run.keep(entry.question.text, entry.place, EpisodeResult("", trace.answer, last, trace))
        entry.replay = f"{quote(shown_name(run.out.resolve()))}/{at}"
    return keep
