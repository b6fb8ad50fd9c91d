"""The console in headless Chromium over a real graph: ask, watch, read the answer with its picture, stop, replay."""

from __future__ import annotations

from tests.fixtures.needs import need_console, need_ros

need_ros()
need_console()

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.ros.runner import RunningGraph
from tests.fixtures.browser import ARGUMENTS, SCREEN, chromium, overflow
from tests.fixtures.courses import parameters

WAIT_S = 240.0  # a busy machine may be slow to start a graph
WAIT_MS = 1000 * WAIT_S
NARROW = (360, 740)


class Running:
    """`eqa console` as a person starts it."""

    def __init__(self, *words: str, **environment: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "eqa_nodes.cli", "console", "--port", "0", *words],
                                        env={**os.environ, **environment}, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.url = next(line.split()[1] for line in iter(self._line, "") if line.startswith("open "))

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line)
        self.lines.put("")

    def _line(self) -> str:
        return self.lines.get(timeout=WAIT_S)

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(WAIT_S)


@contextmanager
def console(*words: str, **environment: str) -> Iterator[Running]:
    running = Running(*words, **environment)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait(WAIT_S)


@contextmanager
def page_of(url: str, size: tuple[int, int] = SCREEN) -> Iterator[Any]:
    """Show the page. Fails at the end for errors of the page, and when it asked for anything of another server."""
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'eqa-nodes[dev]'")
    faults: list[str] = []
    outside: list[str] = []
    root = url.partition("#")[0].removesuffix("enter")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        try:
            page = browser.new_page(viewport={"width": size[0], "height": size[1]})
            page.set_default_timeout(WAIT_MS)
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else 0)
            page.on("request", lambda request: outside.append(request.url))
            page.goto(url)
            yield page
        finally:
            browser.close()
    assert not faults, faults
    assert all(asked.startswith((root, "blob:", "data:")) for asked in outside), outside


def ask(page: Any, question: str) -> None:
    page.fill("#text", question)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"article h2:has-text('{question}')")


def changed(page: Any, image: str, before: str) -> str:
    """Wait until another picture is shown, and return its address."""
    page.wait_for_function("([id, old]) => document.getElementById(id).src !== old && "
                           "document.getElementById(id).naturalWidth > 0", arg=[image, before])
    return str(page.evaluate("id => document.getElementById(id).src", image))


def children(pid: int) -> list[int]:
    """Return the process ids of a process's children."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.timeout(900)
def test_a_person_asks_watches_reads_stops_and_replays(tmp_path: Path) -> None:
    chromium()
    words = ("--scene", "toy:flat", "--image", "160x120", "--runs", str(tmp_path), "--out", str(tmp_path / "mine"))
    with console(*words) as running:
        with page_of(running.url, NARROW) as page:
            page.wait_for_selector(".link.ready")
            camera, drawn = changed(page, "camera", ""), changed(page, "map", "")
            ask(page, "Where is the plant?")
            page.wait_for_selector(".entry.asking .phase")
            camera, drawn = changed(page, "camera", camera), changed(page, "map", drawn)
            page.wait_for_selector("#goals li")
            assert page.text_content("#goals li:first-child span")
            assert overflow(page) == 0
            page.wait_for_selector(".entry.ended .answer:not(.none)")
            page.wait_for_function("document.querySelector('.entry .shot img').naturalWidth > 0")
            assert "plant" in page.text_content(".entry .outline") and "Seen:" in page.text_content(".proof figcaption")
            assert "% sure" in page.text_content(".sure") and "steps" in page.text_content(".cost")
            ask(page, "Where is the unicorn?")
            ask(page, "Is there a piano?")  # at once: on a busy machine the search may end before its phase is shown
            page.click(".entry.waiting button")
            page.click("#stop")
            page.wait_for_selector("article:has-text('unicorn') .answer:text-is('Stopped.')")
            page.wait_for_selector("#stop", state="hidden")  # the robot says that it stands after the answer is shown
            assert overflow(page) == 0
            page.click("article:has-text('plant') a:text-is('Replay')")
            page.wait_for_selector("#replay-question:text-is('Where is the plant?')")
            before, reason = changed(page, "replay-map", ""), page.text_content("#replay-reason")
            page.press("#slider", "End")
            changed(page, "replay-map", before)
            page.wait_for_selector("#replay-answer .answer")
            assert page.text_content("#replay-reason") != reason and overflow(page) == 0
            page.click("#play")
            page.wait_for_selector("#play:text-is('Pause')")
            started = children(running.process.pid)
            assert running.interrupt() == 0
            page.wait_for_selector(".link.lost")
        assert started and not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    asked = read_predictions(tmp_path / "mine").predictions
    assert [p.answer.error.name for p in asked.values()] == ["NONE", "CANCELED"]
    assert (tmp_path / "mine" / "bags" / "mine" / "metadata.yaml").exists()  # the bag was closed


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_a_running_graph_is_shown_behind_a_token_and_stays(tmp_path: Path) -> None:
    chromium()
    with RunningGraph(tmp_path / "graph", parameters(tmp_path / "graph")) as graph:
        domain = {"ROS_DOMAIN_ID": str(graph.domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        words = ("--attach", "--scene", "toy:room", "--token", "--runs", str(tmp_path), "--out", str(tmp_path / "mine"))
        with console(*words, **domain) as running, page_of(running.url) as page:
            page.wait_for_selector(".link.ready:has-text('toy:room')")
            assert "#" not in page.url and "enter" not in page.url
            ask(page, "Where is the unicorn?")
            page.wait_for_selector(".entry.asking .phase")
            assert running.interrupt() == 0  # which calls the question off: the robot must not drive on
        assert all(child.process.poll() is None for child in graph.children)
