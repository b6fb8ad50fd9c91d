"""Files of a run that somebody sent: what unpacks to more than it says, or claims what cannot be, is a named error."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.report.traces import load_trace, save_trace
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.codec import decode
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.trace import EpisodeTrace
from tests.fixtures.synthetic_run import make_run, trace


def changed(path: Path, name: str, data: bytes) -> Path:
    """Save a whole trace with one of its parts replaced."""
    save_trace(path, trace("Where is it?", None))
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, was in {**parts, name: data}.items():
            archive.writestr(part, was)
    return path


def npy(shape: tuple[int, ...], kind: str = "|i1") -> bytes:
    """Return the head of an array and nothing else."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})
    return out.getvalue()


@pytest.mark.parametrize(("name", "data"), [
    ("cells.npy", npy((1 << 45, 1 << 10))), ("cells.npy", npy((1 << 70, 2))), ("cells.npy", npy((4, 4), "|O")),
    ("cells.npy", b"\x93NUMPY\x01\x00\xff\xff{"), ("grid.json", b"[" * 200_000), ("trace.json", b'{"a":' * 200_000),
    ("trace.json", b"\xff\xfe"), ("trace.json", b"null"), ("grid.json", b'{"stamp_ns": 1e999}')])
def test_a_trace_that_claims_what_cannot_be_is_refused(name: str, data: bytes, tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        load_trace(changed(tmp_path / "trace.zip", name, data))


@pytest.mark.parametrize(("size", "refused"), [(1 << 30, False), ((1 << 30) + 1, True)])
def test_a_trace_that_says_it_unpacks_to_more_than_a_gibibyte_is_refused(size: int, refused: bool,
                                                                         tmp_path: Path) -> None:
    path = tmp_path / "trace.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("trace.json", b"{}")
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 24  # the unpacked size in the central directory
    data[at:at + 4] = size.to_bytes(4, "little")
    path.write_bytes(data)
    if refused:
        with pytest.raises(StorageError, match="unpacks to"):
            load_trace(path)
    else:
        assert load_trace(path) == EpisodeTrace()


def test_a_picture_of_a_run_that_claims_a_billion_pixels_is_no_picture(tmp_path: Path) -> None:
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "JPEG")
    data = bytearray(out.getvalue())
    at = data.index(b"\xff\xc0") + 5  # height and width of the frame header
    data[at:at + 4] = b"\xff\xff\xff\xff"
    run = make_run(tmp_path / "run")
    for path in run.rglob("trace.zip"):
        changed(path, "keyframes/000006.jpg", bytes(data))
    assert write_report(run).exists()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"text": {"$type": "os.system"}}', '{"__class__": "x"}', "1e999"])
def test_json_of_a_run_makes_the_wanted_type_or_a_named_error(text: str) -> None:
    with pytest.raises((StorageError, ValueError, RecursionError)):
        decode(EpisodeTrace, json.loads(text))
    assert decode(Answer, json.loads('{"text": "red"}')) == Answer("red")
