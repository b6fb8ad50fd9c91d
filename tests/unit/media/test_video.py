"""A history as a video: every frame in its time, with an inset that follows the way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import MissingExtra, StorageError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.media.video import Inset, drawn, write_video
from tests.fixtures.frames import frame

W, H = 320, 240
av = pytest.importorskip("av", reason="PyAV is not installed: pip install 'eqa-nodes[video]'")


def _frames(count: int, size: tuple[int, int] = (W, H)) -> Iterator[Frame]:
    """Frames each a quarter of a second and a gap of two seconds after the third; the grey tells the number."""
    width, height = size
    for i in range(count):
        rgb = np.full((height, width, 3), 40 + 8 * i, np.uint8)
        stamp = 10**9 + 250_000_000 * i + 2 * 10**9 * (i > 2)
        yield replace(frame(stamp, Pose2(0.2 * i, 0.1 * i, 0.3 * i)), rgb=rgb,
                      depth_m=np.ones((height, width), np.float32),
                      intrinsics=Intrinsics(width, height, 100.0, 100.0, width / 2, height / 2))


def _read(path: Path) -> list[tuple[float, np.ndarray]]:
    with av.open(str(path)) as container:
        return [(float(f.pts * f.time_base), f.to_ndarray(format="rgb24")) for f in container.decode(video=0)]


def test_every_frame_is_shown_in_its_time(tmp_path: Path) -> None:
    told: list[int] = []
    assert write_video(_frames(12), tmp_path / "new" / "tour.mp4", told.append) == 12 and told == list(range(1, 13))
    shown = _read(tmp_path / "new" / "tour.mp4")
    assert [s for s, _ in shown] == pytest.approx([0.25 * i + 2.0 * (i > 2) for i in range(12)], abs=1e-4)
    greys = [float(pixels[100:180, 20:150].mean()) for _, pixels in shown]
    assert greys == pytest.approx([40 + 8 * i for i in range(12)], abs=3)
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["tour.mp4"]


def test_odd_and_changing_sizes_are_fitted(tmp_path: Path) -> None:
    mixed = [*_frames(2, (321, 241)), *(replace(f, stamp_ns=f.stamp_ns + 9 * 10**9) for f in _frames(2, (160, 120)))]
    assert write_video(mixed, tmp_path / "a.mp4") == 4
    assert {pixels.shape for _, pixels in _read(tmp_path / "a.mp4")} == {(240, 320, 3)}


def test_stamps_that_come_twice_are_shown_one_after_the_other(tmp_path: Path) -> None:
    still = [replace(f, stamp_ns=5) for f in _frames(3)]
    assert write_video(still, tmp_path / "a.mp4") == 3
    assert len(_read(tmp_path / "a.mp4")) == 3


def test_frames_are_taken_one_at_a_time(tmp_path: Path) -> None:
    alive: list[int] = []

    def counted() -> Iterator[Frame]:
        for i, f in enumerate(_frames(8)):
            alive.append(i)
            yield f

    write_video(counted(), tmp_path / "a.mp4", lambda written: alive.append(-written))
    assert max(abs(a) for a in alive if a <= 0) == 8 and alive.index(-1) <= 2  # written before the next but one is read


def test_the_inset_shows_the_way_to_scale() -> None:
    inset, frames = Inset(), list(_frames(3))
    for at in ((0.0, 0.0, 0.0), (3.0, 0.0, 0.0), (3.0, 4.0, np.pi / 2)):
        inset.move(replace(frames[0], map_from_base=Pose2(*at).transform()))
    view = np.asarray(inset.view(200))[..., :3].astype(int)
    blue = np.argwhere(np.abs(view - (14, 165, 233)).sum(axis=2) < 30)
    scale = 200 * 0.76 / 4.0  # pixels a metre: four metres fill what the margins leave
    assert np.ptp(blue[:, 0]) == pytest.approx(4 * scale, abs=12)
    assert np.ptp(blue[:, 1]) == pytest.approx(3 * scale, abs=4)
    red = np.argwhere(np.abs(view - (225, 29, 72)).sum(axis=2) < 30).mean(axis=0)
    assert red[0] < 50 and red[1] > 140  # the robot is at the top right: y up, x to the right
    bar = np.argwhere(view[185:195].max(axis=2) < 60)
    assert np.ptp(bar[:, 1]) == pytest.approx(2.0 * scale, abs=3)  # the bar says 2 m


def test_a_long_way_keeps_its_ends_and_a_bounded_number_of_points() -> None:
    inset, f = Inset(), next(_frames(1))
    for i in range(9000):
        inset.move(replace(f, map_from_base=Pose2(0.01 * i, 0.0, 0.0).transform()))
    assert len(inset.path) <= 2001 and inset.path[0] == (0.0, 0.0) and inset.path[-1][0] == pytest.approx(89.99)
    assert max(np.diff([x for x, _ in inset.path])) < 0.2


@pytest.mark.parametrize("size", [(480, 640), (160, 120), (240, 426), (1920, 1080)])
def test_the_text_ends_within_the_image_of_any_shape(size: tuple[int, int]) -> None:
    white = np.full((size[1], size[0], 3), 255, np.uint8)
    f = replace(next(_frames(1, size)), stamp_ns=1_700_000_000 * 10**9, rgb=white)
    pixels = drawn(f, 10_000, f.stamp_ns - 1000 * 10**9, Inset())
    text = pixels[-size[1] // 5:].max(axis=2) < 140
    assert text.any() and not text[:, -2:].any()


@pytest.mark.parametrize(("frames", "complaint"), [([], "no usable frame"), (None, "exists already")])
def test_what_cannot_be_written_is_named(tmp_path: Path, frames: Any, complaint: str) -> None:
    if frames is None:
        (tmp_path / "a.mp4").write_bytes(b"mine")
    with pytest.raises(StorageError, match=complaint):
        write_video(_frames(1) if frames is None else frames, tmp_path / "a.mp4")
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([b"mine"] if frames is None else [])


def test_a_reading_that_fails_leaves_no_half_video(tmp_path: Path) -> None:
    def broken() -> Iterator[Frame]:
        yield from _frames(3)
        raise StorageError("the bag ends here")

    with pytest.raises(StorageError, match="the bag ends here"):
        write_video(broken(), tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())


def test_without_pyav_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtra, match=r"pip install 'eqa-nodes\[video\]'"):
        write_video(_frames(1), tmp_path / "a.mp4")


def test_the_command_writes_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa

    write_openeqa(_frames(4), tmp_path / "tour")
    assert main(["history", "video", str(tmp_path / "tour"), str(tmp_path / "tour.mp4")]) == 0
    assert "tour.mp4, 4 frames" in capsys.readouterr().out.replace("\n", "")
    assert len(_read(tmp_path / "tour.mp4")) == 4
