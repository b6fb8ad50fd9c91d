"""Descriptions of things by their looks and what is beside them, and the views that show them."""

from __future__ import annotations

import math

from eqa_nodes.bench.perception.recall import BESIDE_M, PIXELS, descriptions
from eqa_nodes.bench.perception.views import MeasuredViews, views_of
from eqa_nodes.core.perception.instances import sightings


def test_a_description_fits_something_large_in_each_of_its_views() -> None:
    views = list(views_of("house:3", MeasuredViews(20, 160, 120)))
    asked = descriptions(views, 6)
    assert len(asked) == 6 == len({one.text for one in asked}) and asked == descriptions(views, 6)
    seen = [[s for s in sightings(view.frame, view.labels) if s.pixels >= PIXELS] for view in views]
    for one in asked:
        look, _, kind = one.text.removeprefix("the ").partition(" thing by the ")
        assert 0 < len(one.views) <= 6
        for number, view in enumerate(views):
            alike = [s for s in seen[number] if look == " ".join(
                s.label.attributes.get(name, "") for name in ("colour", "material"))]
            near = [s for s in alike if math.dist(s.centre, view.frame.map_from_base.xyz) < 4.0]
            kinds = {t.label.kind for s in near for every in seen for t in every
                     if math.dist(s.centre, t.centre) < 2 * BESIDE_M}
            assert number not in one.views or kind in kinds
