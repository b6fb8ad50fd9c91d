"""The page's addresses: the page itself, live state as server-sent events, pictures, questions, past episodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from eqa_nodes.console.feed import Feed, Rendered
from eqa_nodes.console.gate import Gate
from eqa_nodes.console.guard import AccessRules
from eqa_nodes.console.past import Past
from eqa_nodes.console.pictures import call_picture, map_picture
from eqa_nodes.console.place import cloud_bytes, shown_place
from eqa_nodes.console.questions import Questions
from eqa_nodes.console.replies import Json, to_json
from eqa_nodes.console.shown import shown_entry, shown_live
from eqa_nodes.console.spoken import Spoken
from eqa_nodes.console.stopping import PAUSE, STOP, DeadMan, Stopper
from eqa_nodes.console.values import RequestRefused, WatchedRobot
from eqa_nodes.console.web import application, page, picture
from eqa_nodes.voice.recogniser import DEFAULT
from sim_bridge.registry import sample_questions

_EVENTS_S, _CAMERA_S, _MAP_S, _CLOUD_S = 0.2, 0.15, 0.4, 2.0  # least time between two states, pictures, maps, clouds
_BEAT = {"beat": "1"}
_BEAT_S = 1.0  # a line at least so often: either side notices that the other left


class Console:
    """The page of a robot. `robot` is None while its graph starts."""

    def __init__(self, feed: Feed, questions: Questions, past: Past, rules: AccessRules,
                 dead_man_s: float = 0.0, page_lost: str = STOP, recogniser: str = DEFAULT) -> None:
        """dead_man_s: of silence of all pages, until what page_lost says is done; 0 = never. recogniser: the
        name of what recognises spoken questions. Raises ConfigError.
        """
        self.feed, self.questions, self.past, self.rules = feed, questions, past, rules
        self.robot: WatchedRobot | None = None
        self.gate = Gate()
        self._spoken = Spoken(recogniser)
        self.dead_man = DeadMan(dead_man_s, questions.busy, {
            PAUSE: questions.pause, STOP: self._stop_all, "back": questions.resume}, page_lost)
        self._stopper = Stopper(self._stop_all)
        self._camera: Rendered[bytes] | None = None
        self._map: Rendered[bytes] | None = None
        self._cloud: Rendered[bytes] | None = None

    def begin(self, robot: WatchedRobot) -> None:
        """Show a robot and ask it what waits."""
        self._camera = Rendered(lambda: robot.pictures, robot.camera, _CAMERA_S)
        self._map = Rendered(lambda: robot.live.version,
                             lambda: map_picture(replace(robot.live.trace(), grid=robot.grid())), _MAP_S)
        self._cloud = Rendered(lambda: robot.clouds, lambda: cloud_bytes(robot.surfaces()), _CLOUD_S)
        self.robot = robot
        self.questions.begin(robot)
        self.dead_man.begin()
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
        return application(self.rules, self.gate, get, post, (
            Route("/events", self._events, methods=["GET"]), Route("/stop", self._stop, methods=["POST"]),
            Route("/alive", self._alive, methods=["POST"])), sounds=("/speech",))

    def close(self) -> None:
        """End the streams of events; a second call does nothing."""
        self.feed.close()
        self.dead_man.close()

    def _picture(self, made: Rendered[bytes] | None) -> bytes:
        if made is None:
            raise RequestRefused("the robot is still starting", 404)
        return made.get()

    def _samples(self) -> list[str]:
        """Return questions to try in the place that the robot is in; none for a recording, and where nobody knows."""
        return [] if self.robot is None or self.robot.recorded else list(sample_questions(self.robot.place))

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
        if not isinstance(text, str) or not isinstance(explore, bool) or not isinstance(show, bool):
            raise RequestRefused("a question is a text, and explore and show are true or false", 400)
        self.dead_man.alive()
        return Json({"id": self.questions.put(text, explore, show).id})

    def _speech(self, request: Request, body: Mapping[str, Any]) -> Response:
        """Return the words of a recording. Nothing is asked: the page shows them first."""
        self.dead_man.alive()
        return Json({"text": self._spoken.words(body.get("wav"))})

    def _cancel(self, request: Request, body: Mapping[str, Any]) -> Response:
        self.questions.cancel(request.path_params["id"])
        return Json({})

    def _reply(self, request: Request, body: Mapping[str, Any]) -> Response:
        """Hand a person's reply to the robot that asked."""
        identity, option = request.path_params["id"], body.get("option")
        if self.robot is None:
            raise RequestRefused("the robot is still starting", 404)
        if isinstance(option, bool) or not isinstance(option, int) or not 1 <= option < 100:
            raise RequestRefused("a reply is the number of an option", 400)
        self.robot.reply(identity, option)
        return Json({})

    async def _stop(self, _: Request) -> Response:
        """Stop the robot. Nothing is read, rendered or waited for before."""
        await self._stopper.stop()
        return Json({})

    async def _alive(self, request: Request) -> Response:
        self.dead_man.alive()
        return Json({})

    def _stop_all(self) -> None:
        self.questions.stop(self.robot)

    async def _events(self, request: Request) -> Response:
        self.feed.admit()
        return StreamingResponse(self._stream(), media_type="text/event-stream")

    async def _stream(self) -> AsyncIterator[str]:
        """Send what has changed, as soon as the reader is ready for it: a slow one gets the newest only."""
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
        troubles = [self.dead_man.trouble] if self.dead_man.trouble else []
        return {"live": {**shown_live(self.robot), "heartbeat_s": self.dead_man.limit_s / 4, "troubles": troubles},
                "questions": [shown_entry(e) for e in self.questions.entries()]}


def _episode(request: Request) -> dict[str, Any]:
    return {"run": request.path_params["run"], "number": request.path_params["n"]}
