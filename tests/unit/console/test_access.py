"""Tokens of users: hashed, with roles and an end, revoked while pages are open; wrong ones are limited and noted."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import http.client
import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.cli import main
from eqa_nodes.console.access import ROLES, Visitor, need_of
from eqa_nodes.console.audit import AuditLog
from eqa_nodes.console.guessing import WITHIN_S, WRONG, WrongTokens
from eqa_nodes.console.records import Records
from eqa_nodes.console.server import rules_for
from eqa_nodes.console.tokens import DAY_S, TokenFile
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.console_server import serving
from tests.unit.console.test_web import Browser


@pytest.fixture
def file(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "own" / "tokens.json")


@pytest.fixture
def console(tmp_path: Path, file: TokenFile) -> Iterator[Any]:
    """A console with a file of tokens and an audit log that holds texts."""
    with closing(AuditLog(tmp_path / "audit.jsonl", texts=True)) as log:
        rules = rules_for("127.0.0.1", ask_token=False, tokens=file, records=Records(log))
        with serving(tmp_path, rules) as (server, page, robot):
            yield server, page, robot, log


def entered(url: str, token: str) -> Browser:
    browser = Browser(url)
    reply = browser.ask("/enter", {"token": token})
    assert reply.status == 200, reply.json
    assert "httponly" in reply.headers["set-cookie"].lower() and "secure" not in reply.headers["set-cookie"].lower()
    browser.cookie = reply.headers["set-cookie"].split(";")[0]
    return browser


def noted(log: AuditLog, **wanted: object) -> list[dict[str, object]]:
    return [entry for entry in log.newest() if all(entry.get(k) == v for k, v in wanted.items())]


def test_a_token_is_stored_as_a_hash_and_known_by_it(file: TokenFile, monkeypatch: pytest.MonkeyPatch) -> None:
    token, secret = file.add("anna", ["ask"], 1.0)
    assert file.visitor(secret) == Visitor("anna", frozenset({"ask"}), token.id)
    text = file.path.read_text()
    assert secret not in text and secret.split("_", 2)[2] not in text and file.path.stat().st_mode & 0o777 == 0o600
    for wrong in ("", secret[:-1], secret + "x", f"eqa_{token.id}_", f"eqa_{token.id}", "eqa__", "é_ü_ö", "\ud800"):
        assert file.visitor(wrong) is None
    monkeypatch.setattr("eqa_nodes.console.tokens.time.time", lambda: token.expires - 1.0)
    assert file.visitor(secret) is not None
    monkeypatch.setattr("eqa_nodes.console.tokens.time.time", lambda: token.expires)
    assert file.visitor(secret) is None


def test_another_process_changes_the_file_and_it_counts(file: TokenFile) -> None:
    other = TokenFile(file.path)
    token, secret = other.add("anna", ["look"], 1.0)
    assert file.visitor(secret) is not None
    assert [t.id for t in other.revoke("anna")] == [token.id] and other.revoke(token.id) == []
    assert file.visitor(secret) is None
    _, secret = other.add("anna", ["look"], 1.0)
    assert file.visitor(secret) is not None
    good = file.path.read_text()
    file.path.write_text("{")  # half of a file: what was valid stays valid, and the page says why
    assert file.visitor(secret) is not None and "were not taken over" in file.trouble
    file.path.write_text(good)
    assert file.visitor(secret) is not None and file.trouble == ""
    file.path.unlink()
    assert file.visitor(secret) is None


def test_what_is_no_token_is_refused_by_name(file: TokenFile) -> None:
    for user, roles, days, says in (("", ["ask"], 1.0, "user ''"), ("a b", ["ask"], 1.0, "user 'a b'"),
                                    ("anna", ["king"], 1.0, "unknown role 'king'"), ("anna", [], 1.0, "one role"),
                                    ("anna", ["ask"], 0.0, "--days is 0"), ("anna", ["ask"], 9999.0, "--days is 9999")):
        with pytest.raises(ConfigError, match=says):
            file.add(user, roles, days)
    with pytest.raises(ConfigError, match="no token or user 'nobody'"):
        file.revoke("nobody")
    file.add("anna", ["ask"], 1.0)
    os.chmod(file.path, 0o666)
    with pytest.raises(ConfigError, match="others may write"):
        TokenFile(file.path)
    os.chmod(file.path, 0o600)
    file.path.write_text('{"version": 2, "tokens": []}')
    with pytest.raises(ConfigError, match="version 2"):
        TokenFile(file.path)


def test_old_tokens_are_forgotten(file: TokenFile, monkeypatch: pytest.MonkeyPatch) -> None:
    file.add("anna", ["ask"], 1.0)
    later = time.time() + 100 * DAY_S
    monkeypatch.setattr("eqa_nodes.console.tokens.time.time", lambda: later)
    file.add("ben", ["ask"], 1.0)
    assert [t.user for t in file.tokens().values()] == ["ben"]


def test_everybody_may_stop() -> None:
    for role in ROLES:
        assert Visitor("x", frozenset({role})).may(need_of("POST", "/stop"))
        assert Visitor("x", frozenset({role})).may(need_of("POST", "/questions/3/cancel"))


@pytest.mark.parametrize(("role", "may"), [("look", "look"), ("ask", "look ask"), ("stop", ""),
                                           ("admin", "look ask admin")])
def test_a_role_may_do_its_part_and_stop(console: Any, file: TokenFile, role: str, may: str) -> None:
    server, _, robot, log = console
    browser = entered(server.url, file.add("anna", [role], 1.0)[1])
    assert browser.ask("/").status == 200
    assert browser.ask("/live/camera.jpg").status == (200 if "look" in may else 403)
    assert browser.ask("/runs").status == (200 if "look" in may else 403)
    assert browser.ask("/audit").status == (200 if "admin" in may else 403)
    reply = browser.ask("/questions", {"text": "Where is the desk?"})
    assert reply.status == (200 if "ask" in may else 403), reply.json
    if "ask" not in may:
        assert reply.json == {"error": "anna has no token for this: it needs the role ask"}
    assert browser.ask("/stop", {}).status == 200 and robot.stopped.is_set()
    asked, = noted(log, action="asked", user="anna")
    assert asked["address"] == "127.0.0.1"
    assert (asked["outcome"], asked.get("text")) == (("ok", "Where is the desk?") if "ask" in may else (
        "refused (403)", None))
    assert len(noted(log, action="stopped", user="anna", outcome="ok")) == 1
    assert len(noted(log, action="looked", what="camera")) == ("look" in may)


def test_a_revoked_token_ends_open_streams_and_the_next_request(console: Any, file: TokenFile) -> None:
    server, _, _, log = console
    token, secret = file.add("anna", ["ask"], 1.0)
    browser = entered(server.url, secret)
    with closing(http.client.HTTPConnection(browser.host, timeout=WAIT_S)) as connection:
        connection.request("GET", "/events", headers={"Cookie": browser.cookie})
        reply = connection.getresponse()
        assert reply.readline().startswith(b"event: ")
        began = time.monotonic()
        TokenFile(file.path).revoke(token.id)
        while reply.readline():
            pass
        assert time.monotonic() - began < WAIT_S
    reply = browser.ask("/questions", {"text": "Where is the desk?"})
    assert reply.status == 401 and "was revoked" in reply.json["error"]
    assert browser.ask("/stop", {}).status == 401  # a stop needs a token of the present
    assert len(noted(log, action="token refused")) == 1  # once, not for each request


def test_wrong_tokens_are_limited_and_right_pages_go_on(console: Any, file: TokenFile) -> None:
    server, _, _, log = console
    _, secret = file.add("anna", ["ask"], 1.0)
    page, guesser = entered(server.url, secret), Browser(server.url)
    replies = [guesser.ask("/enter", {"token": f"eqa_{n:08x}_x"}).status for n in range(WRONG + 3)]
    assert replies == [403] * WRONG + [429] * 3
    assert guesser.ask("/enter", {"token": secret}).status == 429
    assert page.ask("/runs").status == 200 and page.ask("/stop", {}).status == 200
    assert len(noted(log, action="token refused")) == WRONG


def test_the_limit_ends_and_forgets() -> None:
    now = 100.0
    wrong = WrongTokens(lambda: now)
    assert all(wrong.wrong("a", str(n)) for n in range(WRONG)) and not wrong.wrong("a", "0")
    assert wrong.wait_s("a") == WITHIN_S and wrong.wait_s("b") == 0.0 and not wrong.wrong("a", "another")
    now += WITHIN_S
    assert wrong.wait_s("a") == 0.0
    for n in range(2000):
        wrong.wrong(f"address {n}", "x")
    assert len(wrong._wrong) == 1000


def test_a_proxy_names_the_client_and_nobody_else_does(tmp_path: Path, file: TokenFile) -> None:
    secret = file.add("anna", ["ask"], 1.0)[1]
    for proxy, address, secure in (("127.0.0.1", "10.0.0.7", True), ("", "127.0.0.1", False)):
        with closing(AuditLog(tmp_path / f"audit-{secure}.jsonl")) as log:
            rules = rules_for("127.0.0.1", False, tokens=file, names=["Robots.example"], proxy=proxy,
                              records=Records(log))
            with serving(tmp_path / str(secure), rules) as (server, _, _):
                reply = Browser(server.url).ask("/enter", {"token": secret}, Host="robots.example",
                                                X_Forwarded_For="6.6.6.6, 10.0.0.7", X_Forwarded_Proto="https")
                assert reply.status == 200 and ("secure" in reply.headers["set-cookie"].lower()) == secure
                assert noted(log, action="token used", user="anna")[0]["address"] == address


def test_tokens_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["token", "add", "anna", "--role", "look", "stop", "--days", "2"]) == 0
    secret = capsys.readouterr().out.split()[0]
    file = TokenFile(tmp_path / "eqa" / "tokens.json")
    visitor = file.visitor(secret)
    assert visitor is not None and visitor.roles == {"look", "stop"}
    assert main(["token", "list"]) == 0
    listed = capsys.readouterr().out
    assert "anna" in listed and "valid" in listed and secret not in listed
    assert main(["token", "revoke", "anna"]) == 0 and file.visitor(secret) is None
    assert main(["token", "revoke", "ben"]) == 2
    assert "no token or user 'ben'" in capsys.readouterr().err
    assert json.loads(file.path.read_text())["tokens"][0]["revoked"] > 0.0
    assert main(["token", "list"]) == 0 and "revoked" in capsys.readouterr().out
    assert main(["console", "--tokens", str(tmp_path / "none.json")]) == 2
    assert "holds no token: eqa token add" in capsys.readouterr().err


def test_the_stream_beats_although_nothing_happens(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, _), closing(
            http.client.HTTPConnection(server.url.split("/")[2], timeout=WAIT_S)) as connection:
        connection.request("GET", "/events")
        reply = connection.getresponse()
        assert any(line == b"event: beat\n" for line in iter(reply.readline, b""))


def test_troubles_are_on_the_page(tmp_path: Path) -> None:
    said = ["the audit log cannot be written"]
    with serving(tmp_path, troubles=(lambda: said[0],)) as (_, page, _):
        assert page._state()["live"]["troubles"] == said  # type: ignore[index]
        said[0] = ""
        until(lambda: page._state()["live"]["troubles"] == [])  # type: ignore[index]


def test_parameters_that_somebody_changes_are_noted(console: Any) -> None:
    _, _, robot, log = console
    robot.changed("/memory", ["ahead_s"])
    entry, = noted(log, action="parameters changed")
    assert (entry["node"], entry["names"]) == ("/memory", ["ahead_s"])
