"""Text files that a spreadsheet or an editor has written, with a byte order mark, are read as those without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eqa_nodes.bench.readers import records
from eqa_nodes.bench.samples import read_samples, write_samples
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa
from eqa_nodes.recordings.histories import open_history
from tests.fixtures.frames import frame
from tests.fixtures.histories import looking, write_redwood, write_scannet
from tests.fixtures.phones import shots, write_polycam, write_stray

MARK = b"\xef\xbb\xbf"


def marked(path: Path) -> Path:
    """Put a byte order mark before a file's text."""
    path.write_bytes(MARK + path.read_bytes())
    return path


def read(folder: Path) -> list[tuple[int, object, object, bytes, bytes]]:
    def key(f: Frame) -> tuple[int, object, object, bytes, bytes]:
        return f.stamp_ns, f.map_from_base, f.intrinsics, f.rgb.tobytes(), f.depth_m.tobytes()
    return [key(f) for f in open_history(folder)]


def _openeqa(folder: Path) -> None:
    write_openeqa([frame(7), frame(9)], folder, lambda done: None)


@pytest.mark.parametrize(("write", "names"), [
    (lambda folder: write_stray(folder, shots(2)), ("odometry.csv", "camera_matrix.csv")),
    (lambda folder: write_polycam(folder, shots(2)), ("keyframes/corrected_cameras/*.json",)),
    (lambda folder: write_redwood(folder, 3), ("trajectory.log",)),
    (lambda folder: write_scannet(folder, {0: looking(0, 0), 20: looking(1, 0)}), ("**/*.txt",)),
    (_openeqa, ("*.csv", "**/*.txt"))], ids=["stray", "polycam", "redwood", "scannet", "openeqa"])
def test_recordings(write: object, names: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path / "recording")  # type: ignore[operator]
    before = read(tmp_path / "recording")
    files = [path for name in names for path in sorted((tmp_path / "recording").glob(name))]
    assert before and len({path.name for path in files}) >= len(names)
    for path in files:
        marked(path)
    assert read(tmp_path / "recording") == before


def test_data_sets_samples_and_json(tmp_path: Path) -> None:
    table, listed, samples = tmp_path / "a.csv", tmp_path / "a.json", tmp_path / "samples.jsonl"
    table.write_text("question,answer\nWhere?,here\n")
    listed.write_text(json.dumps([{"question": "Wo?"}]))
    write_samples(samples, [Sample("a", "Where?", "here")])
    expected = read_samples(samples)
    assert records.rows(marked(table))[0].text("question") == "Where?"
    assert records.load(marked(listed)) == read_json(listed) == [{"question": "Wo?"}]
    assert read_samples(marked(samples)) == expected
