"""A picture that shows little of what it is to prove says so."""

from __future__ import annotations

import pytest

from eqa_nodes.bench.report.outlines import Outline
from eqa_nodes.bench.report.page import CardImage

WHOLE, CUT, SMALL = Outline("lamp", 40, 40, 20, 20), Outline("lamp", 97, 50, 3, 8), Outline("lamp", 50, 50, 3, 4)


@pytest.mark.parametrize(("outlines", "said"), [
    ((WHOLE,), ""), ((), ""), ((CUT,), "only a part of it is in the picture"), ((SMALL,), "it is small in the picture"),
    ((CUT, WHOLE), ""), ((SMALL, WHOLE), "")])
def test_weak_evidence_says_so(outlines: tuple[Outline, ...], said: str) -> None:
    assert CardImage("data:", "lamp", True, outlines).weak == said
