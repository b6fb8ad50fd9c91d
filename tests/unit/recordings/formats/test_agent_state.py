"""Agent states are read from pickles that the genuine classes would write, and from no other."""

from __future__ import annotations

import os
import pickle
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.formats.agent_state import AgentState, SensorPose, read_agent_state
from tests.fixtures.habitat_pickles import HALF, Slots, stand_ins, state_value


@pytest.fixture
def habitat(monkeypatch: pytest.MonkeyPatch) -> Any:
    return stand_ins(monkeypatch)


WANTED = AgentState((1.0, 0.5, 3.0), (HALF, 0.0, HALF, 0.0), {
    name: SensorPose((1.0, 1.5, 3.0), (HALF, 0.0, HALF, 0.0)) for name in ("rgb", "depth")},
    {"scene_id": "00800-TEEsavR23oF", "resolution": (1080, 1920), "hfov": 90})


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f8"])
@pytest.mark.parametrize("as_dict", [False, True])
def test_a_state_of_every_protocol(protocol: int, dtype: str, as_dict: bool, habitat: Any, tmp_path: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slots, "as_dict", as_dict)
    (tmp_path / "00000.pkl").write_bytes(pickle.dumps(state_value(habitat, dtype), protocol))
    for name in ("habitat_sim", "habitat_sim.agent", "habitat_sim.agent.agent", "quaternion"):
        monkeypatch.delitem(sys.modules, name)
    assert read_agent_state(tmp_path / "00000.pkl") == WANTED
    assert not {"habitat_sim", "quaternion"} & sys.modules.keys()


def test_other_forms_of_numbers(habitat: Any, tmp_path: Path) -> None:
    path = tmp_path / "0.pkl"
    for rotation in ([0.0, HALF, 0.0, HALF], np.array([0, HALF, 0, HALF])):  # coefficients x, y, z, w
        path.write_bytes(pickle.dumps(habitat.AgentState([1, np.float64(2.5), 3], rotation, {})))
        assert read_agent_state(path) == AgentState((1.0, 2.5, 3.0), (HALF, 0.0, HALF, 0.0), {}, {})
    for written, other in ((b"numpy._core", b"numpy.core"), (b"numpy.core", b"numpy._core")):  # of numpy 2 and 1
        path.write_bytes(pickle.dumps(state_value(habitat), 2).replace(written, other))
        assert read_agent_state(path) == WANTED


class _Evil:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def test_nothing_is_executed(habitat: Any, tmp_path: Path) -> None:
    path, told = tmp_path / "0.pkl", tmp_path / "executed"
    for function, arguments, name in ((os.mkdir, (str(told),), f"{os.mkdir.__module__}.mkdir"),
                                      (eval, (f"open({str(told)!r}, 'w')",), "builtins.eval"),
                                      (np.fromfile, (str(path),), "fromfile")):
        for value in (_Evil(function, *arguments), {**state_value(habitat), "more": _Evil(function, *arguments)}):
            for protocol in (0, 2, 4):
                path.write_bytes(pickle.dumps(value, protocol))
                with pytest.raises(StorageError, match=rf"names \S*{name.split('.')[-1]}, which is not built"):
                    read_agent_state(path)
    assert not told.exists()


@pytest.mark.parametrize(("data", "complaint"), [
    (b"", "exhausted"), (b"garbage", "cannot be read"), (b"N.", "NoneType was found instead of habitat_sim"),
    (b"(t.", "tuple was found instead of"), (b"\x80\x04}.", "dict was found instead of"),
    (b"].", "list was found instead of"),
    (b"cposix\nsystem\n(S'true'\ntR.", "names posix.system"), (b"(ibuiltins\nexec\n.", "names builtins.exec"),
    (b"Pid\n.", "outside of the file"), (b"\x82\x01.", "cannot be read"), (b"(.", "cannot be read"),
    (b"h\x05.", "cannot be read"), (b"}(]Nu.", "unhashable"), (b"}(K\x01u.", "odd number")])
def test_malformed_pickles_are_named(data: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "0.pkl").write_bytes(data)
    with pytest.raises(StorageError, match=complaint):
        read_agent_state(tmp_path / "0.pkl")


@pytest.mark.parametrize(("field", "value", "complaint"), [
    (0, [1, 2], "position is not 3 numbers"), (0, [1, 2, "x"], "str was found instead of a number"),
    (0, [1, 2, float("nan")], "expected finite"), (0, np.array([b"a", b"b", b"c"]), "something else than numbers"),
    (0, [1, 2, 10**400], "too large"), (1, [0, 0, 0, 2], "not a unit quaternion"),
    (2, [], "sensor_states are not a dict"),
    (2, {"rgb": 3}, "int was found instead of habitat_sim.agent.agent.SixDOFPose")])
def test_a_state_that_means_nothing_is_named(field: int, value: Any, complaint: str, habitat: Any,
                                             tmp_path: Path) -> None:
    values = [[0, 0, 0], [0, 0, 0, 1], {}]
    values[field] = value
    (tmp_path / "0.pkl").write_bytes(pickle.dumps(habitat.AgentState(*values)))
    with pytest.raises(StorageError, match=complaint):
        read_agent_state(tmp_path / "0.pkl")


@pytest.mark.parametrize("bomb", [
    b"\x80\x04N\x72\xff\xff\xff\xff.",  # memo entry four thousand million
    b"\x96" + (1 << 40).to_bytes(8, "little") + b"x.",  # a bytearray of a terabyte
    b"\x80\x04\x95" + (1 << 60).to_bytes(8, "little") + b"N.",  # a frame of an exabyte
    b"]" + b"q\x00(h\x00h\x00t" * 60 + b".",  # tuples of one another, 2 ** 60 of them
    b"}(" + b"]q\x00" + b"h\x00h\x00\x86q\x00" * 60 + b"Nu.",  # the same, as a key
    b"I" + b"9" * 200_000 + b"\n.", b"(" * 200_000 + b".", b"N" + b"\x85" * 200_000 + b".", b"N." * 200_000])
def test_bombs_do_not_go_off(bomb: bytes, tmp_path: Path) -> None:
    (tmp_path / "0.pkl").write_bytes(bomb)
    tracemalloc.start()
    with pytest.raises(StorageError):
        read_agent_state(tmp_path / "0.pkl")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pkl")
    for path in (tmp_path / "pipe.pkl", tmp_path, tmp_path / "nowhere.pkl"):
        with pytest.raises(StorageError, match="absent or not a file"):
            read_agent_state(path)
