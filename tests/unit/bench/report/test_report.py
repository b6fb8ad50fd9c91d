"""The report shows every episode, escapes what people wrote, and loads nothing from anywhere."""

from __future__ import annotations

import io
import json
import math
import re
import shutil
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import read_scores, score_run
from eqa_nodes.bench.report import page as report
from eqa_nodes.bench.report.drawing import confidence_svg, grid_png, map_svg, path_colour
from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.report.tables import headline
from eqa_nodes.bench.report.traces import last_view, load_trace, save_trace, trace_since
from eqa_nodes.bench.running.manifest import MANIFEST, read_manifest
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Evidence, ViewAssessment
from eqa_nodes.core.types.trace import EpisodeTrace
from tests.fixtures.synthetic_run import answers, make_run, path, plain, trace

PARTS = {"#list", "#numbers", "#cost"}  # of the page, which it links to at its top


class Elements(HTMLParser):
    """Counts elements, collects addresses, and notices what is not closed."""

    VOID = frozenset(("meta", "img", "line", "circle", "polyline", "polygon", "image", "path", "br", "use", "rect"))

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href")]
        if not (self.get_starttag_text() or "").endswith("/>") and tag not in ("meta", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID or (self.open and self.open[-1] == tag):
            assert self.open[-1:] == [tag], f"</{tag}> closes nothing"
            self.open.pop()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = make_run(tmp_path_factory.mktemp("run"))
    score_run(out, OfflineJudge())
    return out


def test_page_is_whole_and_needs_no_network(run: Path) -> None:
    page = write_report(run).read_text()
    elements = Elements(page)
    assert not elements.open
    assert elements.names.count("article") == 5
    # A map, three decisions and, of those without moments, the last map beneath them; bars with a mark.
    assert elements.names.count("svg") == 3 * (1 + 3) + 2 + 4
    assert all(a.startswith(("data:image/", "#q")) or a in PARTS for a in elements.addresses)
    assert elements.names.count("script") == 1 and "<form class=\"filter\" hidden>" in page
    assert "http" not in re.sub(r"base64,[A-Za-z0-9+/=]+", "", page)


def test_page_tells_what_happened(run: Path) -> None:
    page = write_report(run).read_text()
    for text in ("50.0 [", "mark 3", "mark 5", "mark 1", "on the desk", "in the study on the desk", "no lamp was found",
                 "a kitchen may have a cup", "cup, desk", "5 drives in a row did not move the robot",
                 "ZeroDivisionError", "privileged: LabelAnswerer", "(reference 30)", "sha256"):
        assert text in page, text
    assert "What is &lt;b&gt;under&lt;/b&gt; the stairs?" in page and "<b>under" not in page
    assert json.dumps("frontier") in page.replace("&#34;", '"')  # a setting
    head = page.partition("</header>")[0]
    assert "5 of 5 questions asked" in head and "<b>Privileged:</b> LabelAnswerer reads what the simulator" in head
    assert head.index("<b>1 of 5</b><span>right<i>1 partly right</i>") < head.index("C, correctness %")
    assert page.count("<i>desk</i>") == 2  # what the evidence names is outlined: 360..520 of 640, 240..350 of 480
    assert "left:56.25%;top:50.00%;width:25.00%;height:22.92%" in page
    bars = [bar.partition("</svg>")[0] for bar in page.split('<div class="row">')[1:]]
    alone = [bar for bar in bars if "<small>n 1</small>" in bar]  # one question has no interval
    assert alone and not any('class="whisker"' in bar or "95 %" in bar for bar in alone)
    assert write_report(run).read_text() == page


def test_a_part_of_a_data_set_is_named_in_the_page_and_above_the_scores(run: Path, tmp_path: Path) -> None:
    part = Path(shutil.copytree(run, tmp_path / "part"))
    write_json(part / MANIFEST, replace(read_manifest(part), whole=184, asked="gpt-4o"))
    assert "5 of 5 questions asked (the data set has 184)" in write_report(part).read_text()
    assert headline(read_scores(part), read_manifest(part)).splitlines() == [
        "house, 5 of 184 questions, judge offline, answerer unknown, model gpt-4o; privileged: LabelAnswerer",
        "right: 1 of 5, 1 partly right, 1 \"I don't know\", 2 failed"]


def test_many_episodes_have_their_images_beside_the_page(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "EMBED_UP_TO", 2)
    whole = Elements(write_report(run).read_text())
    assert whole.names.count("article") == 0 and not whole.open
    assert sorted(set(whole.addresses) - PARTS) == [f"report/episode-{n:04d}.html" for n in range(1, 6)]
    images = 0
    for address in set(whole.addresses) - PARTS:
        page = Elements((run / address).read_text())
        assert page.names.count("article") == 1 and not page.open
        for name in page.addresses:
            if not name.startswith(("data:", "#")):
                assert (run / "report" / name.partition("#")[0]).exists(), name
                images += name.endswith(".jpg")
    # One of the three was not answered, so nothing proves it; one keeps the views of its decisions, the others have a
    # remembered one of the first.
    assert images == 2 * (1 + 8) + 8 + 3 + 1 + 1


@pytest.mark.parametrize(("episodes", "embedded"), [(12, 12), (13, 0)])
def test_up_to_twelve_episodes_are_one_page(tmp_path: Path, episodes: int, embedded: int) -> None:
    asked, runner = plain(episodes, "x" * 61)
    run_benchmark(asked, runner, tmp_path, dataset="house")
    page = write_report(tmp_path).read_text()
    assert Elements(page).names.count("article") == embedded and f"{'x' * 58} …" in page


def test_the_strip_has_up_to_eight_views_with_all_evidence() -> None:
    views = [replace(trace("?", None).keyframes[0], id=k) for k in range(20)]
    assert [view.id for view in report._spread(views, {3: "", 4: ""})] == [0, 3, 4, 5, 9, 12, 16, 19]
    assert [view.id for view in report._spread(views[:8], {})] == list(range(8))


def test_damaged_traces_and_images_are_said_not_hidden(tmp_path: Path) -> None:
    out = make_run(tmp_path)
    folders = sorted((out / "episodes").iterdir())
    (folders[0] / "trace.zip").write_bytes(b"PK")
    broken = load_trace(folders[1] / "trace.zip")
    object.__setattr__(broken.keyframes[6], "jpeg", b"not a picture")
    save_trace(folders[1] / "trace.zip", broken)
    page = write_report(out).read_text()
    assert "is not a readable trace" in page and "unmarked" in page and Elements(page).names.count("article") == 5
    assert "image cannot be read" in page


def test_trace_round_trip(tmp_path: Path) -> None:
    result = answers()["q-1"]
    assert not isinstance(result, Exception)
    assert result.trace is not None
    assert result.trace.grid is not None
    save_trace(tmp_path / "a.zip", result.trace)
    save_trace(tmp_path / "b.zip", result.trace)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    back = load_trace(tmp_path / "a.zip")
    assert back.moments == result.trace.moments and back.moments[0].map is not None and back.moments[0].view
    assert back.grid is not None
    assert (back.grid.cells == result.trace.grid.cells).all()
    assert (back.grid.explored == result.trace.grid.explored).all()
    assert back.grid.origin == result.trace.grid.origin
    assert (back.question, back.poses, back.decisions, back.keyframes, back.answer) == (
        result.trace.question, result.trace.poses, result.trace.decisions, result.trace.keyframes, result.trace.answer)
    assert back.view == last_view(tmp_path / "a.zip") == result.trace.view != b""
    save_trace(tmp_path / "empty.zip", EpisodeTrace())
    assert last_view(tmp_path / "empty.zip") is None
    assert load_trace(tmp_path / "empty.zip") == EpisodeTrace()


def test_traces_are_not_unpickled(tmp_path: Path) -> None:
    save_trace(tmp_path / "t.zip", trace("Where?", None))
    evil = io.BytesIO()
    np.save(evil, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "t.zip") as old, zipfile.ZipFile(tmp_path / "evil.zip", "w") as new:
        for name in old.namelist():
            new.writestr(name, evil.getvalue() if name == "cells.npy" else old.read(name))
    with pytest.raises(StorageError, match="not a readable trace"):
        load_trace(tmp_path / "evil.zip")
    with pytest.raises(StorageError):
        load_trace(tmp_path / "absent.zip")


def test_map_picture_has_north_up_and_four_kinds_of_cells() -> None:
    cells = np.array([[0, 100], [-1, 0]], np.int8)
    grid = GridMap(0, 0.1, (0.0, 0.0), cells, np.array([[True, False], [False, False]]))
    pixels = np.asarray(Image.open(io.BytesIO(grid_png(grid))).convert("RGB"))
    bottom, top = pixels[1], pixels[0]
    assert tuple(bottom[0]) == (255, 255, 255)
    assert len({tuple(p) for row in pixels for p in row}) == 4
    assert bottom[1].sum() == pixels.sum(axis=2).min()
    assert tuple(top[0]) == (236, 239, 243)


def test_map_shows_path_goals_and_target() -> None:
    picture = str(map_svg(trace("Where?", Answer("here")), (7.4, 5.2), None))
    assert picture.count('class="goal"') == 3
    assert 'class="target"' in picture
    assert 'class="frontier"' in picture
    assert path_colour(0) in picture
    assert path_colour(1) in picture
    box = [float(v) for v in re.search(r'viewBox="([^"]+)"', picture)[1].split()]  # type: ignore[index]
    still = map_svg(EpisodeTrace(poses=[(0, Pose2(1, 1, 0))]), None, None)
    assert map_svg(EpisodeTrace(), None, None) == "" and "<svg" in still and "<polyline" not in still
    assert all(box[0] <= p.x <= box[0] + box[2] and box[1] <= -p.y <= box[1] + box[3] for _, p in path())


def test_the_confidence_of_each_judged_view_stands_beside_the_path_and_the_highest_is_green(tmp_path: Path) -> None:
    """A view that was judged twice counts once; of two views that look to one place the more confident is drawn."""
    own = trace("Where?", Answer("here"))
    own.judged = [ViewAssessment(1, 5, 0.0, 0.9, pose=Pose2(1.0, 1.0, 0.0)),
                  ViewAssessment(1, 5, 0.0, 0.125, pose=Pose2(1.0, 1.0, 0.0)),
                  ViewAssessment(2, 6, 0.0, 0.375, pose=Pose2(3.0, 1.0, 0.0)),
                  ViewAssessment(3, 7, 0.0, 0.85, pose=Pose2(3.0, 1.05, 0.0), says="<b>red</b>")]
    drawn = str(confidence_svg(own, None, None))
    assert re.findall(r'class="sure( best)?">.*?>(\d+)</text>', drawn) == [("", "12"), (" best", "85")]
    assert "confidence 0.85: &lt;b&gt;red" in drawn and 'class="goal"' not in drawn and "<polyline" in drawn
    assert confidence_svg(trace("Where?", Answer("here")), None, None) == ""
    save_trace(tmp_path / "t.zip", trace_since(own, 5))
    assert [a.stamp_ns for a in load_trace(tmp_path / "t.zip").judged] == [0, 0, 1, 2]


@pytest.mark.parametrize(("x", "y"), [(0.0, 0.0), (0.0, 60.0), (-40.0, -7.5), (1e4, 3.0)])
def test_without_a_map_the_picture_has_room_for_where_the_proof_was_seen(x: float, y: float) -> None:
    pose = Pose2(x, y, math.pi)
    seen = EpisodeTrace("Where?", [(0, pose), (1, Pose2(x + 6.0, y + 4.0, 0.0))],
                        answer=Answer("here", evidence=(Evidence(1, 0, pose),)))
    half = 1.8 * math.sin(math.radians(38))  # the light reaches as far to both sides, and 1.8 m ahead

    def box(trace: EpisodeTrace) -> list[float]:
        return [float(n) for n in re.search(r'viewBox="([^"]+)', str(map_svg(trace, None, None)))[1].split()]  # type: ignore[index]

    assert box(seen) == pytest.approx([x - 2.3, -(y + 4.5), 8.8, 5.0 + half], abs=0.02)
    assert box(replace(seen, answer=None)) == pytest.approx([x - 0.5, -(y + 4.5), 7.0, 5.0], abs=0.02)


def test_the_command_can_be_typed_again(tmp_path: Path) -> None:
    out = make_run(tmp_path / "run")
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "command": ["eqa", "ask", "is it on?", "--json"]}))
    assert "<code>eqa ask &#39;is it on?&#39; --json</code>" in write_report(out).read_text()
