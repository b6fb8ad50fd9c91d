"""A clip shows the whole episode in order, ends with the proof, and is of the kind that its name says."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.report.clip import _on_the_way, _proof, write_clip
from eqa_nodes.bench.report.traces import trace_in
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, MissingExtra, StorageError
from eqa_nodes.core.types.calls import CallPicture, ModelCall
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.media.animation import animated_gif
from tests.fixtures.synthetic_run import answers, make_run


def episode() -> EpisodeTrace:
    result = answers()["q-1"]
    assert not isinstance(result, Exception) and result.trace is not None
    return result.trace


def test_every_decision_has_its_time_and_the_proof_comes_last(tmp_path: Path) -> None:
    out = tmp_path / "clip.gif"
    images = write_clip(out, episode())
    assert images == 3 + 7 + 1  # decisions; views, of which one is that of a decision; the answer
    durations, walls = [], []
    with Image.open(out) as clip:
        for k in range(clip.n_frames):  # type: ignore[attr-defined]
            clip.seek(k)
            clip.load()
            durations.append(clip.info["duration"])
            last = np.asarray(clip.convert("RGB")).astype(int)
            walls.append((np.abs(last[64:370, 420:] - (84, 96, 112)).sum(axis=2) < 60).sum())
    assert walls[9] > 1.5 * walls[0] > 0  # the map grows
    assert durations[-1] == max(durations) and sum(d > 1000 for d in durations) == 4
    amber = ((last[..., 0] > 180) & (last[..., 0] - last[..., 2] > 90)).sum()
    assert amber > 200  # the box round the desk, and its name
    assert out.stat().st_size < 1_000_000


def test_an_mp4_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtra, match=r"pip install 'eqa-nodes\[video\]'"):
        write_clip(tmp_path / "clip.mp4", episode())
    assert not list(tmp_path.iterdir())


def test_an_mp4_lasts_as_long_as_its_images(tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="needs PyAV: pip install 'eqa-nodes[video]'")
    images = write_clip(tmp_path / "clip.mp4", episode())
    with av.open(str(tmp_path / "clip.mp4")) as video:
        stream = video.streams.video[0]
        shown = [float(frame.pts * frame.time_base) for frame in video.decode(stream)]
    assert len(shown) == images + 1 and shown[-1] == pytest.approx(3 * 2.2 + 7 * 0.28 + 4.5, abs=0.05)


def test_other_names_and_empty_episodes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"must end in \.gif or \.mp4"):
        write_clip(tmp_path / "clip.avi", episode())
    with pytest.raises(StorageError, match="keeps no picture"):
        write_clip(tmp_path / "clip.gif", EpisodeTrace("Where?"))


def test_many_views_are_thinned_out_and_a_large_gif_is_made_smaller() -> None:
    seen = episode()
    views = [replace(seen.keyframes[0], id=k, stamp_ns=k * 100_000_000) for k in range(300)]
    assert 40 < len(_on_the_way(replace(seen, keyframes=views))) <= 48
    noise = np.random.default_rng(0).integers(0, 255, (6, 400, 800, 3)).astype(np.uint8)
    gif = animated_gif([Image.fromarray(pixels) for pixels in noise], [100] * 6, 1000)
    assert [int.from_bytes(gif[k:k + 2], "little") for k in (6, 8)] == [500, 250]


def test_the_command_makes_clips_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    assert main(["clip", str(run), "--episode", "q-1"]) == 0
    assert "written: q-1.gif" in capsys.readouterr().out and (tmp_path / "q-1.gif").exists()
    assert main(["clip", str(run)]) == 2
    assert "has 3 episodes: name one with --episode, of q-1, q-2, q-3" in capsys.readouterr().err
    assert main(["clip", str(run), "--episode", "q-1", "--out", "clip.avi"]) == 2
    assert "must end in .gif or .mp4" in capsys.readouterr().err


def test_a_run_without_traces_says_so(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    lines = (run / "predictions.jsonl").read_text().splitlines()
    (run / "predictions.jsonl").write_text("".join(line + "\n" for line in lines if "trace.zip" not in line))
    with pytest.raises(StorageError, match="keeps no trace"):
        trace_in(run)


def test_a_picture_that_cannot_be_read_leaves_its_place_empty(tmp_path: Path) -> None:
    broken = episode()
    broken.moments[0] = broken.moments[0]._replace(view=b"no picture")
    assert broken.answer is not None
    proof = broken.answer.evidence[0].keyframe_id
    broken.keyframes = [replace(view, jpeg=b"none") if view.id == proof else view for view in broken.keyframes]
    assert write_clip(tmp_path / "clip.gif", broken) == 11


def test_the_proof_has_a_ring_round_what_a_model_pointed_at() -> None:
    told = episode()
    assert told.answer is not None
    proof = told.answer.evidence[0]
    view = next(view for view in told.keyframes if view.id == proof.keyframe_id)
    call = ModelCall(1, proof.pose, told.question, "decide", (CallPicture(proof.keyframe_id, points=((60.0, 400.0),)),))
    for calls, ringed in (([], False), ([call], True)):
        with Image.open(io.BytesIO(_proof(view, proof.note, calls))) as image:
            part = np.asarray(image.convert("RGB")).astype(int)[350:450, 10:110]  # lower left: no box stands there
        assert ((np.abs(part - (245, 158, 11)).sum(axis=2) < 120).sum() > 20) == ringed
