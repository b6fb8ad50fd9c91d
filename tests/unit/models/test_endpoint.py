"""Where requests may go, and how much is sent and read."""

from __future__ import annotations

import asyncio
import io
import socket
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.model import Message
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.transport import EndpointPolicy
from eqa_nodes.testing.model_server import VlmServer, completion

NAMES = {"models.example.org": "93.184.216.34", "box.lan": "192.168.1.9", "shared.example": "100.64.0.3"}


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Names of this test's own network; literals are themselves."""
    known = dict(NAMES)

    def resolved(host: str, port: object, *_: object, **__: object) -> list[Any]:
        if host in known or host[0].isdigit() or ":" in host:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (known.get(host, host), 0))]
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("eqa_nodes.models.transport.socket.getaddrinfo", resolved)
    return known


def policy(url: str, environ: dict[str, str] | None = None, **fields: Any) -> EndpointPolicy:
    return EndpointPolicy(ModelConfig(**fields), url, environ or {})


@pytest.mark.parametrize("url", ["https://models.example.org/v1", "http://127.0.0.1:8000/v1", "http://[::1]:8000",
                                 "http://192.168.1.9/v1", "http://box.lan:8000/v1", "http://shared.example/v1",
                                 "http://nobody.knows/v1"])
def test_what_may_be_asked(url: str) -> None:
    asyncio.run(policy(url).check(f"{url}/chat/completions"))


@pytest.mark.parametrize("url", ["http://models.example.org/v1", "http://93.184.216.34/v1", "http://[2606:2800::1]/"])
def test_pictures_go_unencrypted_to_no_public_host_unless_that_is_allowed(url: str) -> None:
    with pytest.raises(ConfigError, match="unencrypted: use https://, or set model.allow_http"):
        policy(url)
    asyncio.run(policy(url, allow_http=True).check(url))


def test_a_name_that_leads_elsewhere_later_is_refused(names: dict[str, str]) -> None:
    rules = policy("http://box.lan/v1")
    names["box.lan"] = "93.184.216.34"
    with pytest.raises(ModelError, match="host not allowed: box.lan leads to 93.184.216.34"):
        asyncio.run(rules.check("http://box.lan/v1/chat"))


@pytest.mark.parametrize(("hosts", "environ", "says"), [
    ("box.lan", "", "model.hosts: box.lan"), ("", "*.lan,127.0.0.1", r"EQA_VLM_HOSTS: \*.lan, 127.0.0.1"),
    ("models.example.org", "*.lan", r"EQA_VLM_HOSTS: \*.lan")])
def test_only_allowed_hosts_are_asked(hosts: str, environ: str, says: str) -> None:
    with pytest.raises(ConfigError, match=f"models.example.org is not an allowed host of models .{says}"):
        policy("https://models.example.org/v1", {"EQA_VLM_HOSTS": environ}, hosts=hosts)
    rules = policy("http://box.lan/v1", {"EQA_VLM_HOSTS": environ}, hosts="*.LAN, box.lan")
    asyncio.run(rules.check("http://box.lan/v1/chat"))
    with pytest.raises(ModelError, match="host not allowed: models.example.org"):
        asyncio.run(rules.check("https://models.example.org/v1"))


def noise(side: int = 512) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (side, side, 3), np.uint8)).save(out, "JPEG", quality=95)
    return out.getvalue()


def test_sizes_hold_on_the_wire(connect: Callable[..., Any]) -> None:
    ask = [Message("user", (noise(), "What colour is it?"))]
    with VlmServer([completion("Red " * 5000)]) as server:
        assert connect(server.url).generate(ask).text.startswith("Red")
        with pytest.raises(ModelError, match="^too large: the request has 0.[0-9] MB, model.request_mb allows 0.1"):
            connect(server.url, request_mb=0.1).generate(ask)
        with pytest.raises(ModelError, match="^invalid reply: it is longer than 10000 bytes"):
            connect(server.url, reply_mb=0.01, max_retries=0).generate(ask)
        assert len(server.requests) == 2
