"""Moments hold the newest map and image until then, also where those are recorded after the decision."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image

from eqa_nodes.core.mapping.map_picture import grid_of
from eqa_nodes.core.types.trace import VIEW_PX
from eqa_nodes.recordings.bags.trace import Moments

SECOND = 1_000_000_000


def header(stamp_ns: int) -> Any:
    return SimpleNamespace(stamp=SimpleNamespace(sec=stamp_ns // SECOND, nanosec=stamp_ns % SECOND))


def grid(stamp_ns: int, free: int) -> Any:
    """Return a map of 10 cells with that many free ones."""
    origin = SimpleNamespace(position=SimpleNamespace(x=1.0, y=2.0, z=0.0))
    info = SimpleNamespace(height=2, width=5, resolution=0.1, origin=origin)
    return SimpleNamespace(header=header(stamp_ns), info=info, data=np.array([0] * free + [-1] * (10 - free), np.int8))


def image(stamp_ns: int, grey: int) -> Any:
    buffer = io.BytesIO()
    Image.new("RGB", (800, 600), (grey, grey, grey)).save(buffer, "JPEG")
    return SimpleNamespace(header=header(stamp_ns), format="jpeg", data=buffer.getvalue())


def free_in(moment: Any) -> int:
    return int((grid_of(moment.map).cells == 0).sum())


def test_a_moment_has_the_map_and_the_view_of_its_stamp() -> None:
    moments = Moments()
    moments.hear("map", grid(1 * SECOND, 1))
    moments.hear("color", image(2 * SECOND, 40))
    moments.note(2 * SECOND, looked=True)
    moments.hear("map", grid(2 * SECOND, 2))  # recorded late
    moments.hear("map", grid(3 * SECOND, 3))
    moments.hear("color", image(3 * SECOND, 200))
    moments.note(3 * SECOND, looked=False)
    first, second = moments.all()
    assert (free_in(first), free_in(second)) == (2, 3)
    seen = Image.open(io.BytesIO(first.view))
    assert seen.size == (VIEW_PX, VIEW_PX * 3 // 4) and abs(seen.getpixel((5, 5))[0] - 40) < 4
    assert second.view == b"" and [first.stamp_ns, second.stamp_ns] == [2 * SECOND, 3 * SECOND]


def test_a_keyframe_of_the_same_stamp_is_the_view() -> None:
    moments = Moments()
    moments.hear("color", image(SECOND, 40))
    moments.note(SECOND, looked=True)
    moments.note(SECOND, looked=False)
    [one] = moments.all()
    assert one.view == b"" and one.map is None


def test_many_moments_are_closed_one_after_the_other() -> None:
    moments = Moments()
    for k in range(1, 30):
        moments.hear("map", grid(k * SECOND, k % 10))
        moments.note(k * SECOND, looked=True)
    assert [free_in(moment) for moment in moments.all()] == [k % 10 for k in range(1, 30)]


def test_an_image_that_nobody_can_read_is_no_view() -> None:
    moments = Moments()
    moments.hear("color", SimpleNamespace(header=header(SECOND), format="jpeg", data=b"no image"))
    moments.note(SECOND, looked=True)
    assert moments.all()[0].view == b""
