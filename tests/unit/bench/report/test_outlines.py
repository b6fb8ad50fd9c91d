"""A picture that shows little of what it is to prove says so."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.report.page import CardImage
from eqa_nodes.bench.report.pictures import Outline, placed

WHOLE, CUT, SMALL = Outline("lamp", 40, 40, 20, 20), Outline("lamp", 97, 50, 3, 8), Outline("lamp", 50, 50, 3, 4)


@pytest.mark.parametrize(("outlines", "said"), [
    ((WHOLE,), ""), ((), ""), ((CUT,), "only a part of it is in the picture"), ((SMALL,), "it is small in the picture"),
    ((CUT, WHOLE), ""), ((SMALL, WHOLE), "")])
def test_weak_evidence_says_so(outlines: tuple[Outline, ...], said: str) -> None:
    assert CardImage("data:", "lamp", True, outlines).weak == said


def overlap(a: Outline, b: Outline) -> bool:
    (left, top, right, bottom), (x0, y0, x1, y1) = a.label, b.label
    return left < x1 and x0 < right and top < y1 and y0 < bottom


@given(st.lists(st.tuples(st.sampled_from(("cup", "dining table", "chair")), st.floats(0, 95), st.floats(0, 95),
                          st.floats(0.5, 60), st.floats(0.5, 60)), max_size=6))
def test_names_never_lie_over_each_other_or_outside(boxes: list[tuple[str, float, float, float, float]]) -> None:
    done = placed([Outline(*box) for box in boxes])
    assert [one[:5] for one in done] == boxes
    named = [one for one in done if one.named]
    assert not any(overlap(a, b) for a, b in combinations(named, 2))
    assert all(one.label[0] >= 0 and one.label[2] <= 100 and one.label[1] >= 0 and one.label[3] <= 100 for one in named)


def test_a_name_does_not_cover_a_small_object() -> None:
    [small], [large] = placed([SMALL]), placed([WHOLE._replace(height=40)])
    assert small.outside and small.label[3] <= small.top and not large.outside
