"""The console of a real graph: tokens revoked, a full disk under its audit log, a renewed certificate, no operator.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.chaos.disk import Disk
from benchmarks.chaos.fleet import Drilled
from benchmarks.chaos.fleet.certificates import make_certificate, make_expired
from eqa_nodes.console.guessing import WRONG
from eqa_nodes.console.tls import LOOK_S
from eqa_nodes.console.tokens import TokenFile

SCENE, QUESTION = "house:206", "How many ironing boards are there in the house?"
SILENCE_S = 3.0
WAIT_S = 120.0  # for anything: the drill is not about speed
SOON_S = 10.0  # for what has to hold "within seconds" on a busy machine


class Operator:
    """A page of a user, as the console sees it."""

    def __init__(self, url: str, cert: Path, token: str) -> None:
        self.host = url.split("/")[2]
        self._context = ssl.create_default_context(cafile=str(cert))
        self.cookie = ""
        self.entered = self._enter(token)

    def ask(self, path: str, body: object = None) -> tuple[int, Any]:
        """Send a request; return status and JSON, None where the reply is none."""
        with closing(self.connection()) as connection:
            headers = {"Cookie": self.cookie, "Content-Type": "application/json"}
            connection.request("GET" if body is None else "POST", path,
                               None if body is None else json.dumps(body), headers)
            reply = connection.getresponse()
            data = reply.read()
            return reply.status, json.loads(data) if data[:1] in (b"{", b"[") else None

    def connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self.host, timeout=WAIT_S, context=self._context)

    def state(self) -> dict[str, Any]:
        """Return the first state of the stream: live and questions."""
        with closing(self.connection()) as connection:
            connection.request("GET", "/events", headers={"Cookie": self.cookie})
            found, name = dict[str, Any](), ""
            for line in iter(connection.getresponse().readline, b""):
                if line.startswith(b"event: "):
                    name = line[7:].decode().strip()
                elif line.startswith(b"data: "):
                    found[name] = json.loads(line[6:])
                elif len(found) >= 2:
                    return found
            return found

    def question(self, number: int) -> dict[str, Any]:
        """Return a question by its number."""
        return next(dict(q) for q in self.state()["questions"] if q["id"] == number)

    def _enter(self, token: str) -> int:
        with closing(self.connection()) as connection:
            connection.request("POST", "/enter", json.dumps({"token": token}), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            self.cookie = (reply.headers["Set-Cookie"] or "").split(";")[0]
            return reply.status


def drill(drilled: Drilled, folder: Path, seed: int) -> None:
    """Start a console over a graph of its own, and break what an operator relies on."""
    cert, key = make_certificate(folder, "robot")
    tokens, logs = TokenFile(folder / "tokens.json"), Disk(folder / "logs")
    users = {name: tokens.add(name, [role], 1.0) for name, role in (
        ("anna", "ask"), ("ben", "ask"), ("vera", "look"), ("chief", "admin"))}
    secrets = {name: secret for name, (_, secret) in users.items()}
    options = ["--tokens", str(tokens.path), "--tls-cert", str(cert), "--tls-key", str(key), "--audit",
               str(folder / "logs" / "audit.jsonl"), "--dead-man", str(SILENCE_S), "--page-lost", "pause"]
    try:
        with _console(folder, options) as (url, pid):
            pages = {name: Operator(url, cert, secret) for name, secret in secrets.items()}
            _until(lambda: pages["chief"].state()["live"]["ready"], "the robot did not start")
            _tokens(drilled, pages, tokens, url, cert)
            _heartbeat(drilled, pages["anna"])
            _audit(drilled, pages, logs, pid)
            _certificate(drilled, pages["chief"], folder, cert, key)
        _log(drilled, folder / "logs" / "audit.jsonl")
    finally:
        logs.close()


@contextmanager
def _console(folder: Path, options: list[str]) -> Iterator[tuple[str, int]]:
    words = [sys.executable, "-m", "eqa_nodes.cli", "console", "--scene", SCENE, "--port", "0", "--max-steps", "400",
             "--out", str(folder / "run"), "--runs", str(folder / "run"), *options]
    with (folder / "console.log").open("w+") as log:
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "COLUMNS": "300"})
        try:
            found: list[str] = []

            def said() -> bool:
                lines = (folder / "console.log").read_text().splitlines()
                found[:] = [line[5:].strip() for line in lines if line.startswith("open ")]
                if process.poll() is not None:
                    raise RuntimeError(f"the console ended: {lines[-3:]}")
                return bool(found)

            _until(said, "the console did not start")
            yield found[0], process.pid
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def _tokens(drilled: Drilled, pages: dict[str, Operator], tokens: TokenFile, url: str, cert: Path) -> None:
    drilled.check(pages["vera"].ask("/questions", {"text": QUESTION})[0] == 403, "a token to look could ask")
    drilled.check(pages["vera"].ask("/stop", {})[0] == 200, "a token to look could not stop the robot")
    ben, ended = pages["ben"], threading.Event()
    with closing(ben.connection()) as connection:
        connection.request("GET", "/events", headers={"Cookie": ben.cookie})
        stream = connection.getresponse()
        stream.readline()

        def read() -> None:
            while stream.readline():
                pass
            ended.set()

        threading.Thread(target=read, daemon=True).start()
        began = time.monotonic()
        tokens.revoke("ben")
        drilled.check(ended.wait(SOON_S), f"the stream of a revoked token went on for {SOON_S:g} s")
        drilled.notes.append(f"a revoked token's stream ended after {time.monotonic() - began:.1f} s")
    drilled.check(ben.ask("/questions", {"text": QUESTION})[0] == 401, "a revoked token could ask")
    tried = [Operator(url, cert, f"eqa_{n:08x}_guess").entered for n in range(WRONG + 2)]
    wrong = WRONG - 1  # the revoked token of this address counts too
    drilled.check(tried == [403] * wrong + [429] * (len(tried) - wrong), f"wrong tokens got {tried}")
    drilled.check(pages["anna"].ask("/stop", {})[0] == 200, "guesses of others kept an open page from stopping")


def _heartbeat(drilled: Drilled, anna: Operator) -> None:
    """Let anna's page fall silent while her question runs, and come back."""
    number = anna.ask("/questions", {"text": QUESTION})[1]["id"]
    _until(lambda: anna.question(number)["state"] != "waiting" or anna.question(number)["progress"] is not None,
           "the question did not begin")
    began = time.monotonic()
    _until(lambda: anna.question(number)["paused"] or anna.question(number)["state"] == "ended", "nothing was paused")
    drilled.notes.append(f"a silent page paused its question after {time.monotonic() - began:.1f} s "
                         f"(limit {SILENCE_S:g} s)")
    drilled.check(anna.question(number)["paused"], "the question of a silent page ended instead of being paused")
    drilled.check(any("no page of anna" in t for t in anna.state()["live"]["troubles"]), "the pages do not say it")
    _until(lambda: not anna.state()["live"]["running"], "the robot went on for a paused question")
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(SILENCE_S / 4):
            anna.ask("/alive", {})

    threading.Thread(target=beat, daemon=True).start()
    try:
        _until(lambda: anna.question(number)["state"] == "ended", "a resumed question did not end")
    finally:
        stop.set()
    q = anna.question(number)
    drilled.check(not q.get("error"), f"the resumed question ended with {q.get('error')}: {q.get('message')}")


def _audit(drilled: Drilled, pages: dict[str, Operator], logs: Disk, pid: int) -> None:
    logs.fill(pid)
    chief = pages["chief"]
    for _ in range(200):  # a full disk may have some bytes left
        chief.ask("/stop", {})
        if told := [t for t in chief.state()["live"]["troubles"] if "audit log" in t]:
            break
    drilled.check(bool(told), "nobody told the operator that the audit log cannot be written")
    status, reply = pages["anna"].ask("/questions", {"text": QUESTION})
    drilled.check(status == 200, f"with a full disk under the audit log a question got {status}: {reply}")
    pages["anna"].ask("/alive", {})
    logs.free()
    _until(lambda: not any("audit log" in t for t in chief.state()["live"]["troubles"]), "the audit log stayed broken")
    drilled.check(chief.ask("/stop", {})[0] == 200, "the robot could not be stopped")


def _certificate(drilled: Drilled, chief: Operator, folder: Path, cert: Path, key: Path) -> None:
    host, port = chief.host.split(":")

    def served() -> str:
        return ssl.get_server_certificate((host, int(port)), timeout=WAIT_S)

    before = served()
    old = make_expired(folder)
    for new, file in zip(old, (cert, key)):
        shutil.copy(new, file)
    time.sleep(2 * LOOK_S)  # long enough to be looked at
    drilled.check(served() == before, "an expired certificate replaced a valid one")
    for new, file in zip(make_certificate(folder, "renewed"), (cert, key)):
        shutil.copy(new, file)
    _until(lambda: served() != before, "a renewed certificate was not served")


def _log(drilled: Drilled, path: Path) -> None:
    """Check that the audit log, of a console that has ended, names who did what, and holds no token."""
    text = path.read_text()
    entries = [json.loads(line) for line in text.splitlines()]
    for user, action in (("anna", "asked"), ("vera", "asked"), ("vera", "stopped"), ("anna", "page lost"),
                         ("chief", "looked"), ("anna", "token used"), ("", "token refused")):
        drilled.check(any((e["user"], e["action"]) == (user, action) for e in entries),
                      f"the audit log has no {action!r} of {user or 'nobody'}")
    drilled.check("eqa_" not in text and QUESTION not in text, "the audit log holds a token or a question")
    drilled.notes.append(f"{len(entries)} entries of the audit log, none of them torn")


def _until(holds: Callable[[], object], problem: str) -> None:
    end = time.monotonic() + WAIT_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{problem} within {WAIT_S:g} s")
        time.sleep(0.2)
