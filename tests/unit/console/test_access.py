"""One token opens the page: wrong ones lock nobody out, and a stop least of all."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import http.client
from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.console.web import rules_for
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.console_browser import Browser
from tests.fixtures.console_server import serving


@pytest.mark.parametrize("through", ["/enter", "cookie"])
def test_wrong_tokens_lock_nobody_out(tmp_path: Path, through: str) -> None:
    """All come from one address, as behind a reverse proxy or from a desk that an old page is open on."""
    with serving(tmp_path, rules_for("127.0.0.1", ask_token=True)) as (server, _, robot):
        guesser, cookie = Browser(server.url), "eqa_console_" + server.url.split(":")[2].split("/")[0]
        for wrong in ("", "x" * 5000, "\u00e9", *map(str, range(30))):
            if through == "cookie":
                guesser.cookie = f"{cookie}={wrong}".encode("ascii", "ignore").decode()
                assert guesser.ask("/stop", {}).status == guesser.ask("/runs").status == 401
            else:
                assert guesser.ask("/enter", {"token": wrong}).status == 403
        assert not robot.stopped.is_set()
        page = Browser(server.url)
        reply = page.ask("/enter", {"token": server.url.partition("#")[2]})
        assert reply.status == 200 and "httponly" in reply.headers["set-cookie"].lower()
        page.cookie = reply.headers["set-cookie"].split(";")[0]
        assert page.ask("/stop", {}).status == 200 and robot.stopped.is_set()


def test_the_cookie_is_secure_behind_a_proxy_with_tls(tmp_path: Path) -> None:
    with serving(tmp_path, rules_for("127.0.0.1", True, ["Robots.example"])) as (server, _, _):
        token = server.url.partition("#")[2]
        for scheme in ("http", "https"):
            reply = Browser(server.url).ask("/enter", {"token": token}, Host="robots.example", X_Forwarded_Proto=scheme)
            assert reply.status == 200 and ("; secure" in reply.headers["set-cookie"].lower()) == (scheme == "https")


def test_the_stream_beats_although_nothing_happens(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, _), closing(
            http.client.HTTPConnection(server.url.split("/")[2], timeout=WAIT_S)) as connection:
        connection.request("GET", "/events")
        reply = connection.getresponse()
        assert any(line == b"event: beat\n" for line in iter(reply.readline, b""))


def test_troubles_are_on_the_page(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, page, _):
        page.watch.trouble = "no page was open for 4 s"
        assert page._state()["live"]["troubles"] == ["no page was open for 4 s"]  # type: ignore[index]
        page.watch.trouble = ""
        until(lambda: page._state()["live"]["troubles"] == [])  # type: ignore[index]
