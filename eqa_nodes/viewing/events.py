"""What a bag of the graph holds besides images: maps, frontiers, decisions, calls of a model, questions and answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from eqa_nodes.core.storage.codec import decode
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.trace import TraceDecision
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.recordings.reader import Bag, Recorded
from eqa_nodes.recordings.trace import answer_in, decision_in, parsed
from eqa_nodes.ros import messages
from eqa_nodes.viewing import layout, words
from eqa_nodes.viewing.frames import Steps
from eqa_nodes.viewing.library import rerun
from eqa_nodes.viewing.rrd_file import RrdFile

_CLOCKS = ("odom", "tf")  # they tell the time of texts, which have no stamp
_ABOVE_M = 0.1  # the floor: where what lies on the map is drawn
_LOW, _HIGH = np.array([148, 163, 184]), np.array([220, 38, 38])  # colours of the lowest and the highest score


class EventWriter:
    """Writes the events of a bag. written: how many of each kind."""

    def __init__(self, file: RrdFile, bag: Bag, steps: Steps) -> None:
        self._rr, self._file, self._bag, self._steps = rerun(), file, bag, steps
        self._now_ns, self._z = steps.first_ns, 0.0
        self._question, self._cells = "", b""
        self.written: Counter[str] = Counter()
        self._takes: dict[str, Callable[[Any], None]] = {
            "map": self._map, "frontiers": self._frontiers, "decision": self._decision,
            "model_calls": self._model_call, "question": self._ask, "answer": self._answer}

    def write(self) -> None:
        """Write all events that the bag has. Raises StorageError for a message that cannot be read."""
        keys = tuple(key for key in self._takes if key in self._bag.keys)
        if not keys:
            return
        for recorded in self._bag.read((*keys, *_CLOCKS)):
            self._tell_time(recorded)
            if recorded.key in keys:
                self._takes[recorded.key](recorded.message)
                self._file.flush()

    def _tell_time(self, recorded: Recorded) -> None:
        message = recorded.message
        stamps = ([messages.ns_of(t.header.stamp) for t in message.transforms] if recorded.key == "tf" else
                  [messages.stamp_of(message)] if hasattr(message, "header") else [])
        self._now_ns = max([self._now_ns, *stamps])

    def _at(self, stamp_ns: int) -> None:
        self._file.at(stamp_ns, self._steps.of(stamp_ns))

    def _map(self, message: Any) -> None:
        grid = messages.grid_of(message)
        self._z, cells = grid.z, grid.cells.tobytes() + repr(grid.origin).encode()
        if cells == self._cells or not grid.cells.size:
            return
        self._cells = cells
        self._at(grid.stamp_ns)
        self._file.log(layout.OCCUPANCY, _grid_map(self._rr, grid))
        self.written["maps"] += 1

    def _frontiers(self, message: Any) -> None:
        found = messages.frontiers_of(message)
        self._at(messages.stamp_of(message))
        self._file.log(layout.FRONTIERS, self._rr.Arrows3D(
            origins=[(f.x, f.y, self._z + _ABOVE_M) for f in found],
            vectors=[(0.3 * math.cos(f.heading), 0.3 * math.sin(f.heading), 0.0) for f in found],
            colors=[(245, 158, 11)] * len(found)))
        self.written["sets of frontiers"] += 1

    def _decision(self, message: Any) -> None:
        decision = decision_in(message, self._bag.path)
        self._at(decision.stamp_ns)
        self._file.log(layout.CANDIDATES, _candidates(self._rr, decision, self._z + _ABOVE_M))
        self._file.log(layout.GOAL, _goal(self._rr, decision, self._z + 2 * _ABOVE_M))
        self._file.log(layout.DECISION, self._document(words.decision_document(decision)))
        self._line("decisions", words.decision_line(decision))
        self.written["decisions"] += 1

    def _model_call(self, message: Any) -> None:
        call = decode(ModelCall, parsed(message.data, self._bag.path))
        self._at(call.stamp_ns)
        self._file.log(layout.MODEL_CALL, self._document(words.call_document(call)))
        self._line("model", words.call_line(call), "ERROR" if call.error else "INFO")
        self.written["calls of a model"] += 1

    def _ask(self, message: Any) -> None:
        self._question = str(message.data)
        self._at(self._now_ns)
        self._file.log(layout.QUESTION, self._document(words.question_document(self._question)))
        self._line("questions", self._question)
        self.written["questions"] += 1

    def _answer(self, message: Any) -> None:
        answer = answer_in(message, self._bag.path)
        self._at(self._now_ns)
        self._file.log(layout.QUESTION, self._document(words.question_document(self._question, answer)))
        self._line("answers", words.answer_text(answer), "ERROR" if answer.error else "INFO")
        self.written["answers"] += 1
        if answer.evidence:
            self._evidence(answer)

    def _evidence(self, answer: Answer) -> None:
        """Write the picture of the best evidence, and where each view of it was taken."""
        spots = [(e.pose.x, e.pose.y, self._z + _ABOVE_M) for e in answer.evidence]
        self._file.log(layout.SEEN_FROM, self._rr.Points3D(spots, radii=0.08, colors=[(22, 163, 74)] * len(spots),
                                                           labels=[f"view {e.keyframe_id}" for e in answer.evidence]))
        if (view := self._keyframe(answer.evidence[0].keyframe_id)) is not None:
            self._file.log(layout.EVIDENCE, self._rr.EncodedImage(contents=view.jpeg, media_type="image/jpeg"))
            self.written["pictures of evidence"] += 1

    def _keyframe(self, number: int) -> Keyframe | None:
        """Read the bag again for a view: kept in memory, all of them would be many."""
        for recorded in self._bag.read(("keyframes",)):
            if int(recorded.message.keyframe_id) == number:
                return messages.keyframe_of(recorded.message)
        return None

    def _line(self, who: str, text: str, level: str = "INFO") -> None:
        self._file.log(f"{layout.LOG}/{who}", self._rr.TextLog(text, level=level))

    def _document(self, text: str) -> Any:
        return self._rr.TextDocument(text, media_type="text/markdown")


def _grid_map(rr: Any, grid: GridMap) -> Any:
    """Return a map a little below its floor. Images begin with the upper row, maps with the lower one."""
    rows, columns = grid.cells.shape
    return rr.GridMap(data=np.flipud(grid.cells).tobytes(), cell_size=grid.resolution_m, opacity=0.8,
                      format=rr.components.ImageFormat(width=columns, height=rows, color_model="L",
                                                       channel_datatype="U8"),
                      translation=(*grid.origin, grid.z - 0.02), colormap=rr.components.Colormap.RvizMap)


def _candidates(rr: Any, decision: TraceDecision, z: float) -> Any:
    weights = np.array([c.weight for c in decision.candidates], np.float64)
    span = float(np.ptp(weights)) if weights.size else 0.0
    share = (weights - weights.min())[:, None] / span if span else np.zeros((len(weights), 1))
    return rr.Points3D([(c.x, c.y, z) for c in decision.candidates], radii=0.06,
                       colors=np.rint(_LOW + share * (_HIGH - _LOW)).astype(np.uint8),
                       show_labels=False, labels=[f"{c.label} {c.weight:.2g}".strip() for c in decision.candidates])


def _goal(rr: Any, decision: TraceDecision, z: float) -> Any:
    """Return an arrow at the goal, looking as the robot shall; none of nothing to go to."""
    goal = decision.goal
    if goal is None:
        return rr.Arrows3D(vectors=[], origins=[])
    ahead = (0.5 * math.cos(goal.yaw), 0.5 * math.sin(goal.yaw), 0.0)
    return rr.Arrows3D(origins=[(goal.x, goal.y, z)], vectors=[ahead],
                       colors=[(220, 38, 38)], radii=0.03, labels=["goal"])
