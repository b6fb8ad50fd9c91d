"""A page for people to mark a run's answers. It needs no network and exports the CSV that agreement.py reads."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.bench.report.page import page_templates
from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.running.predictions import Prediction, read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.core.errors import BadFrame, ConfigError, StorageError
from eqa_nodes.core.storage.codec import dumps, write_bytes
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.wire.image_files import shrunk

PAGE = "mark.html"
_PICTURES, _PICTURE_PX = 3, 640
MEANINGS = ("wrong, or no answer", "wrong, but near", "about half right", "right but for a detail", "right")


class Item(NamedTuple):
    """An answer to mark. pictures: data URLs of its evidence, else of the last view; about: "" in blind mode."""

    id: str
    question: str
    reference: str
    extra: tuple[str, ...]
    answer: str
    pictures: tuple[str, ...]
    about: str
    trouble: str


def write_marking_page(run: Path, page: Path | None = None, *, blind: bool = False, limit: int = 0,
                       seed: int = 0) -> Path:
    """Write the page and return its path. The seed decides the order of answers; failed questions are left out.

    blind: the page does not show the agent, the run, or the agent's confidence. Raises StorageError if the directory
    contains no readable run, ConfigError if there is nothing to mark.
    """
    predictions = read_predictions(run).predictions
    asked = [s for s in read_samples(run / SAMPLES) if s.id in predictions and not predictions[s.id].failed]
    if not asked:
        raise ConfigError(f"{run} has no answers to mark")
    order = np.random.default_rng(seed).permutation(len(asked))[:limit or None]
    items = [_item(asked[i], predictions[asked[i].id], run, blind) for i in order]
    manifest = read_manifest(run)
    title = "Answers to mark" if blind else f"{manifest.dataset or run.name}: {manifest.model or 'answers'}"
    path = page or run / PAGE
    data: dict[str, Any] = {"key": _key(items), "items": [item._asdict() for item in items]}
    write_bytes(path, page_templates().get_template("marking.html.j2").render(
        title=title, data=data, meanings=list(enumerate(MEANINGS, 1))).encode())
    return path


def _item(sample: Sample, prediction: Prediction, run: Path, blind: bool) -> Item:
    answer = prediction.answer
    pictures, trouble = _pictures(prediction, run)
    if blind and trouble:  # it names the run
        trouble = "no picture"
    about = "" if blind else f"{sample.category or 'question'} {sample.id}, confidence {answer.confidence:.2f}"
    return Item(sample.id, sample.question, sample.answer, sample.alternatives, answer.text, pictures, about, trouble)


def _pictures(prediction: Prediction, run: Path) -> tuple[tuple[str, ...], str]:
    """Return the evidence as data URLs, and the reason if there is none."""
    if not prediction.trace:
        return (), ""
    try:
        trace = load_trace(inside(run, prediction.trace))
        by_id = {view.id: view.jpeg for view in trace.keyframes}
        proofs = [by_id[e.keyframe_id] for e in prediction.answer.evidence if e.keyframe_id in by_id]
        shown: Sequence[bytes] = proofs[:_PICTURES] or ([trace.view] if trace.view else [])
        return tuple("data:image/jpeg;base64," + base64.b64encode(shrunk(jpeg, _PICTURE_PX)).decode()
                     for jpeg in shown), ""
    except (StorageError, BadFrame) as error:
        return (), f"no picture: {error}"


def _key(items: Sequence[Item]) -> str:
    """Return the key for marks in the browser; other pages and new answers have other keys."""
    return hashlib.sha256(dumps([(item.id, item.question, item.answer) for item in items]).encode()).hexdigest()[:16]
