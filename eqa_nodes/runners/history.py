"""Answers questions about recordings (EM-EQA): no robot moves, the answer is based on views of an episode history."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.core.agent.reporting import CallRecorder
from eqa_nodes.core.agent.resolving import read_as
from eqa_nodes.core.answerers.common import check_question, refusal
from eqa_nodes.core.components import ANSWERERS
from eqa_nodes.core.errors import EqaError, StorageError
from eqa_nodes.core.ledger import paying
from eqa_nodes.core.memory.recollect import about_past
from eqa_nodes.core.memory.times import about_time, dated, time_in_recording, time_phrase
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.storage.codec import encode
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Question, Receipt
from eqa_nodes.core.types.samples import PRESENT, EpisodeResult, Sample, VisitStart, visits_of
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.episode_history import EpisodeHistory
from eqa_nodes.recordings.histories import first_frames, open_history
from eqa_nodes.recordings.history_views import (
    DEFAULT_K,
    NOWHERE,
    HistoryIndex,
    HistoryViews,
    RecalledViews,
    ViewSelection,
    check_selection,
    open_views,
)
from eqa_nodes.recordings.joined_history import Visit, joined
from eqa_nodes.runners.answerers import answerer_of
from eqa_nodes.tours.rendered import PosedPath, RenderedHistory
from sim_bridge.registry import check_simulator, is_scan
from sim_bridge.scans import find_scan

if TYPE_CHECKING:
    from eqa_nodes.tours.tours import Tour
    from eqa_nodes.tours.weeks import WeeksHistory

ANSWERING = "answering"  # sent to the listener when the views are available
_SHOWN = 50  # number of an answer's views that a report shows in addition to its evidence
_OPEN = 2  # number of histories with open views: questions about one history are consecutive


class _Given(NamedTuple):
    """An answer, the views of it that a report shows, and all views that the answerer got."""

    answer: Answer
    shown: list[Keyframe]
    views: Sequence[Keyframe]


class HistorySource(NamedTuple):
    """The source of a history. identity: everything that determines its frames, as plain JSON."""

    name: str
    identity: Mapping[str, object]
    open: Callable[[], EpisodeHistory]


def file_source(path: Path, format: str = "", options: BagOptions | None = None,  # noqa: A002
                first: int = 0) -> HistorySource:
    """Return a recording as a source. first: use only images with lower numbers, 0 = all.

    Raises StorageError if it does not exist, and the errors of open_history.
    """
    path = Path(path)
    history = open_history(path, format, options)
    history = first_frames(history, first) if first else history
    given = None if options is None else {**options._asdict(), "remap": dict(options.remap)}
    identity = {"path": str(path.resolve()), "files": _fingerprint(path), "format": format, "options": given,
                **({"first": first} if first else {})}
    return HistorySource(history.name, identity, lambda: history)


def tour_source(tour: Tour) -> HistorySource:
    """Return a tour in a simulator as a source."""
    from eqa_nodes.tours.tours import TourHistory

    history = TourHistory(tour)
    return HistorySource(history.name, {"tour": encode(tour)}, lambda: history)


def weeks_source(history: WeeksHistory) -> HistorySource:
    """Return the patrols of a house's life as a source."""
    return HistorySource(history.name, history.identity, lambda: history)


def joined_source(name: str, parts: Sequence[tuple[HistorySource, int]]) -> HistorySource:
    """Return recordings, oldest first, as one source. parts: a recording, and the stamp at which it begins, ns."""
    return HistorySource(name, {"parts": [[source.identity, begin_ns] for source, begin_ns in parts]},
                         lambda: joined(name, [Visit(source.open(), begin_ns) for source, begin_ns in parts]))


def metres_driven(sample: Sample, views: Sequence[Keyframe]) -> float:
    """Return the length of the path on which a robot would have seen the views of the present, metres.

    As in the published code of LA-EQA, straight lines join the places of these views, from where the robot is. 0 for a
    question without a present, and without poses.
    """
    present, start = visits_of(sample), sample.metadata.get(PRESENT)
    if not present or not isinstance(start, Sequence):
        return 0.0
    seen = sorted((v for v in views if v.stamp_ns >= present[-1].begin_ns), key=lambda v: v.stamp_ns)
    return math.fsum(math.dist(a, b) for a, b in pairwise([start, *(v.map_from_base.xyz for v in seen)]))


def images_recalled(sample: Sample, views: Sequence[Keyframe]) -> int | None:
    """Return how many of the views are of the past, None for a question without a present."""
    if PRESENT not in sample.metadata or not (visits := visits_of(sample)):
        return None
    return sum(view.stamp_ns < visits[-1].begin_ns for view in views)


def _fingerprint(path: Path) -> str:
    """Return a hash of names, sizes and modification times of all files; hashing the contents would take too long."""
    digest = hashlib.sha256()
    try:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            stat = file.stat() if file.exists() else file.lstat()  # the target of a broken link does not exist
            digest.update(os.fsencode(f"{file.relative_to(path)} {stat.st_size} {stat.st_mtime_ns}\n"))
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error}") from error
    return digest.hexdigest()


def views_of(sample: Sample) -> int:
    """Return the number of views of a history that the data set of a question specifies, else DEFAULT_K."""
    wanted = sample.metadata.get("views")
    return wanted if isinstance(wanted, int) and wanted > 0 else DEFAULT_K


def path_source(path: PosedPath) -> HistorySource:
    """Return poses to be rendered in a simulator as a source. Raises UnknownScene, SimulatorError for a scene that
    cannot be opened."""
    if is_scan(path.scene):
        find_scan(path.scene.partition(":")[2])
    check_simulator(path.scene)
    return HistorySource(path.name, {"path": encode(path)}, lambda: RenderedHistory(path))


def _note(note: str, kept: HistoryIndex) -> str:
    """Return the note of a piece of evidence, with a remark if the pose of its view is unknown."""
    return note if kept.way else "; ".join(filter(None, (note, NOWHERE)))


class HistoryRunner:
    """Answers questions from episode histories. Implements EpisodeRunner.

    source_of: returns the history of a question; raises EqaError if there is none. listener: called with progress
    messages. views_alone: as in NamedAgent. Raises ConfigError for an unknown selection or answerer.
    """

    def __init__(self, source_of: Callable[[Sample], HistorySource], answerer: AnswererSettings,
                 selection: ViewSelection,
                 cache: Path, force_guess: bool = False, listener: Callable[[str], None] = lambda text: None,
                 views_alone: bool = False) -> None:
        check_selection(selection)
        self._source_of, self._selection, self._cache = source_of, selection, cache
        self._force_guess, self._listener = force_guess, listener
        self._dated = views_alone or selection.frames == "recalled"
        self._asks_memory = not views_alone and selection.labels and ANSWERERS.traits(answerer.answerer).asks_memory
        self._answerer = answerer_of(replace(answerer, max_images=selection.k, folder=str(cache)))
        self._views: OrderedDict[str, HistoryViews] = OrderedDict()
        self._unreadable: dict[str, EqaError] = {}

    def run(self, sample: Sample) -> EpisodeResult:
        """Answer one question. The receipt's seconds are for choosing views and answering, not for reading."""
        check_question(sample.question)
        question = sample.as_question(force_guess=self._force_guess)
        refused = None if self._is_past(question) else refusal(self._answerer, question)
        if refused is not None:  # no need to read the history
            return EpisodeResult(sample.id, refused, None, EpisodeTrace(sample.question, answer=refused),
                                 recalled=images_recalled(sample, ()))
        source, calls = self._source_of(sample), list[ModelCall]()
        past = self._opened(source, "recalled") if self._is_past(question) else None
        began = time.monotonic()
        told = past.recollect(question) if isinstance(past, RecalledViews) else None
        if past is not None and told is not None:
            views, given = past, _Given(*told, told[1])
        else:
            views = self._opened(source, self._selection.frames, sample)
            self._listener(ANSWERING)
            began = time.monotonic()
            way = views.kept.way
            asked = CallRecorder(self._answerer, lambda: way[-1] if way else (0, Pose2(0.0, 0.0, 0.0)), calls.append)
            with paying(question) as paid:
                given = self._answered(paid, views, asked, visits_of(sample))
        answer, shown = given.answer, given.shown
        spots = views.kept.spots
        evidence = tuple(e._replace(note=_note(e.note, views.kept), **spots[str(e.keyframe_id)]._asdict())
                         for e in answer.evidence)
        answer = replace(answer, evidence=evidence, understood=read_as(question),
                         receipt=replace(answer.receipt, seconds=time.monotonic() - began,
                                         metres=metres_driven(sample, given.views)))
        trace = EpisodeTrace(sample.question, list(views.kept.way), keyframes=shown, answer=answer,
                              refused={f"history: {why}": n for why, n in views.kept.dropped.items()}, calls=calls)
        best = next((k.jpeg for e in answer.evidence[:1] for k in shown if k.id == e.keyframe_id), b"")
        return EpisodeResult(sample.id, answer, None, replace(trace, view=best),
                             recalled=images_recalled(sample, given.views))

    def blind(self, sample: Sample) -> Answer:
        """Answer without any view."""
        with paying(sample.as_question(force_guess=True)) as question:
            return self._answerer.answer(question, ())

    def close(self) -> None:
        """Close all open views."""
        while self._views:
            self._views.popitem()[1].close()

    def _is_past(self, question: Question) -> bool:
        """Return whether a memory of the history is asked first; it knows objects only from labels."""
        return self._asks_memory and not question.choices and about_past(question.text)

    def _answered(self, question: Question, views: HistoryViews, asked: Answerer,
                  visits: Sequence[VisitStart]) -> _Given:
        items, way = views.items(question), views.kept.way
        if visits:
            items = dated(items, partial(time_phrase, now_ns=visits[-1].begin_ns))
        elif way and self._says_when(question):
            items = dated(items, partial(time_in_recording, start_ns=way[0][0], end_ns=way[-1][0]))
        if items or self._force_guess or not views.kept.frames:  # no frames requested: the agent is blind
            answer = asked.answer(question, items)
            proof, step = {e.keyframe_id for e in answer.evidence}, -(-len(items) // _SHOWN) or 1
            shown = [item.keyframe for i, item in enumerate(items) if not i % step or item.keyframe.id in proof]
            return _Given(answer, shown, [item.keyframe for item in items])
        return _Given(Answer(abstained=True, receipt=Receipt(privileged=self._answerer.spent().privileged),
                             message="nothing was seen that bears on the question"), [], ())

    def _says_when(self, question: Question) -> bool:
        """Return whether views get captions with their time: if the question needs it and no published agent is run."""
        return self._dated and about_time(question.text, time.time_ns())

    def _opened(self, source: HistorySource, frames: str, sample: Sample | None = None) -> HistoryViews:
        """Return the views of a history. sample: determines number and seed of random views."""
        selection = self._selection._replace(frames=frames)
        if sample is not None and frames == "random":
            selection = selection._replace(k=selection.k or views_of(sample), seed=sample.seed)
        key = f"{selection.k} {frames} by {selection.seed} of {source.identity}"
        if key in self._unreadable:  # do not read it again for each of its questions
            raise self._unreadable[key]
        if key not in self._views:
            try:
                self._views[key] = open_views(source.name, source.identity, source.open,
                                              selection, self._cache,
                                              lambda read, total: self._listener(f"{source.name}: frame {read} of "
                                                                                 f"{total}"))
            except EqaError as error:
                self._unreadable[key] = error
                raise
            if len(self._views) > _OPEN:
                self._views.popitem(last=False)[1].close()
        return self._views[key]
