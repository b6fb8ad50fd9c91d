"""Tracks detections over frames: instances keep their number, in the form of a simulator's labels.

A detection is matched to an instance whose 3D box it overlaps and that it resembles, the best pairs first: by the
cosine of the embeddings of their crops, or by their names (the sparse voxel map of OpenEQA, supplement F). The output
is a label image with its table, so that memory, captions and answerers use it like labels, but it is not privileged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, ModelError
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.perception.detection import ATTRIBUTES, Detection, DetectionConfig, Detector, painted, sound
from eqa_nodes.core.perception.instances import sightings
from eqa_nodes.core.perception.relations import relations_of
from eqa_nodes.core.perception.rooms import RoomVotes
from eqa_nodes.core.perception.vectors import vector_text
from eqa_nodes.core.ranges import NotNegative, Part, Share, check_ranges
from eqa_nodes.core.settings import constant, setting
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.views import (
    MOVING,
    TEXT,
    UNSEEN,
    Frame,
    Label,
    Point,
    Sighting,
    box_of,
    check_frame,
    least,
    most,
    overlap,
)

_STATE, _ROOM = "state", "room"
_ONE_VOTE, _MORE, _BEST = -1.6, 1.25, 1.7  # see TrackedInstance.sure; fitted on 22,000 instances of houses 600 to 613
_STILL_M, _STILL_RAD = 0.1, math.radians(5)  # a robot that has moved less than this sees the same once more


@dataclass(frozen=True)
class TrackingConfig:
    """Conditions for a detection to match a known instance."""

    overlap: Part = setting(0.25,
        "Share of the smaller box (0 to 1) that two detections of one object must have in common.")
    slack_m: NotNegative = setting(0.05, "Margin in metres by which boxes are enlarged before they are compared.")
    alike: float = setting(0.8,
        "Minimum cosine similarity of the embeddings of two detections whose names differ. Detections of the same "
        "name always match.")
    older: Share = constant(0.7,
        "Weight (0 to 1) that all earlier detections of an object's state keep when it is detected again. The state "
        "may change; colour, material and room do not.")

    def __post_init__(self) -> None:
        check_ranges(self, "tracking")


@dataclass
class TrackedInstance:
    """One instance.

    low, high: corners of its box, map frame, metres; vector: sum of embeddings; votes, best: sum of scores and highest
    score, by name; facts: sum of weights by value, of an attribute or "room", the state by name of the object too;
    seen_from: pose of the robot at the last vote.
    """

    id: int
    low: Point
    high: Point
    vector: np.ndarray | None
    votes: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    facts: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    seen_from: Pose2 | None = None

    @property
    def kind(self) -> str:
        """Return the name with the most votes, of equals the alphabetically first."""
        return _most_voted(self.votes)

    @property
    def sure(self) -> float:
        """Return how sure its name is, 0..1.

        The logit is _ONE_VOTE + _MORE ln(votes) + _BEST (highest score). One look says little: what is not there is
        seen once or twice, and what is there from nearly everywhere.
        """
        kind = self.kind
        logit = _ONE_VOTE + _MORE * math.log(max(self.votes[kind], 1e-6)) + _BEST * self.best[kind]
        return 1.0 / (1.0 + math.exp(-logit))

    @property
    def rooms(self) -> Mapping[str, float]:
        """Return the votes by room."""
        return self.facts.get((_ROOM, ""), {})

    def vote(self, d: Detection, seen_from: Pose2) -> None:
        """Count the name of a detection, unless the robot has stood still: then it repeats what it said."""
        here = self.seen_from
        if here is None or here.distance(seen_from) > _STILL_M or abs(wrap(here.yaw - seen_from.yaw)) > _STILL_RAD:
            self.votes[d.name] = self.votes.get(d.name, 0.0) + d.score
            self.best[d.name] = max(self.best.get(d.name, 0.0), d.score)
            self.seen_from = seen_from

    def add_facts(self, d: Detection, pixels: int, older: float) -> None:
        """Count the attributes and the room of a detection. older: see TrackingConfig.

        The weight is the score times the square root of the pixels: a near view counts more, but does not outvote all
        others.
        """
        weight = d.score * math.sqrt(pixels)
        for fact, value in (*d.attributes.items(), *((_ROOM, d.room),) * bool(d.room)):
            votes = self.facts.setdefault((fact, d.name if fact == _STATE else ""), {})
            if fact == _STATE:
                votes.update({earlier: older * votes[earlier] for earlier in votes})
            votes[value] = votes.get(value, 0.0) + weight

    def label(self, d: Detection, place: Mapping[str, str], room: str, detected: bool) -> Label:
        """Return the instance as a label. d: its detection in this frame; place: from `relations_of`."""
        kind, known = self.kind, dict(place)
        for fact in ATTRIBUTES:
            if votes := self.facts.get((fact, kind if fact == _STATE else "")):
                known[fact] = _most_voted(votes)
        return Label(self.id, kind, room, {**known, **({TEXT: d.text} if d.text else {})}, detected,
                     round(self.sure, 2), vector_text(d.space, d.vector))


def _most_voted(votes: Mapping[str, float]) -> str:
    return min(votes, key=lambda value: (-votes[value], value))


class Tracker:
    """Tracks the instances of one episode."""

    def __init__(self, config: TrackingConfig | None = None) -> None:
        self.config = config or TrackingConfig()
        self.tracks: list[TrackedInstance] = []
        self._next = 1

    def reset(self, first: int = 0) -> None:
        """Forget all instances. first: number of the next one, 0 = continue numbering."""
        self.tracks.clear()
        self._next = first or self._next

    def update(self, found: Sequence[tuple[Detection, Sighting]], seen_from: Pose2) -> list[TrackedInstance]:
        """Return the instance of each detection of one frame, new ones included; no two detections share one."""
        pairs = self._pairs(found)
        tracks = [self._merged(pairs[i], d, s) if i in pairs else self._begun(d, s) for i, (d, s) in enumerate(found)]
        for track, (d, s) in zip(tracks, found, strict=True):
            track.vote(d, seen_from)
            track.add_facts(d, s.pixels, self.config.older)
        return tracks

    def _pairs(self, found: Sequence[tuple[Detection, Sighting]]) -> dict[int, TrackedInstance]:
        if not self.tracks:
            return {}
        low, high = (np.array([getattr(t, end) for t in self.tracks]) for end in ("low", "high"))
        scored = []
        for i, (detection, sighting) in enumerate(found):
            share = overlap(low, high, *box_of(sighting), self.config.slack_m)
            for j in np.flatnonzero(share >= self.config.overlap).tolist():
                alike = self._alike(self.tracks[j], detection)
                if alike is not None:
                    scored.append((-(float(share[j]) + alike), i, j))
        pairs: dict[int, TrackedInstance] = {}
        matched: set[int] = set()
        for _, i, j in sorted(scored):
            if i not in pairs and j not in matched:
                pairs[i] = self.tracks[j]
                matched.add(j)
        return pairs

    def _alike(self, track: TrackedInstance, d: Detection) -> float | None:
        """Return the similarity of a detection and a track, None if it is another object."""
        same = canonical(track.kind) == canonical(d.name)
        if d.vector is None or track.vector is None:
            return 1.0 if same else None
        length = float(np.sqrt((track.vector * track.vector).sum()))
        cosine = float((track.vector * d.vector).sum()) / length if length else 0.0
        return cosine if same or cosine >= self.config.alike else None

    def _begun(self, d: Detection, s: Sighting) -> TrackedInstance:
        if self._next >= UNSEEN:
            raise ModelError(f"more than {UNSEEN - 1} objects were detected: begin a new episode")
        low, high = box_of(s)
        track = TrackedInstance(self._next, low, high, d.vector)
        self._next += 1
        self.tracks.append(track)
        return track

    def _merged(self, track: TrackedInstance, d: Detection, s: Sighting) -> TrackedInstance:
        low, high = box_of(s)
        track.low, track.high = least(track.low, low), most(track.high, high)
        if d.vector is not None:
            track.vector = d.vector if track.vector is None else track.vector + d.vector
        return track


class Perceived(NamedTuple):
    """A frame with detections instead of a simulator's labels. table: label by id; found: sightings, highest score
    first."""

    frame: Frame
    table: dict[int, Label]
    found: tuple[tuple[Detection, Sighting], ...]


def nothing_found(frame: Frame) -> Perceived:
    """Return the result for a frame in which nothing was detected."""
    return Perceived(replace(frame, labels=np.zeros(frame.depth_m.shape, np.uint16)), {}, ())


def not_looked_at(frame: Frame) -> Perceived:
    """Return the result for a frame for which the detector failed: nothing is known, and no mask can be made."""
    return Perceived(replace(frame, labels=np.full(frame.depth_m.shape, UNSEEN, np.uint16)), {}, ())


@dataclass(frozen=True)
class PerceiverConfig:
    """Settings of detection and tracking."""

    detection: DetectionConfig = DetectionConfig()
    tracking: TrackingConfig = constant(TrackingConfig())


class Perceiver:
    """The perception step: detection, separation from the background, tracking. Used in process and by the node.

    broken: number of unusable detections so far.
    """

    def __init__(self, detector: Detector, config: PerceiverConfig | None = None) -> None:
        self.detector, self._config = detector, config or PerceiverConfig()
        self._tracker, self._rooms = Tracker(self._config.tracking), RoomVotes()
        self.broken = 0

    def configure(self, config: PerceiverConfig) -> None:
        """Continue with other settings; the vocabulary belongs to the detector and is not changed."""
        self._config, self._tracker.config = config, config.tracking

    def reset(self, first: int = 1) -> None:
        """Begin an episode; see Tracker.reset."""
        self._tracker.reset(first)
        self._rooms.reset()

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> Perceived:
        """Return the frame with its detections as labels. Raises ModelError.

        labels: labels by id in frame.labels, for a privileged detector; others do not see them. Nothing is detected in
        an unusable frame, which map and memory refuse.
        """
        try:
            check_frame(frame)
        except BadFrame:
            return nothing_found(frame)
        config, privileged = self._config.detection, self.detector.privileged
        shown, names = (frame, labels) if privileged else (replace(frame, labels=None), {})
        found = self.detector.detect(shown, names)
        usable = sound(found, frame.depth_m.shape)
        self.broken += len(found) - len(usable)
        image, kept = painted(frame, usable, config)
        numbered = {n: Label(n, d.name, "", {}, not privileged) for n, d in enumerate(kept, start=1)}
        seen = {s.label.instance: s for s in sightings(replace(frame, labels=image), numbered, config.perception)}
        sighted = [(d, seen[n]) for n, d in enumerate(kept, start=1) if n in seen]
        ids = np.zeros(len(kept) + 1, np.uint16)
        tracks, table, labelled = self._tracker.update(sighted, frame.pose), {}, []
        places = relations_of(tracks, self._tracker.tracks, frame.map_from_base.xyz[2])
        people = np.isin(image, [n for n, d in enumerate(kept, start=1) if canonical(d.name) in MOVING])
        rooms = self._rooms.rooms_of(tracks, frame, people)
        for track, (d, s), place, room in zip(tracks, sighted, places, rooms, strict=True):
            label = track.label(d, place, room, not privileged)
            ids[s.label.instance], table[track.id] = track.id, label
            labelled.append((d, s._replace(label=label)))
        return Perceived(replace(frame, labels=ids[image]), table, tuple(labelled))
