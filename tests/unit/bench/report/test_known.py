"""Each decision shows what was known then: its own map and view, and never the last map in silence."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace

import numpy as np
from PIL import Image

from eqa_nodes.bench.report.drawing_why import DecisionSection, why_of
from eqa_nodes.bench.report.pictures import jpeg_then, map_then
from eqa_nodes.core.types.floor import Candidate
from eqa_nodes.core.types.trace import EpisodeTrace
from tests.fixtures.synthetic_run import answers, known_until, trace


def episode() -> EpisodeTrace:
    result = answers()["q-1"]
    assert not isinstance(result, Exception) and result.trace is not None
    return result.trace


def known_cells(why: DecisionSection, row: int) -> int:
    """Return how many cells of a decision's map are known."""
    data = re.search(r'<image[^>]+href="data:image/png;base64,([^"]+)"', why.pictured[row].svg)
    assert data is not None
    return int((np.asarray(Image.open(io.BytesIO(base64.b64decode(data[1])))) > 0).sum())


def test_the_map_grows_from_decision_to_decision() -> None:
    seen = episode()
    why = why_of(seen, "q", None)
    cells = [known_cells(why, row) for row in range(3)]
    assert cells == [int((known_until(d.stamp_ns).cells >= 0).sum()) for d in seen.decisions]
    assert cells[0] < cells[1] < cells[2] and not why.final and why.ground == ""


def test_a_trace_without_moments_says_that_it_shows_the_last_map() -> None:
    why = why_of(trace("Where?", None), "q", None)
    assert why.final and all(row.final for row in why.pictured) and "<image" in why.ground


def test_a_damaged_map_is_the_last_one_and_said_to_be() -> None:
    seen = episode()
    broken = seen.moments[1].map
    assert broken is not None
    seen.moments[1] = seen.moments[1]._replace(map=broken._replace(png=b"no picture"))
    assert map_then(seen, seen.decisions[1].stamp_ns) is None
    assert [row.final for row in why_of(seen, "q", None).pictured] == [False, True, False]


def test_the_view_is_that_of_the_moment_else_one_from_about_there_else_none() -> None:
    seen = episode()
    why = why_of(seen, "q", None)
    assert all(row.view is not None and row.view.src.startswith("data:image/jpeg") and row.view.note == "" and
               row.view.width == 400 and row.view.height == 300 for row in why.pictured)
    older = replace(seen, moments=[])
    assert jpeg_then(older, older.decisions[0]) == (older.keyframes[0].jpeg, "")  # the same stamp
    near = older.decisions[0]._replace(stamp_ns=older.decisions[0].stamp_ns + 1)
    assert jpeg_then(older, near) == (older.keyframes[0].jpeg, "a remembered view from about there")
    far = near._replace(pose=near.pose._replace(x=50.0))
    assert jpeg_then(older, far) == (b"", "")


def test_the_runner_up_is_told_and_marked() -> None:
    seen = episode()
    candidates = (Candidate(2.0, 1.0, 0.5, "frontier"), Candidate(5.0, 3.0, 0.4, "look"))
    seen.decisions[0] = seen.decisions[0]._replace(reason="goes <there>; runner-up: the hall: it is farther away",
                                                   candidates=candidates)
    why = why_of(seen, "q", None)
    assert (why.pictured[0].reason, why.pictured[0].runner_up) == ("goes <there>", "the hall: it is farther away")
    assert 'class="second"' in why.pictured[0].svg and 'cx="5.00" cy="-3.00"' in why.pictured[0].svg
    assert why.runners_up and 'class="second"' not in why.pictured[1].svg
