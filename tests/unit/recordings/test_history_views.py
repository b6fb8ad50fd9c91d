"""Which views of a history are chosen, that they are found again in it, and that nothing is read twice."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.memory import MemoryConfig
from eqa_nodes.core.memory.keyframes import KeyframeConfig, evenly
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.views import Label
from eqa_nodes.recordings.episode_history import EpisodeHistory, FramesAlone, RecordedFrame
from eqa_nodes.recordings.history_views import POLICIES, FramePosition, HistoryViews, ViewSelection, open_views
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
SEEING = sorted(set(POLICIES) - {"none"})


class Walk(FramesAlone):
    """Frames a second apart, half a metre on from each other; things in view by frame. Every seventh image is lost."""

    name = "walk"

    def __init__(self, count: int, objects: Mapping[int, int] | None = None,
                 labels: Mapping[int, Label] | None = None) -> None:
        self.count, self.objects, self.labels = count, objects or {}, LABELS if labels is None else labels
        self.dropped: Counter[str] = Counter()
        self.passes = 0

    def __len__(self) -> int:
        return self.count

    def recorded(self) -> Iterator[RecordedFrame]:
        self.passes += 1
        self.dropped = Counter()
        for i in range(self.count):
            if i % 7 == 6:
                self.dropped["the pose was lost"] += 1
                continue
            boxes = {self.objects[i]: (10, 10, 40, 40)} if i in self.objects else {}
            yield RecordedFrame(i, i * SECOND + 5, frame((i + 1) * SECOND, Pose2(0.6 * i, 0.0, 0.0), boxes))


def views_of(history: EpisodeHistory, cache: Path, selection: ViewSelection) -> HistoryViews:
    return open_views("walk", {"count": len(history)}, lambda: history, selection, cache)


def asking(text: str = "What colour is the kettle?") -> Question:
    return Question(text)


@given(st.integers(0, 400), st.integers(1, 60))
def test_k_frames_are_k_frames_evenly_spaced(count: int, k: int) -> None:
    chosen = evenly(count, k)
    assert len(chosen) == min(count, k) and chosen == sorted(set(chosen)) and chosen[:1] == [0][:count]
    if count > k > 1:
        steps = np.diff(chosen)
        assert chosen[-1] == count - 1 and steps.max() - steps.min() <= 1


def test_frames_between_two_are_rounded_down() -> None:
    assert (evenly(100, 4), evenly(6, 3), evenly(5, 1)) == ([0, 33, 66, 99], [0, 2, 5], [0])


@pytest.mark.parametrize("jump_s", [3600, 86400 * 365, -5, -3600])
def test_eight_of_a_walk_whose_clock_was_set_are_eight(tmp_path: Path, jump_s: int) -> None:
    class Jumped(Walk):
        def recorded(self) -> Iterator[RecordedFrame]:
            for r in super().recorded():
                late = r.index >= 10
                yield replace(r, frame=replace(r.frame, stamp_ns=r.frame.stamp_ns + (10**13 + jump_s * 10**9) * late))

    views = views_of(Jumped(30), tmp_path, ViewSelection("uniform", 8))
    assert len({i.keyframe.stamp_ns for i in views.items(asking())}) == 8


@pytest.mark.parametrize("frames", SEEING)
def test_views_are_found_again_in_the_recording(frames: str, tmp_path: Path) -> None:
    history = Walk(40, {3: 1, 21: 6, 33: 1})
    views = views_of(history, tmp_path, ViewSelection(frames, 8, labels=True))
    items = views.items(asking())
    by_index = {r.index: r for r in history.recorded()}
    assert 0 < len(items) <= 8
    for item in items:
        spot = views.kept.spots[str(item.keyframe.id)]
        original = by_index[spot.frame]
        assert (item.keyframe.stamp_ns, item.keyframe.map_from_base, spot.offset_ns) == (
            original.frame.stamp_ns, original.frame.map_from_base, original.offset_ns)
    assert (views.kept.frames, views.kept.dropped) == (35, {"the pose was lost": 5})
    assert [stamp for stamp, _ in views.kept.way] == [r.frame.stamp_ns for r in by_index.values()]
    views.close()


def test_uniform_shows_every_question_the_same(tmp_path: Path) -> None:
    views = views_of(Walk(40), tmp_path, ViewSelection("uniform", 5))
    items = views.items(asking())
    assert [views.kept.spots[str(i.keyframe.id)].frame for i in items] == [0, 9, 19, 29, 39]
    assert items == views.items(asking("Where is the sofa?"))
    assert items[0].why == "1 of 5 of 35 frames, evenly spaced"


def test_recalled_shows_what_the_words_mean(tmp_path: Path) -> None:
    views = views_of(Walk(40, {3: 1, 21: 6, 33: 1}), tmp_path, ViewSelection("recalled", 2, labels=True))

    def frames(text: str) -> list[int]:
        return sorted(views.kept.spots[str(i.keyframe.id)].frame for i in views.items(asking(text)))

    assert frames("What colour is the kettle?") == [3, 33]
    assert frames("Is the sofa green?") == [21]
    views.close()


def test_objects_tell_what_memory_knows_of_the_things_asked_about(tmp_path: Path) -> None:
    views = views_of(Walk(40, {3: 1, 21: 6, 33: 3}), tmp_path, ViewSelection("objects", 2, labels=True))
    kettle, = views.items(asking("What colour is the kettle?"))
    assert kettle.keyframe.caption.startswith(
        "kettle (colour red, relation on, state on, support counter) in the kitchen at (")
    assert views.kept.spots[str(kettle.keyframe.id)].frame == 3
    assert views.items(asking("Where is the helicopter?")) == []
    views.close()
    views_of(Walk(40, {3: 1, 21: 6, 33: 3}), tmp_path, ViewSelection("recalled", 9, labels=True)).close()
    assert len(list(tmp_path.iterdir())) == 1  # the same memory serves both


def test_kept_are_evenly_spaced_views_that_memory_found_new(tmp_path: Path) -> None:
    history = Walk(40)
    every = views_of(history, tmp_path, ViewSelection("kept", 1000)).items(asking())
    some = views_of(history, tmp_path, ViewSelection("kept", 4)).items(asking("Where is the sofa?"))
    ids = [item.keyframe.id for item in every]
    assert len(ids) > 4 == len(some) and ids == sorted(ids)
    assert some[0].keyframe == every[0].keyframe and some[-1].keyframe == every[-1].keyframe


def test_who_is_blind_reads_nothing(tmp_path: Path) -> None:
    history = Walk(40)
    views = views_of(history, tmp_path, ViewSelection("none"))
    assert (views.items(asking()), views.kept.frames, history.passes) == ([], 0, 0)


def test_what_is_private_is_in_no_view(tmp_path: Path) -> None:
    hidden = MemoryConfig(privacy=PrivacyConfig(kinds=("kettle",)))
    for frames in ("uniform", "recalled"):
        views = views_of(Walk(20, {3: 1, 5: 6}), tmp_path, ViewSelection(frames, 20, True, hidden))
        kinds = {s.label.kind for item in views.items(asking("Is the sofa near the kettle?"))
                 for s in item.keyframe.sightings}
        assert kinds == {"sofa"}
        views.close()


@pytest.mark.parametrize("frames", SEEING)
def test_a_history_is_read_once(frames: str, tmp_path: Path) -> None:
    history, selection = Walk(20, {3: 1}), ViewSelection(frames, 4, labels=True)
    first = views_of(history, tmp_path, selection)
    passes = history.passes
    again = views_of(history, tmp_path, selection)
    assert history.passes == passes > 0
    assert (again.kept, again.items(asking())) == (first.kept, first.items(asking()))
    first.close()
    again.close()
    folder, = tmp_path.iterdir()  # nothing unfinished stays
    for other in (selection._replace(k=5), selection._replace(memory=MemoryConfig(KeyframeConfig(jpeg_quality=60))),
                  selection._replace(memory=MemoryConfig(KeyframeConfig(jpeg_quality=50)))):
        views_of(history, tmp_path, other).close()
    assert len(list(tmp_path.iterdir())) == (4 if frames in ("uniform", "random") else 3)  # one memory serves every K
    (folder / "views.json").unlink()  # as a process leaves it that was killed
    shutil.move(folder, folder.with_name(f"{folder.name}.part-1"))
    assert views_of(history, tmp_path, selection).kept == first.kept


def test_a_robot_has_no_labels(tmp_path: Path) -> None:
    for frames in ("uniform", "recalled"):
        views = views_of(Walk(20, {3: 1}), tmp_path, ViewSelection(frames, 9))
        assert not any(item.keyframe.sightings for item in views.items(asking()))
        views.close()
    with pytest.raises(ConfigError, match="walk has no labels.*--answerer vlm"):
        views_of(Walk(21, labels={}), tmp_path, ViewSelection("uniform", labels=True))


def test_what_cannot_be_shown_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown choice of frames 'best': known are days, kept, none, objects, "
                                          "random"):
        views_of(Walk(3), tmp_path, ViewSelection("best"))
    with pytest.raises(ConfigError, match="'objects' show things .* choose recalled or uniform"):
        views_of(Walk(3), tmp_path, ViewSelection("objects"))
    with pytest.raises(ConfigError, match="k is 0"):
        views_of(Walk(3), tmp_path, ViewSelection("uniform", 0))
    for frames in ("uniform", "recalled"):
        with pytest.raises(StorageError, match="walk has no usable frame"):
            views_of(Walk(0), tmp_path, ViewSelection(frames))
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        views_of(Walk(3), tmp_path / "file", ViewSelection("uniform"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_stamps_that_go_back_are_refused_by_the_memory_and_counted(tmp_path: Path) -> None:
    class Back(Walk):
        def recorded(self) -> Iterator[RecordedFrame]:
            for r in super().recorded():
                yield r if r.index != 2 else RecordedFrame(2, r.offset_ns, replace(r.frame, stamp_ns=7))

    kept = views_of(Back(5), tmp_path, ViewSelection("recalled")).kept
    assert sum(n for why, n in kept.dropped.items() if "goes back in time" in why) == 1
    assert FramePosition(2, 2 * SECOND + 5) not in kept.spots.values()


def test_a_long_way_is_thinned_for_drawing(tmp_path: Path) -> None:
    way = views_of(Walk(1500), tmp_path, ViewSelection("uniform", 3)).kept.way
    assert 500 < len(way) <= 1000
