"""`eqa report --scan`: what the reconstruction of an episode is made of, and what is said where there is none."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.bench.report import page, scans
from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.report.scans import ScanSection, scan_of
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.cli import main
from eqa_nodes.core.errors import MissingExtra
from eqa_nodes.core.types.questions import Answer, Evidence
from tests.fixtures.synthetic_run import make_run, trace


@pytest.fixture
def open3d() -> None:
    pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")


def predicted(bag: str = "") -> Prediction:
    story = trace("Where is the desk?", None)
    proof = story.keyframes[6]
    return Prediction("q-1", Answer("here", evidence=(Evidence(6, proof.stamp_ns, proof.pose, "desk"),)), bag=bag)


def test_without_a_bag_it_is_made_of_what_memory_kept(open3d: None, tmp_path: Path) -> None:
    made = scan_of(tmp_path, predicted(), trace("Where is the desk?", None))
    assert not made.trouble and made.source == "the coarse depth of the remembered views"
    assert made.frames == 7 and made.triangles > 100 and made.proofs == 1  # the first view has no geometry
    assert made.privileged and made.objects == 1
    assert base64.b64decode(made.still.partition(",")[2]).startswith(b"\x89PNG") and made.data


def test_a_bag_that_cannot_be_read_is_said_and_nothing_else_stands_in(open3d: None, tmp_path: Path) -> None:
    made = scan_of(tmp_path, predicted("bags/gone"), trace("", None))
    assert "gone" in made.trouble and not made.still
    assert "the name must be relative" in scan_of(tmp_path, predicted("../gone"), trace("", None)).trouble


def test_an_episode_without_depth_says_how_to_record_it(open3d: None, tmp_path: Path) -> None:
    story = trace("", None)
    bare = replace(story, keyframes=[replace(view, geometry=None) for view in story.keyframes])
    assert "--through graph" in scan_of(tmp_path, predicted(), bare).trouble
    assert "--through graph" in scan_of(tmp_path, predicted(), None).trouble


def test_views_of_nothing_near_are_no_surface(open3d: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = scans._remembered

    def far(*args: Any) -> Any:
        return (replace(frame, depth_m=np.full_like(frame.depth_m, 50.0)) for frame in source(*args))

    monkeypatch.setattr(scans, "_remembered", far)
    assert "no depth within 4 m" in scan_of(tmp_path, predicted(), trace("", None)).trouble


def test_the_page_has_library_and_data_once_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = ScanSection("data:image/png;base64,AA", "AAAA", 9, 1000, 1, 1, True, "the episode's bag")
    shown = {"q-1": some, "q-2": ScanSection(trouble="<b>broken</b>")}
    monkeypatch.setattr(page, "scan_of", lambda run, prediction, trace: shown.get(prediction.id, some))
    monkeypatch.setattr(page, "EMBED_SCANS", 40)
    text = write_report(make_run(tmp_path), scan=True).read_text()
    assert text.count('"importmap"') == 1 and text.count("scan-data") >= 4
    assert "1,000 triangles" in text and "privileged: objects" in text
    assert "There is no reconstruction: &lt;b&gt;broken&lt;/b&gt;" in text


def test_many_episodes_have_pages_of_their_own_and_share_the_library(tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "scan_of", lambda run, prediction, trace: ScanSection("data:,", "AAAA", source="x"))
    index = write_report(make_run(tmp_path), scan=True)
    assert "importmap" not in index.read_text() and "scan-data" not in index.read_text()
    assert (tmp_path / "report" / "viewer.js").stat().st_size > 700_000
    assert '<script src="viewer.js"></script>' in (tmp_path / "report" / "episode-0001.html").read_text()


def test_without_open3d_the_command_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    from eqa_nodes.core.reconstruction import blocks

    def absent() -> None:
        raise MissingExtra("open3d", "map3d")

    monkeypatch.setattr(blocks, "open3d", absent)
    assert main(["report", str(make_run(tmp_path)), "--scan"]) == 2
    assert "eqa-nodes[map3d]" in capsys.readouterr().err and not (tmp_path / "report.html").exists()
