from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.language.quantities import lengths
from eqa_nodes.core.language.understanding import query_of
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.measures import measures_of, shown_note
from eqa_nodes.core.types.questions import Question, Recalled
from eqa_nodes.core.types.views import Intrinsics, Keyframe, Label, Sighting, ViewGeometry
from tests.fixtures.frames import depth_png

CAMERA = Intrinsics(640, 480, 300.0, 300.0, 320.0, 240.0)
MOUNT = camera_mount(1.2, math.radians(15))
# A sofa and, 1.8 m before it, a TV stand; low and high corner of each.
THINGS = {"sofa": ((0.0, 0.0, 0.0), (2.0, 0.9, 0.8)), "tv stand": ((0.3, 2.7, 0.0), (1.7, 3.1, 0.5))}
POSES = ((4.5, 1.5), (-2.5, 1.6), (4.0, 4.5), (-1.5, 5.0), (1.0, 6.5))


def view(number: int, x: float, y: float, kinds: tuple[str, ...]) -> Keyframe:
    pose = Pose2(x, y, math.atan2(1.5 - y, 1.0 - x))
    camera = np.linalg.inv(pose.transform().matrix() @ MOUNT.matrix())
    seen = []
    for n, (kind, (low, high)) in enumerate(THINGS.items(), 1):
        corners = np.array([[(low, high)[i][0], (low, high)[j][1], (low, high)[k][2]]
                            for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        p = corners @ camera[:3, :3].T + camera[:3, 3]
        u, v = 300 * p[:, 0] / p[:, 2] + 320, 300 * p[:, 1] / p[:, 2] + 240
        bbox = round(u.min()), round(v.min()), round(u.max()), round(v.max())
        middle, size = (np.array(low) + high) / 2, (np.array(high) - low) * 0.9
        if kind in kinds:
            (a, b, c), (d, e, f) = middle.tolist(), size.tolist()
            label = Label(n, kind, "living room", {"relation": "floor"})
            seen.append(Sighting(label, 8000, bbox, (a, b, c), (d, e, f)))
    return Keyframe(number, number, pose.transform(), b"", tuple(seen),
                    geometry=ViewGeometry(CAMERA, MOUNT, depth_png(np.zeros((48, 64)))))


def items(*kinds: str) -> list[Recalled]:
    return [Recalled(view(n, x, y, kinds or tuple(THINGS)), 1.0, "") for n, (x, y) in enumerate(POSES, 1)]


@pytest.mark.parametrize(("question", "metres"), [
    ("How wide is the sofa?", 2.0), ("How high is the sofa in the living room?", 0.8),
    ("What is the length of the TV stand?", 1.4), ("How deep is the sofa?", 0.9),
    ("Could you tell me how wide the sofa is?", 2.0),
    ("How far is the sofa from the TV stand?", 1.8), ("How far apart are the sofa and the TV stand?", 1.8),
    ("What's the distance between the TV stand and the sofa in the living room?", 1.8),
    ("How much space is there between the sofa and the TV stand?", 1.8),
    ("How wide is the gap between the sofa and the TV stand?", 1.8)])
def test_sizes_and_distances_are_measured(question: str, metres: float) -> None:
    answer = LabelAnswerer().answer(Question(question), items())
    assert lengths(answer.text) == pytest.approx([metres], abs=0.05)
    assert answer.confidence > 0.6


@pytest.mark.parametrize(("question", "said"), [
    ("Would a 1.5 m wide table fit between the sofa and the TV stand?", "yes"),
    ("Would a 2 m wide table fit between the sofa and the TV stand?", "no"),
    ("Is there enough room for a 120 cm wide desk between the TV stand and the sofa?", "yes"),
    ("Could the sofa fit between the sofa and the TV stand?", "no"),
    ("Is the gap between the sofa and the TV stand wide enough for a 7 foot sofa?", "no")])
def test_whether_something_fits(question: str, said: str) -> None:
    answer = LabelAnswerer().answer(Question(question), items())
    assert answer.text.startswith(f"{said}: the gap is 1.")


def test_the_evidence_holds_the_line_that_was_measured() -> None:
    answer = LabelAnswerer().answer(Question("How far is the sofa from the TV stand?"), items())
    (measure,) = measures_of(answer.evidence[0].note)
    assert measure.metres == pytest.approx(1.8, abs=0.05)
    assert sorted((measure.start[1], measure.end[1])) == pytest.approx([0.9, 2.7], abs=0.05)
    assert shown_note(answer.evidence[0].note) == "sofa, tv stand, measured"


def test_with_one_of_two_things_unseen_there_is_no_answer() -> None:
    answer = LabelAnswerer().answer(Question("How far is the sofa from the TV stand?"), items("sofa"))
    assert answer.abstained
    assert answer.message == "the tv stand was not seen, only the sofa"


def test_a_view_of_one_thing_promises_less_than_an_answer() -> None:
    views = [item.keyframe for item in items()]
    for assessed in LabelAnswerer().assess(Question("How far is the sofa from the TV stand?"), views):
        assert 0.5 < assessed.enough < 1.0


@pytest.mark.parametrize(("question", "form"), [
    ("Is the front door wide enough for a 75 cm wide wheelchair?", "passes"),
    ("Will a 70 cm wheelchair fit through the bathroom door?", "passes"),
    ("How big is the rug?", "size"), ("How big is the kitchen?", "size"), ("How many chairs are there?", "count"),
    ("Is the kitchen larger than the study?", "compare"), ("What is between the sofa and the TV?", "list")])
def test_which_questions_are_about_measures(question: str, form: str) -> None:
    assert query_of(question).form == form
