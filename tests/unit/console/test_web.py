"""The console over HTTP: live state, pictures, past episodes, and who is refused."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import http.client
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from eqa_nodes.bench.report.traces import load_trace, save_trace
from eqa_nodes.bench.running.predictions import PREDICTIONS
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.console.live import READERS
from eqa_nodes.console.web import cookie_of, listening, rules_for
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.testing.waiting import WAIT_S
from tests.fixtures.console_browser import Browser, events
from tests.fixtures.console_server import STORY, ended, serving
from tests.fixtures.synthetic_run import make_run


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Any]:
    with serving(tmp_path) as (server, page, robot):
        yield Browser(server.url), page, robot


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One console for all requests that it refuses: they leave it as it was."""
    with serving(tmp_path_factory.mktemp("refusing")) as (server, page, robot):
        yield Browser(server.url), page, robot


def test_a_page_sees_a_question_from_the_line_to_the_answer(console: Any) -> None:
    browser, _, robot = console
    with closing(http.client.HTTPConnection(browser.host, timeout=WAIT_S)) as connection:
        heard = events(connection)
        assert next(heard)[1]["place"] == "toy:fake" and next(heard) == ("questions", [])
        assert browser.ask("/questions", {"text": " Where is the desk? "}).json == {"id": 1}
        live = next(value for name, value in heard if name == "live" and value["goals"])
        assert live["goals"] == [{"n": 1, "reason": STORY.decisions[0].reason}] and live["running"]
        robot.go.set()
        (entry,) = next(value for name, value in heard if name == "questions" and value[0]["state"] == "ended")
    assert (entry["question"], entry["answer"], entry["confidence"]) == ("Where is the desk?", "in the study", 0.9)
    assert entry["cost"]["privileged"] == ["labels"] and entry["cost"]["tokens"] == 840
    assert entry["proofs"][0]["note"] == "desk" and entry["replay"] == "own/0"
    proof = browser.ask("/questions/1/proof/0.jpg")
    assert proof.body[:2] == b"\xff\xd8" and proof.headers["content-type"] == "image/jpeg"
    assert browser.ask("/questions/1/proof/1.jpg").status == 404


def test_a_slow_page_gets_the_newest_state_and_no_queue(console: Any) -> None:
    browser, _, robot = console
    with closing(http.client.HTTPConnection(browser.host, timeout=WAIT_S)) as connection:
        heard = events(connection)
        next(heard)
        for _ in range(5000):
            robot.live.changed()
        newest = robot.live.version
        states = list(takewhile(lambda live: live["map"] != newest, (live for name, live in heard if name == "live")))
    assert len(states) < 500


def test_pictures_are_the_newest_and_can_do_nothing(console: Any) -> None:
    browser, _, robot = console
    first = browser.ask("/live/camera.jpg")
    assert first.body[:2] == b"\xff\xd8" and "sandbox" in first.headers["content-security-policy"]
    for stamp, pose in STORY.poses:
        robot.live.moved(stamp, pose)
    svg = browser.ask("/live/map.svg")
    shown = ElementTree.fromstring(svg.body)
    assert svg.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in svg.headers["content-security-policy"]
    titles = [e.text for e in shown.iter("{http://www.w3.org/2000/svg}title")]
    assert "the robot" in titles


def test_texts_of_questions_reasons_and_answers_stay_texts(console: Any) -> None:
    browser, page, robot = console
    hostile = '</title><script>alert("x")</script>'
    robot.live.began(hostile)
    robot.live.decided(STORY.decisions[0]._replace(reason=hostile))
    robot.live.moved(*STORY.poses[3])
    svg = browser.ask("/live/map.svg").body
    assert b"<script" not in svg and b"&lt;script" in svg
    assert browser.ask("/questions", {"text": hostile}).status == 200
    assert page.questions.entry(1).question.text == hostile  # the page sets it as text, under a policy without scripts
    assert "script-src 'self'" in browser.ask("/").headers["content-security-policy"]


@pytest.mark.parametrize(("path", "body", "status"), [
    ("/questions", {"text": " "}, 400), ("/questions", {"text": 7}, 400), ("/questions", {}, 400),
    ("/questions", {"text": "Where?", "explore": "yes"}, 400), ("/questions", [], 400),
    ("/questions", {"text": "Where?", "show": 1}, 400),
    ("/questions", {"text": "x" * 2001}, 400), ("/questions", {"text": "x" * 30_000}, 413),
    ("/questions/9/cancel", {}, 404), ("/questions/x/cancel", {}, 404), ("/nothing", {}, 404), ("/events", {}, 405)])
def test_what_cannot_be_done_is_refused_in_words(refusing: Any, path: str, body: object, status: int) -> None:
    reply = refusing[0].ask(path, body)
    assert reply.status == status and reply.json["error"]
    assert refusing[1].questions.entries() == []


def test_before_the_robot_is_there_its_pictures_and_inquiries_are_absent(tmp_path: Path) -> None:
    with serving(tmp_path, begin=False) as (server, _, robot):
        browser = Browser(server.url)
        for path in ("/live/camera.jpg", "/live/place", "/live/call/1/0.jpg"):
            reply = browser.ask(path)
            assert reply.status == 404 and "still starting" in reply.json["error"], path
        assert browser.ask("/inquiries/a1", {"option": 1}).status == 404 and not robot.replies


def test_stop_ends_all_that_is_asked(console: Any) -> None:
    browser, page, robot = console
    for text in ("Where?", "Show me the desk"):
        assert browser.ask("/questions", {"text": text, "show": True}).status == 200
    assert robot.driving.wait(WAIT_S)
    assert browser.ask("/stop", {}).status == 200 and robot.stopped.is_set()
    for number in (1, 2):
        ended(page, number)
        assert page.questions.entry(number).question.show


def test_broken_requests_are_refused(console: Any) -> None:
    browser = console[0]
    assert browser.ask("/questions", raw=b"{").status == 400
    assert browser.ask("/questions", raw=b"[" * 10_000).status == 400
    for path in ("/page/console.py", "/page/..%2fapp.py", "/page/", "/page/%2e%2e/app.py", "/live/depth.jpg"):
        assert browser.ask(path).status == 404, path


def test_pages_of_other_sites_neither_read_nor_act(console: Any) -> None:
    browser, page, _ = console
    ask = {"text": "Where?"}
    assert browser.ask("/events", Host="evil.example").status == 421
    assert browser.ask("/", Host=f"evil.example:{browser.host.rpartition(':')[2]}").status == 421
    assert browser.ask("/questions", ask, Host="192.168.0.7").status == 421  # nobody but this machine is served
    assert browser.ask("/questions", ask, Origin="http://evil.example").status == 403
    assert browser.ask("/questions", ask, Origin="null").status == 403
    assert browser.ask("/questions", ask, Content_Type="text/plain").status == 403
    assert browser.ask("/questions", ask, Content_Type="application/x-www-form-urlencoded").status == 403
    for site in ("cross-site", "same-site"):
        assert browser.ask("/live/camera.jpg", Sec_Fetch_Site=site).status == 403
    assert browser.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200  # a link to the page
    assert page.questions.entries() == []
    assert browser.ask("/questions", ask, Origin=f"http://{browser.host}", Sec_Fetch_Site="same-origin").status == 200
    headers = browser.ask("/").headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"] and headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin" and headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def test_a_token_is_asked_for_and_never_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rules = rules_for("127.0.0.1", ask_token=True)
    with serving(tmp_path, rules) as (server, _, _robot):
        address, _, token = server.url.partition("#")
        assert token == rules.token and len(token) >= 32 and address.endswith("/enter")
        browser = Browser(server.url)
        for path in ("/events", "/live/camera.jpg", "/runs", "/questions/1/proof/0.jpg", "/page/console.js"):
            assert browser.ask(path).status == 401, path
        assert browser.ask("/questions", {"text": "Where?"}).status == 401
        landed = browser.ask("/")
        assert landed.status == 303 and landed.headers["location"] == "/enter"
        assert browser.ask("/enter").status == 200
        for wrong in ("", "x", token[:-1], token + "x", "ü", 7, None):
            assert browser.ask("/enter", {"token": wrong}).status == 403
        entered = browser.ask("/enter", {"token": token})
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
        browser.cookie = f"{cookie_of(browser.host)}={token[:-1]}{'b' if token[-1] == 'a' else 'a'}"
        assert browser.ask("/runs").status == 401
        browser.cookie = f"{cookie_of(browser.host)}=\"; {cookie_of(browser.host)}"
        assert browser.ask("/runs").status == 401
        browser.cookie = cookie.split(";")[0]
        assert browser.ask("/runs").status == 200 and browser.ask("/").status == 200
        assert browser.ask("/questions", {"text": "Where?"}, Origin="http://evil.example").status == 403
    printed = capfd.readouterr()
    assert token not in printed.out + printed.err
    assert not any(token in f.read_text(errors="replace") for f in tmp_path.rglob("*") if f.is_file())


def test_an_open_address_asks_for_a_token_and_knows_its_names() -> None:
    rules = rules_for("0.0.0.0", ask_token=False)
    assert rules.token and rules.token != rules_for("0.0.0.0", ask_token=False).token
    assert rules.knows("192.168.0.7:8090") and rules.knows("localhost:8090") and rules.knows("[fe80::1]:8090")
    assert not rules.knows("evil.example:8090") and not rules.knows("") and not rules.knows("[::1")
    local = rules_for("127.0.0.1", ask_token=False)
    assert not local.token and local.knows("127.0.0.1:1") and not local.knows("192.168.0.7")


def test_a_taken_port_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, _robot):
        port = int(server.url.rstrip("/").rpartition(":")[2])
        with pytest.raises(ConfigError, match="another --port"):
            listening("127.0.0.1", port)


def test_too_many_readers_are_refused_and_those_who_leave_make_room(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, page, _):
        host = server.url.split("/")[2]
        open_ones = [http.client.HTTPConnection(host, timeout=WAIT_S) for _ in range(READERS)]
        streams = [events(connection) for connection in open_ones]
        assert all(next(stream)[0] == "live" for stream in streams)
        assert Browser(server.url).ask("/events").status == 503
        for stream, connection in zip(streams, open_ones, strict=True):
            stream.close()
            connection.close()
        for _ in range(1000):
            page.feed.ring()
            if Browser(server.url).ask("/runs").status == 200 and page.feed.readers < READERS:
                return
    raise AssertionError("readers that left still count")


def test_the_server_ends_although_a_page_is_open(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, _robot):
        connection = http.client.HTTPConnection(server.url.split("/")[2], timeout=WAIT_S)
        stream = events(connection)
        next(stream)
    assert all(name != "live" for name, _ in stream)  # the stream has come to its end
    with pytest.raises(ConnectionRefusedError):
        Browser(server.url).ask("/runs")
    connection.close()


def test_past_episodes_are_listed_and_replayed(tmp_path: Path) -> None:
    make_run(tmp_path / "bench run")
    with serving(tmp_path) as (server, page, robot):
        robot.go.set()
        page.questions.put("Where is the desk?")
        ended(page, 1)
        browser = Browser(server.url)
        assert {run["name"] for run in browser.ask("/runs").json} == {"own", "bench run"}
        (own,) = browser.ask("/runs/own").json
        assert own["answer"] == "in the study" and own["replay"]
        episodes = browser.ask("/runs/bench%20run").json
        assert len(episodes) == 5 and sum(bool(e["error"]) for e in episodes) == 2
        episode = browser.ask("/runs/bench%20run/0").json
        assert [g["n"] for g in episode["goals"]] == [1, 2, 3] and episode["reference"]
        first, last = episode["moments"][0], episode["moments"][-1]
        assert first["m"] == 0 and last["m"] > 5 and last["goal"] == 3 and last["view"] == episode["views"] - 1
        svgs = [browser.ask(f"/runs/bench%20run/0/map/{at}.svg").body for at in (0, len(episode["moments"]) - 1)]
        assert svgs[0].count(b'class="goal"') == 1 and svgs[1].count(b'class="goal"') == 3
        assert browser.ask("/runs/bench%20run/0/view/0.jpg").body[:2] == b"\xff\xd8"
        for path in ("0/map/9999.svg", "0/view/99.jpg", "99", "0/map/-1.svg"):
            assert browser.ask(f"/runs/bench%20run/{path}").status == 404, path


def test_no_name_leads_out_of_the_folder_of_runs(tmp_path: Path) -> None:
    runs, secret = tmp_path / "runs", tmp_path / "secret"
    make_run(secret)
    make_run(runs / "ours")
    (runs / "link").symlink_to(secret)
    lines = (runs / "ours" / PREDICTIONS).read_text()
    shutil.copy(next((secret / "episodes").rglob("trace.zip")), secret / "trace.zip")
    trace = json.loads(lines.splitlines()[0])["trace"]
    (runs / "ours" / PREDICTIONS).write_text(lines.replace(trace, "../../secret/trace.zip"))
    with serving(runs) as (server, _, _robot):
        browser = Browser(server.url)
        assert {run["name"] for run in browser.ask("/runs").json} == {"ours"}
        for name in ("link", "..", "%2e%2e", "..%2fsecret", "../secret", "%2Fetc", "ours%2f..%2f..%2fsecret"):
            assert browser.ask(f"/runs/{name}").status == 404, name
        assert browser.ask("/runs/ours/0").status == 404


def test_one_foreign_entry_hides_no_run(tmp_path: Path) -> None:
    """Names of any bytes, loops of links, what may not be entered, what is no folder: each run is listed and opens."""
    runs = tmp_path / "runs"
    odd = [os.fsdecode(name) for name in (b"not \xff\xfe utf-8", b"two\nlines", "\u202ebackwards".encode(), b"a" * 255,
                                          b"50%2f..%00", b"<b>", b"not \xff\xfd utf-8", b"#?&", b" ", "ünï".encode())]
    make_run(runs / "plain")
    for name in odd:
        shutil.copytree(runs / "plain", runs / name)
    (runs / "loop").symlink_to(runs / "loop")
    (runs / "half").symlink_to(runs / "nowhere")
    (runs / "no folder").write_text("x")
    (runs / "looped").mkdir()
    (runs / "looped" / PREDICTIONS).symlink_to(runs / "looped" / PREDICTIONS)
    (runs / "folders" / PREDICTIONS).mkdir(parents=True)
    (runs / "pipe").mkdir()
    os.mkfifo(runs / "pipe" / PREDICTIONS)
    (runs / "locked").mkdir(mode=0)
    shutil.copytree(runs / "plain", runs / "own")  # the console's own run has this name too
    with serving(tmp_path / "here", runs=runs) as (server, page, robot):
        robot.go.set()
        page.questions.put("Where is the desk?")
        ended(page, 1)
        browser = Browser(server.url)
        listed = [run["name"] for run in browser.ask("/runs").json]
        assert len(listed) == len(set(listed)) == len(odd) + 3 and {"plain", "own", "own (2)", "ünï"} <= set(listed)
        assert all(name.isprintable() for name in listed)
        for name in listed:
            assert len(browser.ask(f"/runs/{quote(name, safe='')}").json) == (1 if name == "own" else 5), name
            assert browser.ask(f"/runs/{quote(name, safe='')}/0").status == 200, name
    (runs / "locked").chmod(0o700)


def test_a_console_shows_its_own_run_where_the_folder_of_runs_cannot_be_read(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for folder in (tmp_path / "nowhere", loop, tmp_path / "own" / SAMPLES, Path("/root/x" * 900)):
        with serving(tmp_path, runs=folder) as (server, page, robot):
            robot.go.set()
            page.questions.put("Where is the desk?")
            ended(page, 1)
            assert [run["name"] for run in Browser(server.url).ask("/runs").json] == ["own"], folder


def test_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    first, second, *_ = sorted((tmp_path / "a" / "episodes").rglob("trace.zip"))
    first.write_bytes(b"no zip")
    story = load_trace(second)
    save_trace(second, replace(story, keyframes=[replace(k, jpeg=b"no image") for k in story.keyframes]))
    with serving(tmp_path) as (server, _, _robot):
        reply = Browser(server.url).ask("/runs/a/0")
        assert reply.status == 409 and "not a readable trace" in reply.json["error"]
        reply = Browser(server.url).ask("/runs/a/1/view/0.jpg")
        assert reply.status == 409 and "image" in reply.json["error"]
