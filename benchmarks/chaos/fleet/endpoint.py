"""A model's endpoint that sends pictures on, never ends, or lies elsewhere than it may."""

from __future__ import annotations

import io
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.chaos.fleet import Drilled
from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.model import Message
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.endpoint import HOSTS
from eqa_nodes.models.openai_chat import OpenAIChat
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion

ENVIRONMENT = {"EQA_VLM_API_KEY": "drill-key-of-nobody"}
BOMB_MB = 400
ROOM_KB = 200_000  # that the process may grow by while it reads a reply of 400 MB
PUBLIC = ("http://8.8.8.8/v1", "http://[2001:4860:4860::8888]/v1")


def drill(drilled: Drilled, folder: Path, seed: int) -> None:
    """Ask, with every trick of a server; then ask a good one."""
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (480, 640, 3), np.uint8)).save(out, "JPEG", quality=95)
    picture = out.getvalue()
    with VlmServer([completion("elsewhere")]) as other:
        for status in (301, 302, 307, 308):
            away = ServerReply(b"", status, headers=(("Location", f"{other.url}/chat/completions"),))
            with VlmServer([away]) as server:
                drilled.refused(ModelError, "redirected", lambda server=server: _ask(server.url, picture))  # type: ignore[misc]
        drilled.check(other.requests == [], f"{len(other.requests)} requests followed a redirect to another host")
    bomb = _bomb()
    before = _peak_kb(anew=True)
    with VlmServer([ServerReply(bomb, headers=(("Content-Encoding", "gzip"),))]) as server:
        drilled.refused(ModelError, "the reply goes on after 16000000 bytes", lambda: _ask(server.url, picture))
    grown = _peak_kb() - before
    drilled.check(grown < ROOM_KB, f"a reply of 400 MB made the process grow by {grown / 1000:.0f} MB")
    drilled.notes.append(f"a reply of 400 MB cost {grown / 1000:.0f} MB")
    for url in PUBLIC:
        drilled.refused(ConfigError, "would send pictures and the key unencrypted", lambda url=url: _ask(url, picture))  # type: ignore[misc]
    drilled.refused(ConfigError, HOSTS, lambda: _ask("https://models.example/v1", picture, {HOSTS: "*.lan"}))
    drilled.refused(ConfigError, "model.hosts", lambda: _ask("https://models.example/v1", picture, hosts="box.lan"))
    with VlmServer([completion("Red")]) as server:
        drilled.refused(ModelError, "too large", lambda: _ask(server.url, picture, request_mb=0.01))
        drilled.check(server.requests == [], "a request that is too large was sent")
        drilled.check(_ask(server.url, picture, picture_kb=30) == "Red", "a good server is not asked any more")
        sent = len(str(server.requests[-1]))
        drilled.check(sent < 60_000, f"with pictures of 30 kB a request has {sent} bytes")
        drilled.notes.append(f"a picture of {len(picture) // 1000} kB went out in a request of {sent // 1000} kB")


def _bomb() -> bytes:
    """Return 400 MB of blanks, packed, without ever holding them."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b" " * 1_000_000) for _ in range(BOMB_MB)) + packer.flush()


def _peak_kb(anew: bool = False) -> int:
    """Return the most memory that this process has held, kB; anew: since now."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _ask(url: str, picture: bytes, environ: dict[str, str] | None = None, **fields: object) -> str:
    config = ModelConfig(base_url=url, model="drill", max_retries=0, timeout_s=30.0, **fields)  # type: ignore[arg-type]
    with closing(OpenAIChat(config, environ={**ENVIRONMENT, **(environ or {})})) as chat:
        return chat.generate([Message("user", (picture, "What colour is it?"))]).text
