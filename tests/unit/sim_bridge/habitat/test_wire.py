"""The protocol between the Habitat client and its worker, and what a worker's process has around it."""

from __future__ import annotations

import ast
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_bridge.habitat import wire
from sim_bridge.habitat.session import environment, remedy

FOLDER = Path(wire.__file__).parent
ALLOWED = {"contextlib", "fcntl", "importlib", "json", "math", "mmap", "numpy", "os", "platform", "select", "signal",
           "socket", "struct", "sys", "time", "typing", "collections", "habitat_sim", "__future__"}
leaves = (st.none() | st.booleans() | st.integers(-2**53, 2**53) | st.text()
          | st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(leaves, lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=5)


@pytest.fixture
def ends() -> Iterator[tuple[wire.WorkerSocket, wire.WorkerSocket, socket.socket]]:
    a, b = socket.socketpair()
    yield wire.WorkerSocket(a), wire.WorkerSocket(b), a
    a.close()
    b.close()


@settings(max_examples=30)
@given(message=st.dictionaries(st.text(), values))
def test_a_message_arrives_as_it_was_sent(message: wire.Message) -> None:
    a, b = socket.socketpair()
    with a, b:
        wire.WorkerSocket(a).send(message, 30.0)
        assert wire.WorkerSocket(b).receive(30.0) == message


def test_a_long_message_arrives_whole(ends: tuple[wire.WorkerSocket, wire.WorkerSocket, socket.socket]) -> None:
    message = {"text": "x" * 5_000_000}
    sender = threading.Thread(target=ends[0].send, args=(message, 60.0))
    sender.start()
    assert ends[1].receive(60.0) == message
    sender.join()


def test_nobody_is_waited_for_longer_than_said(ends: tuple[wire.WorkerSocket, wire.WorkerSocket,
                                                           socket.socket]) -> None:
    with pytest.raises(wire.WireTimeout):
        ends[1].receive(0.05)
    ends[2].sendall(b"\0\0\0\5{")  # half a message
    with pytest.raises(wire.WireTimeout):
        ends[1].receive(0.05)
    with pytest.raises(wire.WireTimeout):  # nobody reads, and the socket's memory is full
        ends[0].send({"text": "x" * 10_000_000}, 0.05)


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\0\0\0\2[]", b"\0\0\0\2{]", b"\0\0\0\2\xff\xff"])
def test_what_is_no_message_is_refused(ends: tuple[wire.WorkerSocket, wire.WorkerSocket, socket.socket],
                                       data: bytes) -> None:
    ends[2].sendall(data)
    with pytest.raises(ValueError, match="."):
        ends[1].receive(30.0)


def test_numbers_that_json_has_not_are_refused(ends: tuple[wire.WorkerSocket, wire.WorkerSocket,
                                                           socket.socket]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        ends[0].send({"x": float("nan")})


def test_the_end_of_the_other_side_is_seen(ends: tuple[wire.WorkerSocket, wire.WorkerSocket, socket.socket]) -> None:
    ends[2].sendall(b"\0\0\0\5{")
    ends[0].close()
    with pytest.raises(wire.ConnectionClosed):
        ends[1].receive(30.0)
    with pytest.raises(wire.ConnectionClosed):
        ends[1].send({})


def test_a_server_answers_until_the_other_side_is_gone(ends: tuple[wire.WorkerSocket, wire.WorkerSocket,
                                                                   socket.socket]) -> None:
    def answer(op: str, request: wire.Message) -> wire.Message:
        if op == "refuse":
            raise wire.WorkerFailure("Kind", "because")
        return {"sum": request["a"] + request["b"]}

    server = threading.Thread(target=wire.serve, args=(ends[1], answer))
    server.start()
    for request, reply in (({"id": 1, "op": "add", "a": 1, "b": 2}, {"id": 1, "ok": {"sum": 3}}),
                           ({"id": 2, "op": "refuse"}, {"id": 2, "error": "Kind", "message": "because"}),
                           ({"id": 3, "op": "add", "a": 1}, {"id": 3, "error": "KeyError", "message": "'b'"})):
        ends[0].send(request)
        assert ends[0].receive(30.0) == reply
    ends[0].close()
    server.join(30.0)
    assert not server.is_alive()


def test_images_are_seen_on_the_other_side_also_when_they_grow() -> None:
    descriptor = os.memfd_create("test")
    here, there = wire.Images(descriptor), wire.Images(os.dup(descriptor))
    seen = {"rgb": np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)[::-1],
            "depth": np.arange(6, dtype=np.float32).reshape(2, 3),
            "labels": np.arange(6, dtype=np.uint32).reshape(2, 3)}
    wire.show(here.views(3, 2), seen, np.array([5, 0, 7, 8, 0], np.uint16))
    rgb, depth_m, labels = there.views(3, 2)
    assert np.array_equal(rgb, seen["rgb"][..., :3]) and np.array_equal(depth_m, seen["depth"])
    assert labels.tolist() == [[5, 0, 7], [8, 0, 0]]
    there.views(640, 480).rgb[:] = 7
    assert (here.views(640, 480).rgb == 7).all()
    here.close()
    there.close()


@pytest.mark.parametrize("name", ["wire.py", "worker.py"])
def test_a_worker_wants_nothing_but_habitat(name: str) -> None:
    tree = ast.parse((FOLDER / name).read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []  # for mypy: it is not run
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    names += [node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= ALLOWED


def test_a_worker_sees_nothing_of_our_python() -> None:
    ours = {"PYTHONPATH": "/ours", "LD_LIBRARY_PATH": "/ours", "AMENT_PREFIX_PATH": "/ours", "HOME": "/home/x",
            "CUDA_VISIBLE_DEVICES": "1"}
    clean = environment(0, ours)
    assert {name for name in ours if name in clean} == {"HOME", "CUDA_VISIBLE_DEVICES"}
    assert "LP_NUM_THREADS" not in environment(-1, ours)
    assert environment(-1, {**ours, "EQA_WORKER": "3"})["LP_NUM_THREADS"] == "1"
    assert environment(-1, {**ours, "EQA_WORKER": "3", "LP_NUM_THREADS": "2"})["LP_NUM_THREADS"] == "2"


@pytest.mark.parametrize(("said", "named"), [
    ("Platform::WindowlessEglApplication::tryCreateContext(): cannot get default EGL display", "libegl1"),
    ("ImportError: libOpenGL.so.0: cannot open shared object file", "libopengl0"),
    ("ModuleNotFoundError: No module named 'habitat_sim'", "--habitat-python"), ("something else", "")])
def test_known_failures_have_a_remedy(said: str, named: str) -> None:
    assert named in remedy(said) and bool(remedy(said)) == bool(named)
