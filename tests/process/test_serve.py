"""`eqa serve` around a server program: ready, dead, late, taken. The genuine program runs in tests/models."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from eqa_nodes.cli import main, serve

SERVER = """
    import http.server, os, signal, sys, threading, time
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/health" else 404)
            self.end_headers()
            if "--die" in sys.argv:
                print("the card caught fire", flush=True)
                threading.Timer(1.0, server.shutdown).start()
            elif sys.argv[3:]:
                threading.Timer(0.5, os.kill, (os.getppid(), int(sys.argv[3]))).start()
    signal.signal(signal.SIGINT, lambda *_: (open(sys.argv[1], "w").close(), sys.exit(0)))
    server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    server.serve_forever()
    sys.exit(7)
"""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """Return what stands in for the server program; a file `interrupted` says that Ctrl-C reached it."""
    words = ["-c", textwrap.dedent(SERVER), str(tmp_path / "interrupted")]
    monkeypatch.setattr(serve, "NEEDED", ())
    monkeypatch.setattr(serve, "command", lambda model, url, *_: [sys.executable, *words[:3], url.rsplit(":")[-1],
                                                                  *words[3:]])
    before = signal.getsignal(signal.SIGTERM)
    yield words
    assert signal.getsignal(signal.SIGTERM) is before


def test_variables_are_printed_when_it_is_ready_and_its_death_is_told(
        program: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    program.append("--die")
    assert main(["serve", "some/model", "--port", "0"]) == 1
    out, error = capsys.readouterr()
    url, model, key = out.splitlines()
    assert url.startswith("export EQA_VLM_BASE_URL=http://127.0.0.1:") and url.endswith("/v1")
    assert model == "export EQA_VLM_MODEL=some/model" and key == "export EQA_VLM_API_KEY=none"
    assert "ended with code 7" in error and "the card caught fire" in error


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_reaches_the_server(program: list[str], sent: signal.Signals, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    program.append(str(int(sent)))
    assert main(["serve", "some/model", "--port", "0"]) == 130
    assert (tmp_path / "interrupted").exists() and "interrupted" in capsys.readouterr().err


def test_a_server_that_dies_at_once(program: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    program[1] = "import sys; print('no such model'); sys.exit(3)"
    assert main(["serve", "m", "--port", "0"]) == 2
    assert "ended with code 3:\nno such model" in capsys.readouterr().err


def test_a_server_that_does_not_come_up(program: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    program[1] = "import time; print('still loading', flush=True); time.sleep(60)"
    assert main(["serve", "m", "--port", "0", "--deadline", "0.5"]) == 2
    assert "did not come up within 0.5 s (--deadline)" in capsys.readouterr().err


def test_a_port_that_is_taken(program: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert main(["serve", "m", "--port", str(other.getsockname()[1])]) == 2
    assert "Choose another --port" in capsys.readouterr().err


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(serve, "NEEDED", ("json", "no_such_library"))
    assert main(["serve", "m"]) == 2
    assert "no_such_library is not installed: pip install 'eqa-nodes[serve]'" in capsys.readouterr().err


def test_the_command_line_of_the_program() -> None:
    words = serve.command("a/b", "http://127.0.0.1:81", "", "bfloat16")
    assert words[1:4] == ["-m", "eqa_nodes.cli.serve_child", "serve"]
    assert words[4:] == ["a/b", "--host", "127.0.0.1", "--port", "81", "--device", "auto", "--dtype", "bfloat16"]


def test_the_program_gets_its_arguments_and_ends_with_its_parent() -> None:
    code = "from eqa_nodes.cli.serve_child import run; run('http.server')"
    child = subprocess.Popen([sys.executable, "-u", "-c", code, "0", "--bind", "127.0.0.1"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None and child.stdout is not None
    assert child.stdout.readline().startswith("Serving HTTP on 127.0.0.1")
    assert child.poll() is None
    child.stdin.close()  # as when the parent is killed
    assert child.wait(30.0) == 1
    child.stdout.close()


@pytest.mark.parametrize("said", [b"220 mail.example.com ESMTP\r\n", b"\x16\x03\x01\x00\x00", b"HTTP/1.1 200\r\n" * 200,
                                  b"HTTP/1.1 abc def\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, b"",
                                  b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/other\r\n\r\n"])
def test_another_program_at_the_port_is_not_the_server(said: bytes) -> None:
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def answer() -> None:
            for reply in (said.replace(b"{port}", str(port).encode()), b"HTTP/1.1 200 OK\r\n\r\n"):
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return  # closed by the test
                with connection:
                    asked.append(connection.recv(4096))
                    connection.sendall(reply)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert not serve._healthy(f"http://127.0.0.1:{port}")
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(20.0)
    assert len(asked) == 1
