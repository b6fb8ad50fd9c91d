"""A video file is a history of colour alone."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.cli import main
from eqa_nodes.core.errors import BadFrame, ConfigError, StorageError
from eqa_nodes.core.types.questions import Question
from eqa_nodes.recordings.formats.pictures import ColourHistory
from eqa_nodes.recordings.histories import format_of, open_history
from eqa_nodes.recordings.history_views import ViewSelection, check_history, open_views

pytest.importorskip("av", reason="PyAV is not installed: pip install 'eqa-nodes[video]'")
from eqa_nodes.media.video import write_pictures


@pytest.fixture
def video(tmp_path: Path) -> Path:
    """A video of 200 images at 25 Hz whose grey grows by one; the upper half is black."""
    pictures = []
    for i in range(200):
        pixels = np.full((32, 48, 3), 40 + i, np.uint8)
        pixels[:16] = 0
        pictures.append((i * 40_000_000, pixels))
    write_pictures(pictures, tmp_path / "tour.mp4")
    return tmp_path / "tour.mp4"


def opened(path: Path) -> ColourHistory:
    history = open_history(path)
    assert isinstance(history, ColourHistory) and format_of(path) == "video"
    return history


def test_views_are_even_in_time(video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = opened(video)
    assert len(history) == 200 and history.pictures[50].stamp_ns == 2_000_000_000
    views = open_views("x", {}, lambda: history, ViewSelection("uniform", 5), tmp_path / "cache")
    items = views.items(Question("What is there?"))
    greys = [int(np.asarray(Image.open(io.BytesIO(item.keyframe.jpeg)))[24, 24, 0]) for item in items]
    assert greys == pytest.approx([40, 90, 140, 189, 239], abs=4)
    assert main(["history", "info", str(video)]) == 0 and "200 colour images, without depth" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="without depth"):
        check_history(history, ViewSelection("recalled"))


def test_images_come_in_any_order(video: Path) -> None:
    pictures = opened(video).pictures
    for number in (150, 3, 4, 199, 0, 65):
        assert int(pictures[number].rgb()[24, 24, 0]) == pytest.approx(40 + number, abs=4)


@pytest.mark.parametrize(("degrees", "dark"), [(90, "right"), (180, "below"), (270, "left")])
def test_images_are_turned_as_the_file_says(degrees: int, dark: str, video: Path) -> None:
    c, s = {90: (0, 1), 180: (-1, 0), 270: (0, -1)}[degrees]
    plain, turned = ((np.array(m) << 16).astype(">i4") for m in (
        [1, 0, 0, 0, 1, 0, 0, 0, 16384], [c, s, 0, -s, c, 0, 0, 0, 16384]))
    data = video.read_bytes()
    track = data.index(b"tkhd")
    at = data.index(plain.tobytes(), track)
    video.write_bytes(data[:at] + turned.tobytes() + data[at + 36:])
    rgb = opened(video).pictures[100].rgb()
    assert rgb.shape[:2] == ((32, 48) if degrees == 180 else (48, 32))
    edges = {"above": rgb[0], "below": rgb[-1], "left": rgb[:, 0], "right": rgb[:, -1]}
    assert min(edges, key=lambda side: float(edges[side].mean())) == dark


def test_what_is_not_a_video_is_named(video: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.mp4").write_text("no video")
    with pytest.raises(StorageError, match=r"notes.mp4 cannot be read as a video .*copy it again"):
        open_history(tmp_path / "notes.mp4")
    history = opened(video)
    video.write_bytes(video.read_bytes()[:200])
    with pytest.raises(BadFrame, match="damaged"):
        history.pictures[10].rgb()
