"""The page's addresses: the page itself, live state as server-sent events, pictures, questions, past episodes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from eqa_nodes.console.feed import Feed, Rendered
from eqa_nodes.console.gate import Admission, Gate
from eqa_nodes.console.guard import AccessRules, Guard, cookie_of
from eqa_nodes.console.past import Past
from eqa_nodes.console.pictures import map_picture
from eqa_nodes.console.questions import Questions
from eqa_nodes.console.replies import Json, to_json
from eqa_nodes.console.shown import shown_entry, shown_live
from eqa_nodes.console.stopping import DeadMan, Stopper
from eqa_nodes.console.values import RequestRefused, WatchedRobot
from eqa_nodes.core.errors import EqaError

BODY = 20_000  # bytes of a request at most: a question of 2000 characters in any script
_EVENTS_S, _CAMERA_S, _MAP_S = 0.2, 0.15, 0.4  # least time between two states, pictures, maps
_ALIVE_S = 10.0  # a line at least so often: a page that left is noticed
_MIMES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
          "svg": "image/svg+xml"}
_PICTURE_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}


class Console:
    """The page of a robot. `robot` is None while its graph starts."""

    def __init__(self, feed: Feed, questions: Questions, past: Past, rules: AccessRules,
                 dead_man_s: float = 0.0) -> None:
        """dead_man_s: the robot is stopped when no page has shown itself for so long; 0 = never. Raises ConfigError."""
        self.feed, self.questions, self.past, self.rules = feed, questions, past, rules
        self.robot: WatchedRobot | None = None
        self.gate = Gate()
        self.dead_man = DeadMan(dead_man_s, questions.open, self._stop_all)
        self._stopper = Stopper(self._stop_all)
        self._camera: Rendered[bytes] | None = None
        self._map: Rendered[bytes] | None = None

    def begin(self, robot: WatchedRobot) -> None:
        """Show a robot and ask it what waits."""
        self._camera = Rendered(lambda: robot.pictures, robot.camera, _CAMERA_S)
        self._map = Rendered(lambda: robot.live.version,
                             lambda: map_picture(replace(robot.live.trace(), grid=robot.grid())), _MAP_S)
        self.robot = robot
        self.questions.begin(robot)
        self.dead_man.begin()
        self.feed.ring()

    def app(self) -> Starlette:
        """Return the ASGI application."""
        get: dict[str, Callable[[Request], Response]] = {
            "/": lambda _: page("index.html"), "/enter": lambda _: page("enter.html"),
            "/page/{file}": lambda r: page(r.path_params["file"]),
            "/live/camera.jpg": lambda _: picture("image/jpeg", self._picture(self._camera)),
            "/live/map.svg": lambda _: picture("image/svg+xml", self._picture(self._map)),
            "/questions/{id:int}/proof/{k:int}.jpg": self._proof,
            "/runs": lambda _: Json(self.past.listing()),
            "/runs/{run}": lambda r: Json(self.past.episodes(r.path_params["run"])),
            "/runs/{run}/{n:int}": lambda r: Json(self.past.episode(**_episode(r))),
            "/runs/{run}/{n:int}/map/{at:int}.svg": lambda r: picture(
                "image/svg+xml", self.past.map(**_episode(r), moment=r.path_params["at"])),
            "/runs/{run}/{n:int}/view/{k:int}.jpg": lambda r: picture(
                "image/jpeg", self.past.view(**_episode(r), view=r.path_params["k"]))}
        post: dict[str, Callable[[Request, Mapping[str, Any]], Response]] = {
            "/enter": self._enter, "/questions": self._put, "/questions/{id:int}/cancel": self._cancel}
        routes = [Route(path, partial(_get, do), methods=["GET"]) for path, do in get.items()]
        routes += [Route(path, partial(_post, do), methods=["POST"]) for path, do in post.items()]
        routes += [Route("/events", self._events, methods=["GET"]), Route("/stop", self._stop, methods=["POST"]),
                   Route("/alive", self._alive, methods=["POST"])]
        guards = [Middleware(Admission, gate=self.gate), Middleware(Guard, rules=self.rules)]
        return Starlette(routes=routes, middleware=guards,
                         exception_handlers={EqaError: _refused, OSError: _refused, HTTPException: _not_found})

    def _picture(self, made: Rendered[bytes] | None) -> bytes:
        if made is None:
            raise RequestRefused("the robot is still starting", 404)
        return made.get()

    def _proof(self, request: Request) -> Response:
        entry, k = self.questions.entry(request.path_params["id"]), request.path_params["k"]
        if k >= len(entry.proofs) or not entry.proofs[k].jpeg:
            raise RequestRefused(f"question {entry.id} has no picture {k}", 404)
        return picture("image/jpeg", entry.proofs[k].jpeg)

    def _enter(self, request: Request, body: Mapping[str, Any]) -> Response:
        token = body.get("token")
        if not isinstance(token, str) or not self.rules.opened_by(token):
            raise RequestRefused("this token is not the console's: open the whole link that the terminal shows", 403)
        response = Json({})
        response.set_cookie(cookie_of(request.headers["host"]), token, httponly=True, samesite="strict", path="/")
        return response

    def _put(self, request: Request, body: Mapping[str, Any]) -> Response:
        text, explore, show = body.get("text"), body.get("explore", True), body.get("show", False)
        if not isinstance(text, str) or not isinstance(explore, bool) or not isinstance(show, bool):
            raise RequestRefused("a question is a text, and explore and show are true or false", 400)
        entry = self.questions.put(text, explore, show)
        self.dead_man.alive()
        return Json({"id": entry.id})

    def _cancel(self, request: Request, body: Mapping[str, Any]) -> Response:
        self.questions.cancel(request.path_params["id"])
        return Json({})

    async def _stop(self, _: Request) -> Response:
        """Stop the robot. Nothing is read, rendered or waited for before."""
        await self._stopper.stop()
        return Json({})

    async def _alive(self, _: Request) -> Response:
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
                yield "".join(f"event: {name}\ndata: {text}\n\n" for name, text in changed.items()) or ": alive\n\n"
                sent = now
                await asyncio.sleep(_EVENTS_S)
                try:
                    await asyncio.wait_for(news.wait(), _ALIVE_S)
                except asyncio.TimeoutError:
                    continue

    def _state(self) -> dict[str, object]:
        watched = {"seconds": self.dead_man.limit_s, "trouble": self.dead_man.trouble}
        return {"live": {**shown_live(self.robot), "dead_man": watched},
                "questions": [shown_entry(e) for e in self.questions.entries()]}


def page(file: str) -> Response:
    """Return a file of the page. Raises RequestRefused for a name that is none."""
    files = _files()
    if file not in files:
        raise RequestRefused("there is no such page", 404)
    return Response(files[file], media_type=_MIMES[file.rpartition(".")[2]])


def picture(mime: str, data: bytes) -> Response:
    """Return a picture that, opened alone, can do nothing."""
    return Response(data, media_type=mime, headers=_PICTURE_POLICY)


@cache
def _files() -> dict[str, bytes]:
    folder = resources.files("eqa_nodes.console").joinpath("page")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _MIMES}


def _episode(request: Request) -> dict[str, Any]:
    return {"run": request.path_params["run"], "number": request.path_params["n"]}


async def _get(do: Callable[[Request], Response], request: Request) -> Response:
    return await run_in_threadpool(do, request)


async def _post(do: Callable[[Request, Mapping[str, Any]], Response], request: Request) -> Response:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY:
            raise RequestRefused(f"a request holds at most {BODY} bytes", 413)
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestRefused("a request is a JSON object", 400) from error
    if not isinstance(parsed, dict):
        raise RequestRefused("a request is a JSON object", 400)
    return await run_in_threadpool(do, request, parsed)


async def _refused(_: Request, error: Exception) -> Response:
    return Json({"error": str(error)}, error.status if isinstance(error, RequestRefused) else 409)


async def _not_found(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return Json({"error": "there is nothing here"}, status)
