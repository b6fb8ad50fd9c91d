"""A map as a picture keeps what a report shows of it; what is no such picture is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.mapping.map_picture import grid_of, picture_of
from eqa_nodes.core.types.moments import KnownMap
from tests.fixtures.synthetic_run import grid


def test_a_map_is_the_same_after_a_picture() -> None:
    before = grid()
    picture = picture_of(before)
    after = grid_of(picture, before.stamp_ns)
    assert np.array_equal(after.cells, before.cells)
    assert np.array_equal(after.explored, before.explored & (before.cells == 0))
    assert (after.origin, after.resolution_m, after.z, after.stamp_ns) == (
        before.origin, before.resolution_m, before.z, before.stamp_ns)
    assert len(picture.png) < 1500  # one for each decision and keyframe is kept
    assert picture == picture_of(before)


def png(mode: str) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, (4, 4)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize("data", [b"", b"no picture", png("RGB"), picture_of(grid()).png[:60]])
def test_what_is_no_map_is_refused(data: bytes) -> None:
    with pytest.raises(BadFrame, match="map"):
        grid_of(KnownMap(0.1, (0.0, 0.0), data))
