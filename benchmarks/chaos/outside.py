"""The endpoint of a model that fails by the schedule."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

from benchmarks.chaos.schedule import SAYS
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion

HANG_S, SLOW_S = 30.0, 0.7  # longer and shorter than the drill's model.timeout_s
_BAD = {"hang": ServerReply(b"", delay_s=HANG_S), "http 500": ServerReply(b"out of memory", 500, "text/plain"),
        "http 429": ServerReply(b"{}", 429), "rubbish": ServerReply(b"<html>busy</html>", content_type="text/html"),
        "half a reply": completion('{"answer": "n', finish="length"), "cut off": ServerReply(b'{"id": 1', missing=400)}


class FailingModel:
    """A model endpoint that answers by rules from captions. Use it with `with`.

    It keeps its port when it goes down and up again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fail = ("", 0, 0)
        self._calls = 0
        self._server: VlmServer | None = None
        self._port = self.failed = 0

    @property
    def url(self) -> str:
        """Base URL."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> FailingModel:
        self.mend()
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.__exit__(None, None, None)
            self._server = None

    def fail(self, how: str, first: int, calls: int) -> None:
        """Fail for `calls` calls, beginning with call number `first` (counted from now)."""
        with self._lock:
            self._fail, self._calls, self.failed = (how, first, calls), 0, 0
        if how == "away":
            self.__exit__()
            self.failed = 1

    def mend(self) -> None:
        """Work again."""
        with self._lock:
            self._fail = ("", 0, 0)
        if self._server is None:
            self._server = VlmServer(self._reply, self._port).__enter__()
            self._port = int(self._server.url.split(":")[2].split("/")[0])

    def _reply(self, request: dict[str, Any]) -> ServerReply:
        with self._lock:
            how, first, calls = self._fail
            number, self._calls = self._calls, self._calls + 1
            failing = bool(how) and first <= number < first + calls
            self.failed += failing
        if failing and how != "slow":
            return _BAD[how]
        good = completion(json.dumps(_said(request)))
        return good._replace(delay_s=SLOW_S) if failing else good


def _said(request: dict[str, Any]) -> dict[str, object]:
    """Return an answer from the captions, which list the objects in view."""
    prompt, content = request["messages"][0]["content"], request["messages"][1]["content"]
    texts = [part["text"] for part in content if part.get("type") == "text"] if isinstance(content, list) else [content]
    if '{"regions"' in prompt:
        return {"regions": {}}
    case = next(case for text, case in SAYS.items() if json.dumps(text) in "\n".join(texts))
    pictures = [text for text in texts if text.startswith("Picture")]
    shown = [number for number, text in enumerate(pictures, 1) if case.thing in text]
    if '{"views"' not in prompt:
        return {"answer": case.sample.answer if shown else "", "confidence": 0.95 if shown else 0.0,
                "images": shown[:3], "why": "", "abstain": not shown}
    return {"views": [_judged(number, text, number in shown, case.sample.answer)
                      for number, text in enumerate(pictures, 1)]}


def _judged(number: int, heading: str, shown: bool, answer: str) -> dict[str, object]:
    letters = re.findall(r"\b[A-C]\b", (re.search(r"letters ((?:[A-C](?:, )?)+)", heading) or [""])[0])
    return {"image": number, "relevance": 0.9 * shown, "enough": 0.95 * shown, "worth": 0.5, "target": "",
            "places": {letter: 1 / len(letters) for letter in letters}, "region": "", "says": answer if shown else "",
            "note": ""}
