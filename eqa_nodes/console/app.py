"""The page's URLs: the page itself, live state as server-sent events, pictures, questions, past episodes."""

from __future__ import annotations

import asyncio
import base64
import binascii
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from eqa_nodes.console.live import READERS, Feed, Rendered
from eqa_nodes.console.past import Past
from eqa_nodes.console.pictures import call_picture, cloud_bytes, map_picture, shown_place
from eqa_nodes.console.questions import Questions
from eqa_nodes.console.values import RequestRefused, WatchedRobot, shown_entry, shown_live
from eqa_nodes.console.web import AccessRules, Json, application, page, picture, to_json
from eqa_nodes.core.errors import ConfigError, EqaError
from eqa_nodes.voice.recogniser import DEFAULT, MOST_S, Recogniser, open_recogniser, read_wav, words_of
from sim_bridge.registry import sample_questions

_EVENTS_S, _CAMERA_S, _MAP_S, _CLOUD_S = 0.2, 0.15, 0.4, 2.0  # minimum interval of states, pictures, maps, clouds
_BEAT = {"beat": "1"}
_BEAT_S = 1.0  # maximum interval of lines: either side notices that the other has disconnected
RECORDINGS = 4  # maximum number of spoken questions at once, including the one being recognised
LEAST_SILENCE_S, MOST_SILENCE_S = 2.0, 3600.0  # range of --dead-man
_CHECKS = 4  # checks for an open page within that limit
_CHAT = 64  # maximum length of the name of a page's conversation


class PageWatch:
    """Stops the robot if no page has reported for limit_s while a question waits or runs; 0 = never.

    Call `close` at the end. trouble: message for the pages, "" = a page is open.
    """

    def __init__(self, limit_s: float, busy: Callable[[], bool], stop: Callable[[], None],
                 now: Callable[[], float] = monotonic) -> None:
        """Raises ConfigError for a limit outside LEAST_SILENCE_S to MOST_SILENCE_S."""
        if limit_s and not LEAST_SILENCE_S <= limit_s <= MOST_SILENCE_S:
            raise ConfigError(f"--dead-man is {limit_s:g}: it must be 0 (off) or {LEAST_SILENCE_S:g} to "
                              f"{MOST_SILENCE_S:g} seconds")
        self.limit_s, self.trouble = limit_s, ""
        self._busy, self._stop, self._now = busy, stop, now
        self._last = now()
        self._ended = threading.Event()

    def begin(self) -> None:
        """Start watching in a thread."""
        if self.limit_s:
            threading.Thread(target=self._watch, name="page watch", daemon=True).start()

    def alive(self) -> None:
        """Note that a page is open."""
        self._last, self.trouble = self._now(), ""

    def check(self) -> None:
        """Stop the robot if no page reports any more; a stop that fails is repeated at the next check."""
        if not self._busy() or self._now() - self._last <= self.limit_s:
            return
        silent = f"no page was open for {self.limit_s:g} s"
        try:
            self._stop()
            self.trouble = f"{silent}: the robot was stopped"
        except EqaError as error:
            self.trouble = f"{silent}, and the robot could not be stopped: {error}"

    def close(self) -> None:
        """Stop watching."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(self.limit_s / _CHECKS):
            self.check()


class SpokenQuestions:
    """A speech recogniser that is loaded when a page first needs it. Used from the server's threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._recogniser: Recogniser | None = None
        self._one, self._places = threading.Lock(), threading.BoundedSemaphore(RECORDINGS)

    def ready(self) -> float:
        """Load the recogniser and return the maximum seconds of a recording. Raises EqaError with the remedy."""
        with self._turn():
            return MOST_S

    def words(self, wav: object) -> str:
        """Recognise a recording. wav: a WAV file in base64. Raises EqaError."""
        if not isinstance(wav, str):
            raise RequestRefused("a recording is a WAV file in base64", 400)
        try:
            sound = read_wav(base64.b64decode(wav, validate=True))
        except (binascii.Error, ValueError) as error:
            raise RequestRefused("a recording is a WAV file in base64", 400) from error
        except EqaError as error:
            raise RequestRefused(str(error), 400) from error
        with self._turn() as recogniser:
            return words_of(recogniser, sound)

    @contextmanager
    def _turn(self) -> Iterator[Recogniser]:
        if not self._places.acquire(blocking=False):
            raise RequestRefused("other recordings are being recognised: try again in a few seconds", 503)
        try:
            with self._one:
                self._recogniser = self._recogniser or open_recogniser(self._name)
                yield self._recogniser
        finally:
            self._places.release()


class Console:
    """The page of a robot. `robot` is None while its graph starts."""

    def __init__(self, feed: Feed, questions: Questions, past: Past, rules: AccessRules,
                 dead_man_s: float = 0.0, recogniser: str = DEFAULT) -> None:
        """dead_man_s: time without an open page after which the robot stops, s; 0 = never. Raises ConfigError."""
        self.feed, self.questions, self.past, self.rules = feed, questions, past, rules
        self.robot: WatchedRobot | None = None
        self._spoken = SpokenQuestions(recogniser)
        self.watch = PageWatch(dead_man_s, questions.busy, self._stop_all)
        self._stop_thread = ThreadPoolExecutor(1, "stop")  # hanging requests must not delay a stop
        self._camera: Rendered[bytes] | None = None
        self._map: Rendered[bytes] | None = None
        self._cloud: Rendered[bytes] | None = None

    def begin(self, robot: WatchedRobot) -> None:
        """Show a robot and send it the waiting questions."""
        self._camera = Rendered(lambda: robot.pictures, robot.camera, _CAMERA_S)
        self._map = Rendered(lambda: robot.live.version,
                             lambda: map_picture(replace(robot.live.trace(), grid=robot.grid())), _MAP_S)
        self._cloud = Rendered(lambda: robot.clouds, lambda: cloud_bytes(robot.surfaces()), _CLOUD_S)
        self.robot = robot
        self.questions.begin(robot)
        self.watch.begin()
        self.feed.ring()

    def app(self) -> Starlette:
        """Return the ASGI application."""
        get: dict[str, Callable[[Request], Response]] = {
            "/": lambda _: page("index.html"),
            "/live/camera.jpg": lambda _: picture("image/jpeg", self._picture(self._camera)),
            "/live/map.svg": lambda _: picture("image/svg+xml", self._picture(self._map)),
            "/samples": lambda _: Json(self._samples()),
            "/live/place": lambda _: Json(shown_place(self.robot)),
            "/live/cloud": lambda _: Response(self._picture(self._cloud), media_type="application/octet-stream"),
            "/live/call/{n:number}/{k:number}.jpg": self._call_picture,
            "/questions/{id:number}/proof/{k:number}.jpg": self._proof,
            "/speech": lambda _: Json({"most_s": self._spoken.ready()}),
            "/runs": lambda _: Json(self.past.listing()),
            "/runs/{run}": lambda r: Json(self.past.episodes(r.path_params["run"])),
            "/runs/{run}/{n:number}": lambda r: Json(self.past.episode(**_episode(r))),
            "/runs/{run}/{n:number}/map/{at:number}.svg": lambda r: picture(
                "image/svg+xml", self.past.map(**_episode(r), moment=r.path_params["at"])),
            "/runs/{run}/{n:number}/view/{k:number}.jpg": lambda r: picture(
                "image/jpeg", self.past.view(**_episode(r), view=r.path_params["k"]))}
        post: dict[str, Callable[[Request, Mapping[str, Any]], Response]] = {
            "/questions": self._put, "/questions/{id:number}/cancel": self._cancel, "/speech": self._speech,
            "/inquiries/{id}": self._reply}
        return application(self.rules, get, post, (
            Route("/events", self._events, methods=["GET"]), Route("/stop", self._stop, methods=["POST"]),
            Route("/alive", self._alive, methods=["POST"])), sounds=("/speech",))

    def close(self) -> None:
        """End the streams of events; a second call does nothing."""
        self.feed.close()
        self.watch.close()

    def _picture(self, made: Rendered[bytes] | None) -> bytes:
        if made is None:
            raise RequestRefused("the robot is still starting", 404)
        return made.get()

    def _samples(self) -> list[str]:
        """Return sample questions for the robot's place; none for an unknown place."""
        return [] if self.robot is None else list(sample_questions(self.robot.place))

    def _call_picture(self, request: Request) -> Response:
        if self.robot is None:
            raise RequestRefused("the robot is still starting", 404)
        return picture("image/jpeg", call_picture(self.robot.live, request.path_params["n"], request.path_params["k"]))

    def _proof(self, request: Request) -> Response:
        entry, k = self.questions.entry(request.path_params["id"]), request.path_params["k"]
        if k >= len(entry.proofs) or not entry.proofs[k].jpeg:
            raise RequestRefused(f"question {entry.id} has no picture {k}", 404)
        return picture("image/jpeg", entry.proofs[k].jpeg)

    def _put(self, request: Request, body: Mapping[str, Any]) -> Response:
        text, explore, show = body.get("text"), body.get("explore", True), body.get("show", False)
        chat = body.get("chat", "")
        if not isinstance(text, str) or not isinstance(explore, bool) or not isinstance(show, bool):
            raise RequestRefused("a question is a text, and explore and show are true or false", 400)
        if not isinstance(chat, str) or len(chat) > _CHAT:
            raise RequestRefused(f"chat is a text of at most {_CHAT} characters", 400)
        self.watch.alive()
        return Json({"id": self.questions.put(text, explore, show, chat).id})

    def _speech(self, request: Request, body: Mapping[str, Any]) -> Response:
        """Return the words of a recording. They are not asked yet: the page shows them first."""
        self.watch.alive()
        return Json({"text": self._spoken.words(body.get("wav"))})

    def _cancel(self, request: Request, body: Mapping[str, Any]) -> Response:
        self.questions.cancel(request.path_params["id"])
        return Json({})

    def _reply(self, request: Request, body: Mapping[str, Any]) -> Response:
        """Send a person's reply to the robot that asked."""
        identity, option = request.path_params["id"], body.get("option")
        if self.robot is None:
            raise RequestRefused("the robot is still starting", 404)
        if isinstance(option, bool) or not isinstance(option, int) or not 1 <= option < 100:
            raise RequestRefused("a reply is the number of an option", 400)
        self.robot.reply(identity, option)
        return Json({})

    async def _stop(self, _: Request) -> Response:
        await asyncio.get_running_loop().run_in_executor(self._stop_thread, self._stop_all)
        return Json({})

    async def _alive(self, request: Request) -> Response:
        self.watch.alive()
        return Json({})

    def _stop_all(self) -> None:
        self.questions.stop(self.robot)

    async def _events(self, request: Request) -> Response:
        if self.feed.readers >= READERS:
            raise RequestRefused(f"{READERS} pages are open already: close one", 503)
        return StreamingResponse(self._stream(), media_type="text/event-stream")

    async def _stream(self) -> AsyncIterator[str]:
        """Send changes as soon as the reader is ready: a slow reader gets only the newest state."""
        sent: dict[str, str] = {}
        with self.feed.listening() as news:
            while not self.feed.closed:
                news.clear()
                now = {name: to_json(value) for name, value in self._state().items()}
                changed = {name: text for name, text in now.items() if sent.get(name) != text}
                yield "".join(f"event: {name}\ndata: {text}\n\n" for name, text in (changed or _BEAT).items())
                sent = now
                await asyncio.sleep(_EVENTS_S)
                try:
                    await asyncio.wait_for(news.wait(), _BEAT_S)
                except asyncio.TimeoutError:
                    continue

    def _state(self) -> dict[str, object]:
        troubles = [self.watch.trouble] if self.watch.trouble else []
        return {"live": {**shown_live(self.robot), "heartbeat_s": self.watch.limit_s / 4, "troubles": troubles},
                "questions": [shown_entry(e) for e in self.questions.entries()]}


def _episode(request: Request) -> dict[str, Any]:
    return {"run": request.path_params["run"], "number": request.path_params["n"]}
