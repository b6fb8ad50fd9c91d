"""Detections are cut out of their background by depth, and keep their number over frames."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.perception.detection import Detection, DetectionConfig, painted, sound
from eqa_nodes.core.perception.instances import NoiseConfig, PerceptionConfig, sightings
from eqa_nodes.core.perception.tracking import Perceiver, PerceiverConfig, Tracker, TrackingConfig
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame, Label, Sighting
from eqa_nodes.perception.oracle import LabelDetector, ScriptedDetector
from eqa_nodes.tours.tours import RECIPES, TourHistory, plan_tour
from tests.fixtures.frames import H, W, frame

CONFIG = DetectionConfig(perception=PerceptionConfig(min_share=5 / (H * W)))


def seen(*blocks: tuple[int, int, int, int, float], far: float = 3.5) -> Frame:
    """Return a view of a wall `far` metres ahead, and of blocks before it: left, top, right, bottom, depth."""
    depth = np.full((H, W), far, np.float32)
    for left, top, right, bottom, z in blocks:
        depth[top:bottom, left:right] = z
    return replace(frame(1), depth_m=depth)


def mask_of(box: tuple[int, int, int, int]) -> np.ndarray:
    mask = np.zeros((H, W), bool)
    mask[box[1]:box[3], box[0]:box[2]] = True
    return mask


def test_a_box_without_a_mask_becomes_what_stands_before_the_background() -> None:
    image, kept = painted(seen((20, 10, 30, 20, 1.5)), [Detection("cup", 0.9, (18, 8, 32, 22))], CONFIG)
    assert len(kept) == 1 and (image > 0).sum() == 100 and (image[10:20, 20:30] == 1).all()


def test_what_covers_a_corner_of_the_box_only_is_not_the_thing() -> None:
    view = seen((10, 10, 40, 30, 2.5), (10, 10, 16, 16, 1.0))
    image, _ = painted(view, [Detection("sofa", 0.9, (10, 10, 40, 30))], CONFIG)
    assert (image[16:30, 16:40] == 1).all() and not image[10:16, 10:16].any()


def test_a_mask_that_runs_over_the_edge_loses_the_background() -> None:
    mask = mask_of((18, 8, 31, 21))
    image, _ = painted(seen((20, 10, 30, 20, 1.5)), [Detection("cup", 0.9, (18, 8, 31, 21), mask)], CONFIG)
    assert (image > 0).sum() == 100 and (image[10:20, 20:30] == 1).all()


@pytest.mark.parametrize("z", [0.0, 0.05, 4.5, np.nan, np.inf])
def test_depth_out_of_range_shows_nothing(z: float) -> None:
    image, kept = painted(seen((0, 0, W, H, z)), [Detection("cup", 0.9, (10, 10, 30, 30))], CONFIG)
    assert not kept and not image.any()


@pytest.mark.parametrize("box", [(-20, -20, 10, 10), (50, 40, 500, 400), (70, 10, 90, 20), (20, 20, 20, 30)])
def test_boxes_that_leave_the_image_are_cut(box: tuple[int, int, int, int]) -> None:
    image, kept = painted(seen(far=2.0), [Detection("wall", 0.9, box)], CONFIG)
    assert len(kept) == (box[0] < W and box[2] > box[0]) and (image > 0).sum() <= H * W


def test_the_surest_of_two_that_are_one_thing_stays_and_small_things_lie_on_large_ones() -> None:
    view = seen((10, 10, 50, 40, 2.0), (24, 20, 30, 26, 1.5))
    table, cup = Detection("table", 0.9, (10, 10, 50, 40), mask_of((10, 10, 50, 40))), (24, 20, 30, 26)
    found = [table, Detection("desk", 0.5, (10, 10, 49, 40), mask_of((10, 10, 49, 40))),
             Detection("cup", 0.3, cup, mask_of(cup)), Detection("ghost", 0.1, cup, mask_of(cup))]
    for order in permutations(found):
        image, kept = painted(view, order, CONFIG)
        assert [d.name for d in kept] == ["table", "cup"]
        assert (image[20:26, 24:30] == 2).all() and (image == 1).sum() == 40 * 30 - 36


def test_the_floor_is_no_part_of_what_stands_on_it_but_a_rug_is_the_floor() -> None:
    """A camera 1.2 m above the floor looks ahead: below the horizon it sees the floor, and a box on it."""
    v = np.arange(H)[:, None] + 0.5
    floor = np.where(v > H / 2 + 10, 32.0 * 1.2 / np.maximum(v - H / 2, 1e-3), 0.0) + np.zeros((1, W))
    block = replace(frame(1), depth_m=np.where(mask_of((24, 20, 40, 44)), 2.0, floor).astype(np.float32))
    image, kept = painted(block, [Detection("box", 0.9, (20, 20, 44, 44))], CONFIG)
    assert kept and image[20:43, 24:40].mean() > 0.9 and not image[40:, :24].any()
    bare = replace(block, depth_m=floor.astype(np.float32))
    _, rug = painted(bare, [Detection("rug", 0.9, (10, 36, 50, 48))], CONFIG)
    assert rug


NAN, INF = math.nan, math.inf
GOOD = Detection("cup", 0.9, (18, 8, 32, 22), None, np.array([1.0, 0.0], np.float32))


@pytest.mark.parametrize("broken", [
    {"score": NAN}, {"score": INF}, {"score": -0.1}, {"score": 1e30}, {"box": (NAN, 8, 32, 22)},
    {"box": (0, 0, INF, 9)},
    {"box": (32, 8, 18, 22)}, {"box": (18, 8, 18, 22)}, {"box": (W, 0, W + 9, H)}, {"box": (-9, -9, 0, 0)},
    {"mask": np.ones((H, W + 1), bool)}, {"mask": np.ones(H * W, bool)}, {"mask": np.ones((H, W, 1), bool)}])
def test_what_is_no_detection_is_left_out_and_counted(broken: dict[str, object]) -> None:
    view = seen((20, 10, 30, 20, 1.5))
    perceiver = Perceiver(ScriptedDetector([[GOOD._replace(**broken), GOOD]]), PerceiverConfig(CONFIG))
    perceived = perceiver.take(view, {})
    assert [d for d, _ in perceived.found] == [GOOD] and perceiver.broken == 1


def test_boxes_of_fractions_beyond_the_picture_and_vectors_that_are_none_are_put_right() -> None:
    odd = GOOD._replace(name="cup\x1b[2J" * 99, box=(-1e300, 7.6, 31.7, 1e300), vector=np.array([NAN, 1.0]))
    (d,) = sound([odd], (H, W))
    assert d.box == (0, 8, 32, H) and d.vector is None and len(d.name) == 100 and "\x1b" not in d.name


def test_of_a_hundred_thousand_boxes_the_surest_are_cut_out() -> None:
    view = seen((20, 10, 30, 20, 1.5))
    crowd = [GOOD._replace(score=0.3)] * 100_000
    image, kept = painted(view, [*sound(crowd, (H, W)), GOOD], CONFIG)
    assert kept == [GOOD] and image.max() == 1


def detection(name: str, x: float, y: float = 0.0, score: float = 0.5, size: float = 0.4,
              vector: list[float] | None = None) -> tuple[Detection, Sighting]:
    v = None if vector is None else np.array(vector, np.float32) / np.float32(np.linalg.norm(vector))
    return (Detection(name, score, (0, 0, 9, 9), None, v),
            Sighting(Label(1, name, "", {}, True), 81, (0, 0, 9, 9), (x, y, 0.5), (size, size, size)))


HERE = Pose2(0.0, 0.0, 0.0)


def test_what_overlaps_and_is_called_the_same_is_the_same_thing() -> None:
    tracker = Tracker()
    first = [t.id for t in tracker.update([
        detection("chair", 0.0), detection("chair", 1.0), detection("cup", 0.1)], HERE)]
    again = tracker.update([detection("cup", 0.12), detection("chair", 0.95), detection("couch", 0.0),
                            detection("chair", 0.1)], HERE)
    assert first == [1, 2, 3] and [t.id for t in again] == [3, 2, 4, 1]


def test_embeddings_join_what_is_called_differently_and_votes_name_it() -> None:
    tracker = Tracker()
    tracker.update([detection("stool", 0.0, vector=[1, 0, 0])], HERE)
    other = tracker.update([detection("stool", 0.05, score=0.2, vector=[1, 0.1, 0]),
                            detection("chair", 0.0, vector=[0, 1, 0])], HERE)
    assert [t.id for t in other] == [1, 2]
    named = tracker.update([detection("table", 0.0, score=0.9, vector=[1, 0, 0.1])], Pose2(1.0, 0.0, 0.0))
    assert [(t.id, t.kind) for t in named] == [(1, "table")]


def test_a_name_is_sure_after_looks_from_several_places() -> None:
    tracker = Tracker()

    def sure(x: float, score: float) -> float:
        return tracker.update([detection("lamp", 0.0, score=score)], Pose2(x, 0.0, 0.0))[0].sure

    first = sure(0.0, 0.9)
    assert first == pytest.approx(1 / (1 + math.exp(1.6 - 1.25 * math.log(0.9) - 1.7 * 0.9))) and first < 0.5
    assert sure(0.05, 0.9) == first, "a robot that stands still sees the same once more"
    later = [sure(x, 0.9) for x in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)]
    assert later == sorted(later) and later[0] > 0.6 and later[-1] > 0.85
    assert Tracker().update([detection("lamp", 0.0, score=0.0)], HERE)[0].sure < 0.01


def looked_at(tracker: Tracker, pixels: int, room: str = "", name: str = "lamp", score: float = 0.8,
              **attributes: str) -> Label:
    """Return the label of the one object after another detection of it."""
    d, s = detection(name, 0.0, score=score, vector=[1, 0, 0])
    (track,) = tracker.update([(d._replace(attributes=attributes, room=room), s._replace(pixels=pixels))], HERE)
    return track.label(d, {}, max(track.rooms, key=lambda name: track.rooms[name], default=""), True)


def test_colour_material_and_room_are_voted_by_score_and_pixels() -> None:
    tracker = Tracker()
    looked_at(tracker, 100, "kitchen", colour="red", material="metal")
    assert looked_at(tracker, 2500, "hallway", colour="blue") == Label(1, "lamp", "hallway", {
        "colour": "blue", "material": "metal"}, True, 0.37)
    assert looked_at(tracker, 900, "kitchen", score=0.1, colour="red").attributes["colour"] == "blue"
    label = looked_at(tracker, 2500, "kitchen", colour="red", material="wood")
    assert (label.room, label.attributes) == ("kitchen", {"colour": "red", "material": "wood"})
    assert looked_at(tracker, 100).attributes == label.attributes, "a view without attributes changes none"


def test_a_state_changes_with_the_newest_views_and_belongs_to_the_name() -> None:
    tracker = Tracker()
    for _ in range(20):
        assert looked_at(tracker, 400, state="on").attributes == {"state": "on"}
    assert looked_at(tracker, 25, state="off").attributes == {"state": "on"}, "one view from afar does not change it"
    looked_at(tracker, 400, state="off")
    assert looked_at(tracker, 400, state="off").attributes == {"state": "off"}
    assert looked_at(tracker, 4000, name="door", score=0.9, state="open").attributes == {"state": "off"}
    assert looked_at(tracker, 4000, name="window", score=1.0).kind == "lamp"


def test_of_equal_votes_the_alphabetically_first_counts_in_any_order() -> None:
    for colours in permutations(("red", "green", "blue")):
        tracker = Tracker()
        labels = [looked_at(tracker, 64, colour=colour) for colour in colours]
        assert labels[-1].attributes == {"colour": "blue"}


def test_attributes_and_room_of_a_detector_become_those_of_the_label() -> None:
    read = Detection("cup", 0.9, (20, 10, 30, 20), None, None, "TEA", {"state": "full", "colour": "red"}, "kitchen")
    perceived = Perceiver(ScriptedDetector([[read]]), PerceiverConfig(CONFIG)).take(seen((20, 10, 30, 20, 1.5)), {})
    assert perceived.table == {1: Label(1, "cup", "kitchen", {
        "colour": "red", "state": "full", "relation": "wall", "text": "TEA"}, True, 0.45)}
    assert perceived.found[0][1].label == perceived.table[1]


def test_attributes_that_a_label_cannot_have_are_removed() -> None:
    odd = {"colour": "red\x1b[31m<b>" + 200 * "x", "material": "", "source": "detector", "text": "x", "state=on": "on",
           "state": 3}
    (kept,) = sound([GOOD._replace(attributes=odd, room='hall\x00"')], (H, W))  # type: ignore[arg-type]
    assert list(kept.attributes) == ["colour", "state"] and kept.attributes["state"] == "3"
    assert kept.attributes["colour"].startswith("red\ufffd[31m(b)x") and len(kept.attributes["colour"]) == 100
    assert kept.room == "hall\ufffd'"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["chair", "bed", "cup"]), st.floats(-3, 3), st.floats(-3, 3)), max_size=8),
       st.randoms(use_true_random=False))
def test_one_frame_gives_each_detection_a_thing_of_its_own_in_any_order(objects: list[tuple[str, float, float]],
                                                                         random: object) -> None:
    tracker = Tracker()
    found = [detection(*obj) for obj in objects]
    first = tracker.update(found, HERE)
    assert len({t.id for t in first}) == len(objects)
    shuffled = sorted(range(len(found)), key=lambda i: random.random())  # type: ignore[attr-defined]
    again = tracker.update([found[i] for i in shuffled], HERE)
    assert sorted(t.id for t in again) == sorted(t.id for t in first), "the same view shows the same things"


def test_numbers_go_on_where_memory_holds_earlier_ones_and_end_where_images_do() -> None:
    tracker = Tracker()
    tracker.update([detection("chair", 0.0)], HERE)
    tracker.reset()
    assert tracker.update([detection("chair", 0.0)], HERE)[0].id == 2
    tracker.reset(65_534)
    assert tracker.update([detection("chair", 0.0)], HERE)[0].id == 65_534
    with pytest.raises(ModelError, match="more than 65534 objects"):
        tracker.update([detection("cup", 2.0)], HERE)


def test_a_detector_that_is_not_privileged_does_not_see_labels_and_its_labels_say_so() -> None:
    found = [Detection("cup", 0.9, (20, 10, 30, 20))]
    detector = ScriptedDetector([found, [], found])
    perceiver = Perceiver(detector, PerceiverConfig(CONFIG))
    view = replace(seen((20, 10, 30, 20, 1.5)), labels=np.ones((H, W), np.uint16))
    first, nothing, again = (perceiver.take(view, {1: Label(1, "wall", "hall", {})}) for _ in range(3))
    assert all(shown.labels is None for shown in detector.frames)
    assert first.table == again.table == {
        1: Label(1, "cup", "", {"relation": "wall"}, True, 0.45)} and not nothing.table
    assert [s.label.instance for _, s in first.found] == [1]
    with pytest.raises(ModelError, match="script of detections ended before frame 4"):
        perceiver.take(view, {})


def test_in_a_frame_that_cannot_be_used_nothing_is_detected() -> None:
    bad = replace(frame(1), rgb=np.zeros((H, W), np.uint8))
    perceived = Perceiver(ScriptedDetector([])).take(bad, {})
    assert not perceived.table and perceived.frame.labels is not None and not perceived.frame.labels.any()


@pytest.mark.parametrize("wrong", [{"near_m": 5.0}, {"eps_m": 0.0}, {"doubled": 0.0}, {"vocabulary": ()}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="detection"):
        DetectionConfig(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="overlap is 0"):
        TrackingConfig(overlap=0.0)


class Tour:
    """Frames of a train house with its labels."""

    def __init__(self) -> None:
        tour = plan_tour("house:3", RECIPES["openeqa"])
        camera = replace(tour.robot.camera, width=320, height=240)
        assert isinstance(camera, CameraModel)
        history = TourHistory(replace(tour, robot=replace(tour.robot, camera=camera), actions=tour.actions[:45],
                                      poses=tour.poses[:46]))
        self.frames, self.labels = [r.frame for r in history.recorded()], history.labels


@pytest.fixture(scope="module")
def tour() -> Tour:
    return Tour()


@pytest.mark.parametrize(("masks", "noise", "off_m", "wrong", "stable"), [
    (True, NoiseConfig(), 0.01, 0.0, 0.98), (False, NoiseConfig(0.2, 0.1, 4.5), 0.1, 0.15, 0.95)],
    ids=["masks", "noisy boxes"])
def test_along_a_tour_places_agree_with_the_labels_and_numbers_stay(tour: Tour, masks: bool, noise: NoiseConfig,
                                                                    off_m: float, wrong: float, stable: float) -> None:
    """off_m: median distance of centres; wrong: share of detections that lie on something else; stable: of a thing's
    detections, those with its most frequent number."""
    perceiver = Perceiver(LabelDetector(masks, noise))
    offs, numbers, bad = [], defaultdict[int, Counter[int]](Counter), 0
    for shown in tour.frames:
        truth = {s.label.instance: s for s in sightings(shown, tour.labels)}
        perceived = perceiver.take(shown, tour.labels)
        for _, s in perceived.found:
            assert shown.labels is not None and perceived.frame.labels is not None
            there = Counter(shown.labels[perceived.frame.labels == s.label.instance].tolist()).most_common(1)[0][0]
            if there in truth and truth[there].label.kind == s.label.kind:
                offs.append(math.dist(truth[there].centre, s.centre))
                numbers[there][s.label.instance] += 1
            else:
                bad += 1
    most = sum(max(counted.values()) for counted in numbers.values())
    assert len(offs) > 100 and len(numbers) > 20
    assert float(np.median(offs)) <= off_m and bad <= wrong * len(offs) and most >= stable * len(offs)
