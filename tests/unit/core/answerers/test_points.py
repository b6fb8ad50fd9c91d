"""In which scale models point, decided once a reply and remembered of a model."""

from __future__ import annotations

import pytest

from eqa_nodes.core.answerers.vlm_views import PIXELS, SHARES, THOUSANDTHS, PointScale, point_in

SIZE = (512, 384)


def read(scale: PointScale, *points: object, size: tuple[int, int] = SIZE) -> list[tuple[float, float] | None]:
    name = scale.of([(point, size) for point in points])
    return [point_in(point, size, name) for point in points]


@pytest.mark.parametrize(("points", "size", "scale"), [
    ([[0.4, 0.37]], SIZE, SHARES), ([[1, 0.5], [0, 1.0]], SIZE, SHARES), ([], SIZE, SHARES), (["middle"], SIZE, SHARES),
    ([[400, 370]], SIZE, THOUSANDTHS), ([[400, 370], [700, 420]], SIZE, THOUSANDTHS),
    ([[400, 370], [100, 380], [500, 120], [90, 90]], SIZE, PIXELS), ([[1100, 200], [40, 90]], (1280, 960), PIXELS),
    ([[400, 370], [100, 380], [500, 120], [90, 90]], (1280, 960), THOUSANDTHS)])
def test_the_scale_is_decided_once_a_reply(points: list[object], size: tuple[int, int], scale: str) -> None:
    assert PointScale().of([(point, size) for point in points]) == scale


def test_one_point_of_a_model_that_writes_thousandths() -> None:
    assert read(PointScale(), [400, 370]) == [(0.4, 0.37)]


def test_what_a_model_writes_is_remembered() -> None:
    thousandths = PointScale()
    assert read(thousandths, [700, 420]) == [(0.7, 0.42)]
    for _ in range(3):
        assert read(thousandths, [400, 370]) == [(0.4, 0.37)]
    pixels = PointScale()
    read(pixels, [1100, 200], size=(1280, 960))
    assert read(pixels, [128, 96]) == [(0.25, 0.25)]
    assert read(pixels, [0.25, 0.5]) == [(0.25, 0.5)]


@pytest.mark.parametrize(("value", "point"), [
    ({"x": 250, "y": 500}, (0.25, 0.5)), ([[250, 500]], (0.25, 0.5)), (["25%", "50%"], (0.25, 0.5)),
    ([200, 400, 300, 600], (0.25, 0.5)), ({"x": 250}, None), ([[250], [500]], None), ([], None),
    ({"x": 1, "y": []}, None), ([2000, 3], None), ([-1, 500], None)])
def test_points_are_read_in_the_forms_that_models_write(value: object, point: tuple[float, float] | None) -> None:
    assert point_in(value, SIZE, THOUSANDTHS) == point
