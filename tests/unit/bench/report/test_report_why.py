"""Why did it go there: a picture and a sentence for each decision, true to the trace and bounded in number and size."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eqa_nodes.bench.report.drawing_why import SHOWN, DecisionSection, why_of
from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.report.pictures import jpeg_then, map_then
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.mapping.map_picture import palette_png
from eqa_nodes.core.types.floor import Candidate
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import EpisodeResult
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from tests.fixtures.scripted_runner import ScriptedRunner
from tests.fixtures.synthetic_run import answers, known_until, path, samples, trace

ANSWER = Answer("here", receipt=Receipt(steps=40))
MARKS = (*(Candidate(1.0 + 0.5 * k, 1.0, 0.7, "kitchen") for k in range(4)), Candidate(6.0, 2.5, 0.9, "study"),
         Candidate(2.0, 1.2, 0.8, "value"))


def many(count: int, **fields: object) -> EpisodeTrace:
    """Return an episode of `count` decisions along the path."""
    poses = path()
    stops = [poses[k * (len(poses) - 1) // max(1, count - 1)] for k in range(count)]
    decisions = [TraceDecision(stamp, pose, Pose2(5.0, 2.8, 0.5), f"reason <{k}>",
                               (Candidate(3.0, 1.0, 150.0, "frontier"), Candidate(4.8, 2.8, 75.0, "snapshot")))
                 for k, (stamp, pose) in enumerate(stops, 1)]
    return replace(trace("Where?", ANSWER), decisions=[d._replace(**fields) for d in decisions])  # type: ignore[arg-type]


def drawn(why: DecisionSection, number: int) -> ElementTree.Element:
    """Return a picture as parsed XML."""
    return ElementTree.fromstring(next(c.svg for c in why.pictured if c.number == number))


@given(st.integers(0, 300))
def test_every_decision_is_told_once_and_the_first_and_the_last_are_pictured(count: int) -> None:
    decisions = [TraceDecision(0, Pose2(0, 0, 0), None, str(k)) for k in range(count)]
    why = why_of(EpisodeTrace(poses=[(0, Pose2(0, 0, 0))], decisions=decisions), "q", None)
    pictured = [c.number for c in why.pictured]
    assert len(pictured) == min(count, SHOWN)
    assert sorted(pictured + [c.number for c in why.others]) == list(range(1, count + 1))
    if count:
        assert pictured == sorted(pictured) and pictured[-1] == count
        assert pictured[:3] == list(range(1, count + 1))[:3]
        gaps = np.diff(pictured[3:])
        assert count <= SHOWN or gaps.max() - gaps.min() <= 1


def test_a_picture_shows_robot_goal_candidates_and_way() -> None:
    why = why_of(many(4), "q1-ground", (7.4, 5.2))
    picture = drawn(why, 3)
    assert picture.find("use").get("href") == "#q1-ground"  # type: ignore[union-attr]
    assert 'id="q1-ground"' in why.ground and why.ground.count("<image") == 1
    classes = [e.get("class") for e in picture.iter()]
    assert {"robot", "aim", "leg", "way", "target"} <= set(classes)
    frontier, snapshot = picture.find("circle[@class='candidate']"), picture.find("rect[@class='candidate']")
    assert frontier is not None and snapshot is not None
    assert float(frontier.get("r", 0)) > float(snapshot.get("width", 0)) / 2 > 0
    assert float(frontier.get("fill-opacity", 0)) == 1.0 and frontier.find("title").text == "frontier, weight 150"  # type: ignore[union-attr]
    assert [k.name for k in why.kinds] == ["frontier", "snapshot"]
    nose = picture.find("polygon[@class='robot']").get("points").split()[0]  # type: ignore[union-attr]
    pose = many(4).decisions[2].pose
    x, y = (float(v) for v in nose.split(","))
    assert np.arctan2(-y - pose.y, x - pose.x) == pytest.approx(pose.yaw, abs=0.05)


def test_steps_metres_and_way_are_those_up_to_the_decision() -> None:
    episode, poses = many(5), path()
    why = why_of(episode, "q", None)
    for choice, decision in zip(why.pictured, episode.decisions, strict=True):
        before = [pose for stamp, pose in poses if stamp <= decision.stamp_ns]
        assert choice.steps == len(before) - 1
        assert choice.metres == pytest.approx(sum(a.distance(b) for a, b in pairwise(before)))
        way = drawn(why, choice.number).find("polyline[@class='way']")
        assert (way is None) == (len(before) == 1)
        if way is not None:
            end = [float(v) for v in way.get("points", "").split()[-1].split(",")]
            assert end == pytest.approx([decision.pose.x, -decision.pose.y], abs=0.006)
    robot = why_of(replace(episode, answer=Answer("here")), "q", None)  # a robot on a floor counts no steps
    assert {c.steps for c in robot.pictured} == {None} and robot.pictured[-1].metres == why.pictured[-1].metres


def test_regions_are_named_and_values_painted() -> None:
    plain, marked = why_of(many(1), "q", None), why_of(many(1, marks=MARKS), "q", None)
    assert not plain.regions and not plain.values and marked.regions and marked.values
    texts = [t.text for t in drawn(marked, 1).iter("text")]
    assert texts == ["kitchen", "study"]  # the larger region first
    assert plain.pictured[0].svg.count("<image") == 0 and marked.pictured[0].svg.count("<image") == 2
    tint, heat = (np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))
                  for data in re.findall(r"base64,([^\"]+)", marked.pictured[0].svg))
    grid = many(1).grid
    assert grid is not None
    floor = (grid.cells == 0)[::-1]
    assert not tint[~floor, 3].any() and not heat[~floor, 3].any()
    row, column = grid.cells.shape[0] - 1 - round((1.2 + 0.5) / 0.1), round((2.0 + 0.5) / 0.1)
    assert heat[row, column, 3] > 100 and tint[row, column, 3] > 0


def test_names_that_would_lie_over_each_other_are_moved_or_left_out() -> None:
    crowd = tuple(Candidate(5.0 + 0.01 * k, 2.5, 0.5, name) for k, name in enumerate(("a room", "b room", "c room",
                                                                                      "d room", "e room")))
    texts = list(drawn(why_of(many(1, marks=crowd), "q", None), 1).iter("text"))
    heights = [float(t.get("y", 0)) for t in texts]
    assert len(texts) == 3 and np.diff(sorted(heights)).min() >= 0.4


def test_nowhere_left_to_go_and_no_map() -> None:
    why = why_of(replace(many(2, goal=None), grid=None), "q", None)
    assert "aim" not in why.pictured[0].svg and "<image" not in why.ground and "robot" in why.pictured[0].svg
    blank = EpisodeTrace(decisions=[TraceDecision(0, Pose2(0, 0, 0), None, "nowhere to go")])
    assert [(c.reason, c.svg) for c in why_of(blank, "q", None).others] == [("nowhere to go", "")]


def test_palette_pictures_keep_colours_and_opacity() -> None:
    cells = np.array([[0, 1], [2, 1]])
    pixels = np.asarray(Image.open(io.BytesIO(palette_png(cells, [(1, 2, 3, 0), (9, 8, 7, 200), (5, 5, 5, 255)])))
                        .convert("RGBA"))
    assert pixels[1, 0].tolist()[3] == 0 and pixels[1, 1].tolist() == [9, 8, 7, 200]
    assert pixels[0, 0].tolist() == [5, 5, 5, 255]


def run_of(out: Path, episode: EpisodeTrace) -> Path:
    """Return a run of one question."""
    result = EpisodeResult("q-1", ANSWER, None, episode)
    run_benchmark(samples()[:1], ScriptedRunner({"q-1": result}, {"q-1": Answer("there")}), out)
    return out


def test_a_page_of_many_decisions_stays_small_and_escapes_reasons(tmp_path: Path) -> None:
    page = write_report(run_of(tmp_path, many(150, marks=MARKS))).read_text()
    assert page.count('class="why-map"') == SHOWN and page.count("<li value=") == 150 - SHOWN
    assert "reason &lt;150&gt;" in page and "reason <" not in page
    assert "Why did it go there?" in page and "drawn on the final map" in page
    assert len(page) < 1_200_000


def test_refused_frames_are_noted_and_shown(tmp_path: Path) -> None:
    out = run_of(tmp_path / "bad", replace(many(1), refused={"memory": 2, "mapper": 3}))
    assert read_predictions(out).predictions["q-1"].note == (
        "3 frames refused by the mapper, 2 frames refused by the memory")
    assert "3 frames refused by the mapper" in write_report(out).read_text()
    good = run_of(tmp_path / "good", many(1))
    assert read_predictions(good).predictions["q-1"].note == "" and "refused" not in write_report(good).read_text()


def answered() -> EpisodeTrace:
    result = answers()["q-1"]
    assert not isinstance(result, Exception) and result.trace is not None
    return result.trace


def known_cells(why: DecisionSection, row: int) -> int:
    """Return how many cells of a decision's map are known."""
    data = re.search(r'<image[^>]+href="data:image/png;base64,([^"]+)"', why.pictured[row].svg)
    assert data is not None
    return int((np.asarray(Image.open(io.BytesIO(base64.b64decode(data[1])))) > 0).sum())


def test_the_map_grows_from_decision_to_decision() -> None:
    seen = answered()
    why = why_of(seen, "q", None)
    cells = [known_cells(why, row) for row in range(3)]
    assert cells == [int((known_until(d.stamp_ns).cells >= 0).sum()) for d in seen.decisions]
    assert cells[0] < cells[1] < cells[2] and not why.final and why.ground == ""


def test_a_trace_without_moments_says_that_it_shows_the_last_map() -> None:
    why = why_of(trace("Where?", None), "q", None)
    assert why.final and all(row.final for row in why.pictured) and "<image" in why.ground


def test_a_damaged_map_is_the_last_one_and_said_to_be() -> None:
    seen = answered()
    broken = seen.moments[1].map
    assert broken is not None
    seen.moments[1] = seen.moments[1]._replace(map=broken._replace(png=b"no picture"))
    assert map_then(seen, seen.decisions[1].stamp_ns) is None
    assert [row.final for row in why_of(seen, "q", None).pictured] == [False, True, False]


def test_the_view_is_that_of_the_moment_else_one_from_about_there_else_none() -> None:
    seen = answered()
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
    seen = answered()
    candidates = (Candidate(2.0, 1.0, 0.5, "frontier"), Candidate(5.0, 3.0, 0.4, "look"))
    seen.decisions[0] = seen.decisions[0]._replace(reason="goes <there>; runner-up: the hall: it is farther away",
                                                   candidates=candidates)
    why = why_of(seen, "q", None)
    assert (why.pictured[0].reason, why.pictured[0].runner_up) == ("goes <there>", "the hall: it is farther away")
    assert 'class="second"' in why.pictured[0].svg and 'cx="5.00" cy="-3.00"' in why.pictured[0].svg
    assert why.runners_up and 'class="second"' not in why.pictured[1].svg
