"""What is written in the built-in houses: how many questions are answered from their view, and what reading costs.

Nothing is explored: memory keeps one picture of 640x480, taken where the question's text can be read. It is asked
three times: with the simulator's labels that say what is written, with OCR and labels that do not, with OCR alone.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from eqa_nodes.bench.house.text import text_samples
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.texts import READING, Texts
from eqa_nodes.core.observing import EpisodicMemory
from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.perception.detector_config import DetectorConfig
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.remembered import Recalled
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception.ocr import TextDetector
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.simulator import EpisodeSetup

QUESTIONS = int(os.environ.get("EQA_TEXT_QUESTIONS", "100"))
LABELS, BOTH, ALONE = "labels that carry text (privileged)", "OCR, labelled objects (privileged)", "OCR alone"


class _Once:
    """A detector whose result for a frame is used twice; it counts the processor time of reading."""

    privileged = False

    def __init__(self) -> None:
        self._detector = TextDetector(DetectorConfig(), ())
        self._rgb, self._found, self.seconds = np.zeros(0), list[Detection](), list[float]()

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> Sequence[Detection]:
        """Return what the detector reads in the frame."""
        if frame.rgb is not self._rgb:
            began = time.process_time()
            self._rgb, self._found = frame.rgb, self._detector.detect(frame, labels)
            self.seconds.append(time.process_time() - began)
        return self._found


def rows() -> list[dict[str, object]]:
    """Return one row a source of text."""
    reader, judge, simulator = _Once(), OfflineJudge(), HouseSimulator()
    right: dict[str, dict[str, list[bool]]] = {LABELS: {}, BOTH: {}, ALONE: {}}
    with closing(simulator), tempfile.TemporaryDirectory() as folder:
        for sample in text_samples("test", QUESTIONS):
            x, y, yaw = (float(value) for value in sample.metadata["view"])  # type: ignore[attr-defined]
            frame = simulator.reset(EpisodeSetup(sample.scene, sample.id, Pose2(x, y, yaw))).frame
            said = {}
            for source in right:
                said[source] = _answered(sample, frame, simulator, None if source == LABELS else reader,
                                         source != ALONE, Path(folder))
                good = judge.judge(sample, said[source]).sigma == 5
                for kind in (str(sample.metadata["bears"]), "all"):
                    right[source].setdefault(kind, []).append(good)
            print(sample.id, sample.metadata["letter_px"], "|", sample.question, "|", sample.answer, "|",
                  " | ".join(said.values()), {s: sum(r["all"]) for s, r in right.items()}, flush=True)
    return [row for source, kinds in right.items() for row in _rows(source, kinds, reader.seconds)]


def _answered(sample: Sample, frame: Frame, simulator: HouseSimulator, reader: _Once | None, labels: bool,
              folder: Path) -> str:
    texts = None if reader is None else Texts(Perceiver(reader, READING))
    with closing(MemoryStore(folder / "memory.sqlite", texts=texts)) as store:
        memory = EpisodicMemory(store, labels)
        memory.begin(sample.id)
        view = memory.take(frame, simulator.labels())
        assert view is not None
        return LabelAnswerer().answer(sample.as_question(), [Recalled(view, 1.0, "")]).text


def _rows(source: str, kinds: dict[str, list[bool]], seconds: list[float]) -> list[dict[str, object]]:
    cost = "" if source == LABELS else f"; processor time of reading a picture: {1000 * np.median(seconds):.0f} ms"
    return [{"name": f"text, {source}, {kind}", "median_ms": "", "baseline": f"{len(good)} questions",
             "ratio": round(float(np.mean(good)), 3), "note": f"ratio = share right{cost if kind == 'all' else ''}"}
            for kind, good in sorted(kinds.items())]
