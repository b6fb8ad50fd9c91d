"""Memory over days: maps that are one or not, what is let go, what must not be kept, who may write."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.camera.privacy import PrivacyConfig, masked
from eqa_nodes.core.errors import BadQuestion, ConfigError, StorageError
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.memory.forgetting import ForgetSelection, within
from eqa_nodes.core.memory.keyframes import KeyframeConfig
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.questions import RecallQuery
from eqa_nodes.core.types.views import Label
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
HOUR = 3600 * SECOND
NOON = 1_794_830_400 * SECOND
SECRET = Label(9, "xylophone", "bedroom", {"colour": "mauve", "support": "nightstand", "relation": "on"})
TURNED = Pose2(10.0, 2.0, math.pi / 2).transform()


def _tour(store: MemoryStore, begin_ns: int, views: int = 12) -> int:
    """Drive round a circle of 4 m and look at things; return how many views were kept."""
    kept = 0
    for i in range(views * 4):
        a = 2 * math.pi * i / (views * 4)
        boxes = {1 + i // 4 % 7: (10, 10, 40, 40)}
        pose = Pose2(2 * math.cos(a), 2 * math.sin(a), a)
        kept += store.take(frame(begin_ns + i * SECOND, pose, boxes), LABELS) is not None
    return kept


def test_a_second_tour_adds_little_and_hours_later_each_object_has_a_fresh_picture(store: MemoryStore) -> None:
    first = _tour(store, NOON)
    assert first > 20
    assert _tour(store, NOON + HOUR) <= 0.1 * first
    store.reset("evening", keep=True, map_name="home")
    assert _tour(store, NOON + 2 * HOUR) <= 0.2 * first
    assert _tour(store, NOON + 24 * HOUR) < 0.7 * first
    seen = [o for o in store.objects() if o.last_ns >= NOON + 24 * HOUR]
    newest = [store.keyframe(store.last_view(o.id)) for o in seen]
    assert seen and all(k is not None and k.stamp_ns >= NOON + 24 * HOUR for k in newest)


def test_maps_that_are_not_known_to_be_one_are_not_mixed(store: MemoryStore) -> None:
    store.take(frame(NOON, Pose2(1.0, 0.0, 0.0), {1: (10, 10, 40, 40)}), LABELS)
    store.reset("unknown", keep=True)
    assert store.recall(RecallQuery("kettle")) == []
    assert store.take(frame(NOON + HOUR, Pose2(1.0, 0.0, 0.0), {1: (10, 10, 40, 40)}), LABELS) is not None
    assert [(o.here, o.times) for o in store.objects()] == [(False, 1), (True, 1)]
    assert [place for _, _, place in store.sessions()] == [1, 2]


def test_aligned_maps_are_one_place_in_whichever_frame_one_is(store: MemoryStore) -> None:
    here = store.take(frame(NOON, Pose2(1.0, 0.0, 0.0), {1: (10, 10, 40, 40)}), LABELS)
    store.reset("second", keep=True)
    store.take(frame(NOON + HOUR, Pose2(5.0, 5.0, 0.0), {4: (10, 10, 40, 40)}), LABELS)
    store.align("second", "home", TURNED)  # where the second map's origin lies in the first
    assert here is not None
    found = store.recall(RecallQuery("kettle"))
    m = np.linalg.inv(TURNED.matrix())
    assert np.allclose(found[0].keyframe.map_from_base.matrix(), m @ here.map_from_base.matrix(), atol=1e-9)
    centre = np.array([*here.sightings[0].centre, 1.0])
    assert np.allclose(found[0].keyframe.sightings[0].centre, (m @ centre)[:3], atol=1e-6)
    near = store.recall(RecallQuery("desk", near=(5.0, 5.0, 0.5)))
    assert near and near[0].keyframe.pose.distance(Pose2(5.0, 5.0, 0.0)) < 1e-9
    assert all(o.here for o in store.objects())
    # the place where the kettle was seen, in the frame of now: nothing new there
    x, y, _ = found[0].keyframe.map_from_base.xyz
    again = frame(NOON + HOUR + SECOND, Pose2(x, y, found[0].keyframe.pose.yaw), {1: (10, 10, 40, 40)})
    assert store.take(again, LABELS) is None
    store.close()
    reopened = MemoryStore(store.path)
    assert reopened.recall(RecallQuery("kettle"))[0].keyframe == found[0].keyframe
    reopened.reset("third", keep=True, map_name="home")
    back = reopened.recall(RecallQuery("desk"))[0].keyframe
    assert back.pose.distance(Pose2(10.0 - 5.0, 2.0 + 5.0, 0.0)) < 1e-9
    reopened.close()


def test_a_better_alignment_replaces_the_first(store: MemoryStore) -> None:
    store.take(frame(NOON, Pose2(1.0, 0.0, 0.0), {1: (10, 10, 40, 40)}), LABELS)
    store.reset("second", keep=True)
    store.take(frame(NOON + HOUR, Pose2(0.0, 0.0, 0.0), {4: (10, 10, 40, 40)}), LABELS)
    home = {o.kind: o.centre for o in store.objects()}
    for xyz in ((3.0, 0.0, 0.0), (4.0, 1.0, 0.0)):
        store.align("second", "home", Transform(xyz, (0.0, 0.0, 0.0, 1.0)))
    store.reset("third", keep=True, map_name="home")
    kettle, desk = (next(o.centre for o in store.objects() if o.kind == kind) for kind in ("kettle", "desk"))
    assert kettle == home["kettle"]  # this map alone has seen the desk
    x, y, z = home["desk"]
    assert desk == pytest.approx((x + 4.0, y + 1.0, z))
    assert store.recall(RecallQuery("desk"))[0].keyframe.pose.distance(Pose2(4.0, 1.0, 0.0)) < 1e-9
    with pytest.raises(StorageError, match="no map 'attic': it has home, second"):
        store.align("attic", "home", Transform.identity())
    with pytest.raises(StorageError, match="'home' cannot lie in itself"):
        store.align("home", "home", TURNED)


def test_one_thing_that_two_maps_know_is_not_missed_where_it_is_seen(store: MemoryStore) -> None:
    kettle = {1: (20, 16, 32, 30)}
    store.take(frame(NOON, boxes=kettle), LABELS)
    store.reset("second", keep=True)
    store.take(frame(NOON + HOUR, boxes=kettle), LABELS)
    store.align("second", "home", Transform.identity())
    for i in range(1, 20):
        store.take(frame(NOON + HOUR + i * SECOND, boxes=kettle), LABELS)
    assert [o.gone_ns for o in store.objects("kettle")] == [0, 0]


def test_a_place_to_forget_is_one_of_the_running_map(store: MemoryStore) -> None:
    store.take(frame(NOON, Pose2(1.0, 0.0, 0.0), {1: (10, 10, 40, 40)}), LABELS)
    store.reset("second", keep=True)
    store.take(frame(NOON + HOUR, Pose2(5.0, 5.0, 0.0), {4: (10, 10, 40, 40)}), LABELS)
    store.align("second", "home", TURNED)
    assert store.forget(ForgetSelection(near=(5.0, 5.0, 0.5))) == (1, 1)
    assert [o.kind for o in store.objects()] == ["kettle"]


def test_a_view_of_an_unknown_place_stays_in_its_own_frame(store: MemoryStore) -> None:
    there = store.take(frame(NOON, Pose2(1.0, 0.0, 0.0), {1: (10, 10, 40, 40)}), LABELS)
    store.reset("second", keep=True, map_name="barn")
    store.reset("third", keep=True, map_name="stable")
    store.align("stable", "barn", TURNED)
    assert there is not None and store.keyframe(there.id) == there


def test_the_newest_stamp_is_that_of_the_last_look(store: MemoryStore) -> None:
    for second in range(5):
        store.take(frame(NOON + second * SECOND, boxes={1: (10, 10, 40, 40)}), LABELS)
    assert len(store) == 1
    store.close()
    again = MemoryStore(store.path)
    assert again.newest_ns == NOON + 4 * SECOND and again.session_began_ns == NOON
    again.close()


def _bytes_of(store: MemoryStore) -> bytes:
    return b"".join(p.read_bytes() for p in sorted(store.path.parent.glob(store.path.name + "*")))


def test_what_was_forgotten_is_in_no_file(store: MemoryStore) -> None:
    _tour(store, NOON)
    stored = store.take(frame(NOON + HOUR, Pose2(8.0, 0.0, 0.0), {9: (10, 10, 40, 40)}), {9: SECRET})
    assert stored is not None
    before = _bytes_of(store)
    assert b"xylophone" in before and stored.jpeg[-120:] in before
    kept = len(store)
    assert store.forget(ForgetSelection(kind="xylophone")) == (1, 1)
    after = _bytes_of(store)
    assert b"xylophone" not in after and b"mauve" not in after and stored.jpeg[-120:] not in after
    assert len(store) == kept - 1
    assert store.recall(RecallQuery("xylophone")) == []
    assert store.keyframe(stored.id) is None
    assert store.objects("xylophone") == []
    again = store.take(frame(NOON + 2 * HOUR, Pose2(8.0, 0.0, 0.0), {9: (10, 10, 40, 40)}), {9: SECRET})
    assert again is not None and again.id > stored.id  # a number is never given twice


@pytest.mark.parametrize(("selection", "left"), [
    (ForgetSelection(region="bedroom"), {"kitchen", "study", "living room"}),
    (ForgetSelection(region="Kitchen"), {"bedroom", "study", "living room"}),
    (ForgetSelection(everything=True), set()),
    (ForgetSelection(after_ns=NOON, before_ns=NOON + HOUR), set()),
    (ForgetSelection(before_ns=NOON - 1), {"kitchen", "study", "living room", "bedroom"}),
])
def test_a_region_or_a_time_is_forgotten(store: MemoryStore, selection: ForgetSelection, left: set[str]) -> None:
    _tour(store, NOON)
    n = len(store)
    forgotten = store.forget(selection)
    views = store.since(0)
    assert {v.region for v in views} == left
    assert forgotten.keyframes == n - len(views)
    assert {o.keyframe_id for o in store.objects()} <= {v.id for v in views}
    assert all(store.recall(RecallQuery(v.caption, 5)) for v in views)


def test_a_place_is_forgotten_and_no_selection_is_refused(store: MemoryStore) -> None:
    _tour(store, NOON)
    store.forget(ForgetSelection(near=(2.0, 0.0, 1.0)))
    assert min(v.pose.distance(Pose2(2.0, 0.0, 0.0)) for v in store.since(0)) > 1.0
    with pytest.raises(BadQuestion, match="select what to forget"):
        store.forget(ForgetSelection())


def test_times_of_a_forgotten_span_are_told_no_more(store: MemoryStore) -> None:
    store.take(frame(NOON, boxes={1: (10, 10, 40, 40)}), LABELS)
    for i in range(1, 6):  # seen on, nothing new: no view is kept of that
        store.take(frame(NOON + i * HOUR // 2, boxes={1: (10, 10, 40, 40)}), LABELS)
    store.forget(ForgetSelection(after_ns=NOON + 1))
    assert store.objects()[0].last_ns == NOON


def test_words_name_the_time_to_forget() -> None:
    selection = within(ForgetSelection(region="bedroom"), "yesterday", NOON)
    assert selection.region == "bedroom"
    assert 0 < selection.after_ns < selection.before_ns < NOON
    with pytest.raises(BadQuestion, match="'the elephant' is not a time"):
        within(ForgetSelection(), "the elephant", NOON)


def test_a_budget_keeps_what_shows_most(tmp_path: Path) -> None:
    quick = KeyframeConfig(min_move_m=0.2, min_turn_deg=5.0)
    rng = np.random.default_rng(0)
    store = MemoryStore(tmp_path / "memory.db", MemoryConfig(keyframes=quick, budget_mb=0.5))
    noise = [rng.integers(0, 255, (48, 64, 3)).astype(np.uint8) for _ in range(8)]
    once = frame(NOON, Pose2(-9.0, 0.0, 0.0), {5: (10, 10, 40, 40)})
    store.take(once, LABELS)
    for i in range(300):
        pose = Pose2(0.25 * (i % 40), 0.5 * (i // 40), math.radians(20 * i))
        f = frame(NOON + (i + 1) * SECOND, pose, {6: (10, 10, 40, 40)})
        f.rgb[:] = noise[i % 8]
        store.take(f, LABELS)
    assert store.info()["bytes"] <= 0.525e6
    views = store.since(0)
    assert 20 < len(views) < 250 and all(v.geometry is not None for v in views)
    assert any(s.label.kind == "table lamp" for v in views for s in v.sightings)  # the only view of it stays
    cells = {(round(v.pose.x / 2), round(v.pose.y / 2)) for v in views}
    assert len(cells) >= 12  # of 19: no large part of the floor is left without a view
    assert all(o.keyframe_id in {v.id for v in views} for o in store.objects())
    store.close()


def test_a_zone_is_the_same_place_in_every_aligned_map(tmp_path: Path) -> None:
    """The kettle stands in the zone, the desk 10 m away: whichever map the robot drives in."""
    zone = MemoryConfig(privacy=PrivacyConfig(zones=(1.5, -1.0, 2.5, 1.0)))
    store = MemoryStore(tmp_path / "memory.db", zone)
    store.reset("first", map_name="home")
    store.take(frame(NOON, Pose2(10.0, 0.0, 0.0), boxes={4: (20, 16, 32, 30)}), LABELS)
    store.reset("second", keep=True, map_name="other")
    store.align("other", "home", Transform((-10.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    origin = frame(NOON + HOUR, Pose2(10.0, 0.0, 0.0), boxes={1: (20, 16, 32, 30)})  # of home
    seen = store.take(origin, LABELS)
    assert seen is not None and seen.sightings == ()
    assert [o.kind for o in store.objects()] == ["desk"]
    store.close()


def test_masks_of_kinds_image_and_zones() -> None:
    f = frame(1, boxes={1: (10, 10, 40, 40), 2: (40, 10, 60, 40)})
    same, labels = masked(f, LABELS, PrivacyConfig())
    assert same is f and labels is LABELS
    g, labels = masked(f, LABELS, PrivacyConfig(kinds=("kettles",)))
    assert 1 not in labels and not (g.labels == 1).any() and not g.rgb[10:40, 10:40].any()
    assert not g.depth_m[10:40, 10:40].any()
    assert (g.rgb[10:40, 41:60] == f.rgb[10:40, 41:60]).all()
    g, _ = masked(f, LABELS, PrivacyConfig(image=(0.5, 0.0, 1.0, 0.5)))
    assert not g.rgb[:24, 32:].any() and g.rgb[24:].any() and g.rgb[:24, :32].any()
    g, _ = masked(f, LABELS, PrivacyConfig(zones=(1.5, 0.0, 2.5, 9.0)))  # the wall to the left
    assert not g.rgb[:, :31].any() and (g.rgb[:, 33:] == f.rgb[:, 33:]).all()
    f.depth_m[:, 40:] = 0.0
    g, _ = masked(f, LABELS, PrivacyConfig(zones=(1.5, 0.0, 2.5, 9.0)))
    assert not g.rgb[:, 40:].any()  # nobody knows where that is
    for wrong in ({"zones": (1.0, 2.0, 3.0)}, {"zones": (3.0, 0.0, 1.0, 1.0)}, {"image": (0.0, 0.0, 2.0, 1.0)}):
        with pytest.raises(ConfigError, match="privacy"):
            PrivacyConfig(**wrong)  # type: ignore[arg-type]
