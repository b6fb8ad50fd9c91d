"""Messages and core values: round trips lose nothing, and what cannot be used is refused by name."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message

from eqa_nodes.core.errors import BadFrame, BadQuestion, ErrorCode
from eqa_nodes.core.types import calls, floor, questions, views
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.ros import convert
from eqa_nodes.runners.in_process import rounded_as_in_message
from eqa_nodes.wire import messages

number = st.floats(-1e6, 1e6)
stamp = st.integers(0, 2**31 * 10**9 - 1)
pose2 = st.builds(Pose2, number, number, st.floats(-math.pi, math.pi))
transforms = st.builds(lambda p, z: p.transform(z), pose2, number)
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
labels = st.builds(views.Label, st.integers(1, 65535), texts, texts,
                   st.dictionaries(texts.filter(lambda t: "=" not in t), texts, max_size=3), st.booleans(),
                   st.floats(0, 1), texts)
points = st.tuples(number, number, number)
pixel = st.integers(0, 4000)
sightings = st.builds(views.Sighting, labels, st.integers(0, 10**6), st.tuples(pixel, pixel, pixel, pixel), points,
                      points)
lenses = st.builds(views.Intrinsics, pixel, pixel, *[number] * 4)
geometries = st.builds(views.ViewGeometry, lenses, transforms, st.binary(min_size=1, max_size=50))
keyframes = st.builds(views.Keyframe, st.integers(0, 2**63), stamp, transforms, st.binary(max_size=50),
                      st.lists(sightings, max_size=2).map(tuple), texts, texts, geometry=st.none() | geometries)


areas = st.lists(st.tuples(number, number), max_size=5).map(tuple)
counts, amounts = st.integers(0, 2**32 - 1), st.floats(0, 1e9)
limits = st.builds(questions.Limits, counts, amounts, amounts, counts, areas, counts, amounts, counts)
asked = st.builds(questions.Question, texts, texts, st.lists(texts, max_size=4).map(tuple), st.booleans(), limits,
                  st.booleans(), st.integers(0, 2**64 - 1), st.booleans(), instruction=texts)


def over_the_wire(message: object) -> object:
    return deserialize_message(serialize_message(message), type(message))


@given(stamp)
def test_stamps(ns: int) -> None:
    assert messages.ns_of(over_the_wire(convert.time_of(ns))) == ns
    assert messages.stamp_in(serialize_message(convert.header(ns))) == ns


@given(transforms, stamp)
def test_transforms_and_poses(t: Transform, ns: int) -> None:
    assert messages.transform_of(over_the_wire(convert.transform_msg("a", "b", ns, t))) == t
    assert messages.pose_of(over_the_wire(convert.pose_msg(t))) == t


@given(pose2, stamp)
def test_a_goal_arrives_as_the_core_says(goal: Pose2, ns: int) -> None:
    assert messages.goal_of(over_the_wire(convert.goal_msg(goal, ns))) == rounded_as_in_message(goal)


@settings(max_examples=30)
@given(keyframes)
def test_keyframes(keyframe: views.Keyframe) -> None:
    assert messages.keyframe_of(over_the_wire(convert.keyframe_msg(keyframe))) == keyframe


places = st.lists(st.builds(floor.Candidate, number, number, number, texts), max_size=3).map(tuple)


@given(st.builds(questions.ViewAssessment, st.integers(0, 2**63), stamp, st.floats(0, 1), st.floats(0, 1), texts, texts,
                 st.builds(Pose2, number, number, number), st.floats(0, 1), places,
                 st.none() | st.tuples(number, number), texts, number, number))
def test_assessments(assessment: questions.ViewAssessment) -> None:
    assert messages.assessment_of(over_the_wire(convert.assessment_msg(assessment, "q"))) == assessment


@given(st.builds(floor.Frontier, number, number, number, number),
       st.builds(floor.Candidate, number, number, number, texts))
def test_frontiers_and_candidates(frontier: floor.Frontier, candidate: floor.Candidate) -> None:
    assert messages.frontier_of(over_the_wire(convert.frontier_msg(frontier))) == frontier
    assert messages.candidate_of(over_the_wire(convert.candidate_msg(candidate))) == candidate


@given(st.integers(1, 40), st.integers(1, 40), number, number, number, st.sampled_from((0.05, 0.1, 0.025)),
       st.integers(0, 2**32))
def test_maps(rows: int, columns: int, x: float, y: float, z: float, resolution: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.choice(np.array([-1, 0, 100], np.int8), (rows, columns))
    grid = floor.GridMap(7, resolution, (x, y), cells, rng.random((rows, columns)) < 0.5, z)
    back = messages.grid_of(over_the_wire(convert.grid_msg(grid.cells, grid)),
                            over_the_wire(convert.explored_msg(grid)))
    assert (back.stamp_ns, back.resolution_m) == (grid.stamp_ns, grid.resolution_m)
    assert (back.origin, back.z) == (grid.origin, grid.z)
    assert np.array_equal(back.cells, grid.cells) and np.array_equal(back.explored, grid.explored)
    assert back.explored_share() == grid.explored_share()


@given(st.lists(st.builds(floor.Staircase, *[st.tuples(number, number, number)] * 2), max_size=3))
def test_stairs(staircases: list[floor.Staircase]) -> None:
    assert messages.staircases_of(over_the_wire(convert.staircases_msg(staircases, 7))) == tuple(staircases)


def test_images() -> None:
    rng = np.random.default_rng(1)
    rgb = rng.integers(0, 256, (5, 7, 3), np.uint8)
    depth = rng.random((5, 7), np.float32)
    labels = rng.integers(0, 65536, (5, 7)).astype(np.uint16)
    assert np.array_equal(messages.rgb_of(over_the_wire(convert.image_msg(rgb, "rgb8", 1))), rgb)
    assert np.array_equal(messages.depth_of(over_the_wire(convert.image_msg(depth, "32FC1", 1))), depth)
    assert np.array_equal(messages.pixels_of(over_the_wire(convert.image_msg(labels, "16UC1", 1))), labels)
    bgr = convert.image_msg(rgb[..., ::-1], "bgr8", 1)
    assert np.array_equal(messages.rgb_of(bgr), rgb)


def test_depth_in_millimetres_padding_and_byte_order() -> None:
    image = convert.image_msg(np.array([[1500, 0]], np.uint16), "16UC1", 1)
    assert np.allclose(messages.depth_of(image), [[1.5, 0.0]])
    image.data = np.array([[1500, 0]], ">u2").tobytes()
    image.is_bigendian = 1
    assert np.allclose(messages.depth_of(image), [[1.5, 0.0]])
    image.data, image.step = bytes(image.data) + b"\xff\xff", 6
    assert np.allclose(messages.depth_of(image), [[1.5, 0.0]])


@pytest.mark.parametrize(("change", "complaint"), [
    ({"encoding": "mono8"}, "encoding 'mono8' is not one of"), ({"height": 3}, "has 16 bytes"),
    ({"step": 4}, "steps of 4"), ({"width": 0, "height": 0, "data": b"", "step": 0}, "0x0"),
    ({"data": b""}, "has 0 bytes")])
def test_broken_depth_images_are_refused(change: dict[str, object], complaint: str) -> None:
    image = convert.image_msg(np.ones((2, 2), np.float32), "32FC1", 1)
    for name, value in change.items():
        setattr(image, name, value)
    with pytest.raises(BadFrame, match=complaint):
        messages.depth_of(image)


def test_camera_info_round_trip_and_uncalibrated_camera() -> None:
    k = views.Intrinsics(640, 480, 320.0, 321.5, 320.0, 240.25)
    assert messages.intrinsics_of(over_the_wire(convert.camera_info_msg(k, 1))) == k
    info = convert.camera_info_msg(k, 1)
    info.k[0] = 0.0
    with pytest.raises(BadFrame, match="not calibrated"):
        messages.intrinsics_of(info)


@given(asked.map(lambda question: question._replace(account=None)))
def test_a_question_keeps_all_its_options(question: questions.Question) -> None:
    assert messages.question_of(over_the_wire(convert.question_msg(question))) == question


unit = st.floats(0, 1)
options = st.builds(floor.Option, number, number, number, texts | st.sampled_from((floor.LOOK_ROUND, floor.POINTED)),
                    number, texts, unit, number)
several = st.lists(st.builds(calls.TargetNote, texts, texts), max_size=3).map(tuple)
some_texts = st.lists(texts, max_size=3).map(tuple)


@settings(max_examples=30)
@given(st.lists(keyframes, min_size=1, max_size=3, unique_by=lambda view: view.id).map(tuple), st.integers(1, 3),
       st.builds(partial(calls.DecisionRequest, ()), st.lists(options, max_size=3).map(tuple), st.just(()), some_texts,
                 some_texts, st.integers(-1, 99), st.integers(-1, 99), several))
def test_a_brief_keeps_its_options_and_targets(seen: tuple[views.Keyframe, ...], ends: int,
                                               brief: calls.DecisionRequest) -> None:
    """ends: number of the view that the robot has now; those behind it are for the sheet."""
    from eqa_interfaces.srv import Advise

    for pictures, sheet, now in ((seen[:ends], seen[ends:], (seen[:ends][-1].id,)), (seen, (), ()), ((), (), ())):
        whole = brief._replace(views=pictures, sheet=sheet, now=now)
        assert messages.brief_of(over_the_wire(Advise.Request(**convert.brief_fields(whole)))) == whole


@given(st.lists(st.builds(floor.WeighedOption, options, unit, texts), max_size=4).map(tuple),
       several, texts)
def test_advice_keeps_its_options_and_those_that_were_pointed_at(
        weighed: tuple[floor.WeighedOption, ...], targets: tuple[calls.TargetNote, ...], words: str) -> None:
    from eqa_interfaces.srv import Advise

    seen = questions.ViewAssessment(3, 4, 1.0, 0.5, pose=Pose2(1.0, 2.0, 0.0), target=(1.0, 2.0))
    said = calls.DecisionReply(questions.Answer("red", 0.75), words, words, weighed, (seen,), targets)
    back = messages.advice_of(over_the_wire(convert.fill_advice(Advise.Response(), said, "q")))
    assert (back.options, back.targets, back.reasons, back.missing) == (weighed, targets, words, words)
    assert back.assessments == (seen,) and (back.answer.text, back.answer.confidence) == ("red", 0.75)


weighed_options = st.lists(st.builds(floor.WeighedOption, options, unit, texts), max_size=2).map(tuple)
call_pictures = st.builds(
    calls.CallPicture, st.integers(0, 2**63), st.lists(st.builds(calls.OptionMark, counts, number, number),
                                                       max_size=2).map(tuple),
    st.lists(st.tuples(number, number), max_size=2).map(tuple), st.booleans(), texts)
model_calls = st.builds(
    calls.ModelCall, stamp, st.builds(Pose2, number, number, number), texts, st.sampled_from(("decide", "answer")),
    st.lists(call_pictures, max_size=2).map(tuple), weighed_options, texts, texts, unit, texts,
    st.lists(counts, max_size=2).map(tuple), counts, counts, counts, amounts, amounts, texts, some_texts)


@settings(max_examples=30)
@given(model_calls)
def test_model_calls(call: calls.ModelCall) -> None:
    assert messages.call_of(over_the_wire(convert.call_msg(call))) == call


def test_options_without_a_weight_each_are_refused() -> None:
    from eqa_interfaces.srv import Advise

    door = floor.WeighedOption(floor.Option(1.0, 2.0, 0.0, "doorway", 3.0), 0.5)
    response = Advise.Response(**convert.weighed_fields([door, door]))
    response.weights = [0.5]
    with pytest.raises(BadQuestion, match="2 options have 1 weights and 2 rooms"):
        messages.advice_of(response)


def test_answers_with_evidence_and_errors() -> None:
    from eqa_interfaces.action import Ask

    receipt = questions.Receipt(3, 1.5, 2.5, 4, 5, 6, ("LabelAnswerer",),
                                roles=(questions.RoleCost("blind", "gpt", 1, 2, 3, 0.5),))
    proof = questions.Evidence(9, 10, rounded_as_in_message(Pose2(1.0, 2.0, 0.5)), "note")
    answer = questions.Answer("red", 0.75, False, (proof,), receipt, ErrorCode.MODEL, "why", True, "what colour")
    back = messages.answer_of(over_the_wire(convert.fill_result(Ask.Result(), answer)))
    assert back.evidence[0].keyframe_id == 9 and back.evidence[0].pose.distance(answer.evidence[0].pose) == 0
    assert (back.text, back.confidence, back.receipt) == ("red", 0.75, receipt)
    assert (back.error, back.message, back.shown, back.understood) == (ErrorCode.MODEL, "why", True, "what colour")
    published = over_the_wire(convert.answer_msg(answer, questions.Question("Red?", "q"), 7))
    assert messages.answer_of(published) == back and (published.question, published.question_id) == ("Red?", "q")


def test_error_codes_of_the_action_are_those_of_the_core() -> None:
    from eqa_interfaces.action import Ask

    assert {name: getattr(Ask.Result, name) for name in ErrorCode.__members__} == {c.name: c.value for c in ErrorCode}


def test_actions_of_the_service_are_those_of_the_core() -> None:
    from eqa_interfaces.srv import Act

    wire = {name: getattr(Act.Request, name) for name in floor.Action.__members__}
    assert wire == {action.name: action.value for action in floor.Action}
