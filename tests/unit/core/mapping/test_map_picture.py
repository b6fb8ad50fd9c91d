"""A map as a picture keeps what a report shows of it; what is no such picture is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.mapping.map_picture import grid_of, picture_of
from eqa_nodes.core.types.trace import KnownMap
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


def png(mode: str, width: int = 4, height: int = 4, value: int = 0) -> bytes:
    buffer = io.BytesIO()
    image = Image.new(mode, (width, height), value)
    if mode == "P":
        image.putpalette(list(range(256)) * 3)
    image.save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize("data", [b"", b"no picture", png("RGB"), picture_of(grid()).png[:60]])
def test_what_is_no_map_is_refused(data: bytes) -> None:
    with pytest.raises(BadFrame, match="map"):
        grid_of(KnownMap(0.1, (0.0, 0.0), data))


def test_a_foreign_map_has_at_most_16_million_cells() -> None:
    assert grid_of(KnownMap(0.1, (0.0, 0.0), png("P", 4096, 4096))).cells.shape == (4096, 4096)
    with pytest.raises(BadFrame, match="mode P with 4097 x 4096 pixels"):
        grid_of(KnownMap(0.1, (0.0, 0.0), png("P", 4097, 4096)))


@pytest.mark.parametrize(("kind", "cell", "explored"), [(0, -1, False), (1, 0, False), (2, 0, True), (3, 100, False),
                                                        (4, -1, False), (255, -1, False)])
def test_a_kind_of_cell_that_is_not_known_is_unknown_floor(kind: int, cell: int, explored: bool) -> None:
    found = grid_of(KnownMap(0.1, (0.0, 0.0), png("P", value=kind)))
    assert (found.cells == cell).all() and (found.explored == explored).all()
