"""The results of the library. A notebook displays views as images, maps as drawings, and answers with both."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from eqa_nodes.bench.report.drawing import map_css, map_svg
from eqa_nodes.bench.report.pictures import proof_picture
from eqa_nodes.core.memory.times import clock_phrase
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.measures import shown_note
from eqa_nodes.core.types.questions import Answer, Evidence
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.wire.image_files import shrunk

_PX = 480  # width of an evidence image in a notebook


@dataclass(frozen=True)
class View:
    """A remembered view. keyframe: with pose, stamp, sightings; why: the reason why it was returned."""

    keyframe: Keyframe
    why: str = ""

    @property
    def jpeg(self) -> bytes:
        """The image, a JPEG file."""
        return self.keyframe.jpeg

    @property
    def pose(self) -> Pose2:
        """The robot's pose: metres and radians, map frame."""
        return self.keyframe.pose

    @property
    def seconds(self) -> float:
        """The stamp in seconds."""
        return self.keyframe.stamp_ns / 1e9

    def save(self, path: Path | str) -> None:
        """Write the image. Raises StorageError."""
        write_bytes(Path(path), self.jpeg)

    def _repr_jpeg_(self) -> bytes:
        return self.jpeg


@dataclass(frozen=True)
class MapView:
    """The robot's map of an episode with its path, goals and evidence. trace: the episode that is drawn."""

    trace: EpisodeTrace = field(repr=False)

    @property
    def svg(self) -> str:
        """The drawing as an SVG file, user units in metres; "" if nothing is known."""
        return str(map_svg(self.trace, None, None, css=map_css()))

    def save(self, path: Path | str) -> None:
        """Write the drawing as an SVG file. Raises StorageError."""
        write_bytes(Path(path), self.svg.encode())

    def _repr_svg_(self) -> str | None:
        return self.svg or None


@dataclass(frozen=True)
class Asked:
    """A question with its answer and its episode; iterating yields the remembered views in order.

    answer: text, confidence, evidence, cost, or abstention, or a named error. trace: path, decisions, views, map.
    """

    question: str
    answer: Answer
    trace: EpisodeTrace = field(repr=False)

    @property
    def text(self) -> str:
        """The answer's text, "" if there is none."""
        return self.answer.text

    @property
    def views(self) -> tuple[View, ...]:
        """All remembered views, oldest first."""
        return tuple(map(View, self.trace.keyframes))

    @property
    def evidence(self) -> tuple[View, ...]:
        """The views that prove the answer, best first, without views that are no longer remembered."""
        known = {view.id: view for view in self.trace.keyframes}
        return tuple(View(known[e.keyframe_id], shown_note(e.note)) for e in self.answer.evidence
                     if e.keyframe_id in known)

    @property
    def map(self) -> MapView:
        """The robot's map."""
        return MapView(self.trace)

    @property
    def decisions(self) -> Sequence[TraceDecision]:
        """The decisions of the episode: goals with reasons."""
        return self.trace.decisions

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    @property
    def understood(self) -> str:
        """How the question was understood, in words; "" if the parser did not understand it."""
        return self.answer.understood

    def __str__(self) -> str:
        understood = f"understood: {self.understood}\n" if self.understood else ""
        return understood + self._in_words()

    def _in_words(self) -> str:
        words = self.answer.text or "I do not know."
        said = f": {self.answer.message}" if self.answer.message else ""
        return f"{words} (confidence {self.answer.confidence:.2f}){said}"

    def _repr_html_(self) -> str:
        r = self.answer.receipt
        cost = (", ".join(filter(None, (r.way(), f"{r.seconds:.1f} s", f"{r.calls} call{'s' * (r.calls != 1)}")))
                + (f"; privileged: {', '.join(r.privileged)}" if r.privileged else ""))
        pictures = "".join(self._figure(e) for e in self.answer.evidence)
        svg = self.map.svg
        drawn = f'<img style="max-width:{_PX}px" src="{_data(svg.encode(), "svg+xml")}">' if svg else ""
        understood = f"<br><small>understood: {escape(self.understood)}</small>" if self.understood else ""
        return (f"<p>{escape(self.question)}{understood}</p><p><b>{escape(self._in_words())}</b></p>{pictures}{drawn}"
                f"<p><small>{escape(cost)}</small></p>")

    def _figure(self, evidence: Evidence) -> str:
        """Return a piece of evidence as an image with the measurements drawn in, or as text if the view is gone."""
        note = shown_note(evidence.note)
        where = f"{clock_phrase(evidence.stamp_ns)} from x {evidence.pose.x:.2f} m, y {evidence.pose.y:.2f} m"
        view = next((v for v in self.trace.keyframes if v.id == evidence.keyframe_id), None)
        if view is None:
            return f"<p>{escape(note)}, {where} (its image is not kept any more)</p>"
        picture = shrunk(proof_picture(view, evidence.note, self.trace.calls), _PX)
        return (f'<figure style="display:inline-block"><img src="{_data(picture, "jpeg")}">'
                f"<figcaption>{escape(note)}, {where}</figcaption></figure>")


def _data(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
