"""`eqa serve`: a local OpenAI-compatible endpoint over a transformers model, by transformers' own server program."""

from __future__ import annotations

import http.client
import importlib.util
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.options import argument, option
from eqa_nodes.core.errors import ConfigError, MissingExtra, ModelError

NEEDED = ("torch", "transformers", "accelerate", "fastapi", "uvicorn", "openai", "requests")
_STOP_DEADLINE_S = 10.0
_POLL_S = 0.25


@dataclass(frozen=True, kw_only=True)
class Serve:
    """Starts an OpenAI-compatible endpoint over an image-text-to-text model of transformers, prints the variables that
    point the answerer vlm to it, and runs until Ctrl-C.
    """

    model: str = argument("folder, or name on the hub, such as HuggingFaceTB/SmolVLM-Instruct")
    host: str = option("127.0.0.1", "address to listen on")
    port: int = option(8000, "port to listen on, 0 = a free one")
    device: str = option("", "cuda, mps, cpu (default: the first available)")
    dtype: str = option("", "float32, float16, bfloat16 (default: that of the weights)")
    deadline: float = option(1800.0, "time for the model to be downloaded and loaded, seconds", metavar="SECONDS")

    def run(self) -> int:
        """Start the server, print what points the answerer to it, and run until Ctrl-C; 1 when the server ends.

        Raises ConfigError for a port that is taken, MissingExtra, ModelError when it does not come up.
        """
        for library in NEEDED:
            if importlib.util.find_spec(library) is None:
                raise MissingExtra(library, "serve")
        here = Path(self.model).is_dir()
        model = str(Path(self.model).resolve()) if here else self.model
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"} if here else dict(os.environ)  # a folder needs no network
        url = f"http://{self.host}:{_port(self.host, self.port)}"
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "serve.log"
            with _running(command(model, url, self.device, self.dtype), environment, log) as child:
                _wait_until_ready(child, url, model, self.deadline, log)
                for name, value in {"BASE_URL": f"{url}/v1", "MODEL": model, "API_KEY": "none"}.items():
                    print(f"export EQA_VLM_{name}={shlex.quote(value)}", flush=True)
                code = child.wait()
                print(f"eqa: the server of {model} has ended with code {code}:\n{_tail(log)}", file=sys.stderr)
                return 1


def command(model: str, url: str, device: str = "", dtype: str = "") -> list[str]:
    """Return the command line of the server program."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    return [sys.executable, "-m", "eqa_nodes.cli.serve_child", "serve", model, "--host", host, "--port", port,
            "--device", device or "auto", "--dtype", dtype or "auto"]


def _port(host: str, port: int) -> int:
    """Return the port, a free one for 0. Raises ConfigError where it is taken."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise ConfigError(f"cannot listen on {host}:{port}: {error}. Choose another --port (0 = a free one)") from error


@contextmanager
def _running(words: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server in a session of its own, so that Ctrl-C reaches it once, from here; it ends with the block.

    A request to terminate ends the block as Ctrl-C does.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with log.open("wb") as out:
        child = subprocess.Popen(words, env=dict(environment), stdin=subprocess.PIPE, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        try:
            child.wait(_STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdin is not None:
            child.stdin.close()
        signal.signal(signal.SIGTERM, before)


def _wait_until_ready(child: subprocess.Popen[bytes], url: str, model: str, deadline_s: float, log: Path) -> None:
    from rich.console import Console

    end = time.monotonic() + deadline_s
    with Console(stderr=True).status(f"loading {model}"):
        while not _healthy(url) or child.poll() is not None:  # another program may answer there
            if child.poll() is not None:
                raise ModelError(f"the server of {model} has ended with code {child.returncode}:\n{_tail(log)}")
            if time.monotonic() > end:
                raise ModelError(f"the server of {model} did not come up within {deadline_s:g} s (--deadline):\n"
                                 f"{_tail(log)}")
            time.sleep(_POLL_S)


class _Stay(urllib.request.HTTPRedirectHandler):
    """Goes to no other address: an answer that sends elsewhere is an HTTPError."""

    def redirect_request(self, *_: object) -> None:
        """Return no request."""


def _healthy(url: str) -> bool:
    try:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay)
        with direct.open(f"{url}/health", timeout=5.0) as reply:
            return bool(reply.status == 200)
    except (OSError, http.client.HTTPException):
        return False  # it does not listen yet, or is another program


def _tail(log: Path) -> str:
    with log.open(encoding="utf-8", errors="replace") as lines:
        return "".join(deque(lines, 20)).strip()
