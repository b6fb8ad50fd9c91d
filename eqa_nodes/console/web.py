"""What all pages of the console share: files and pictures, replies, and an application that guards every address."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from importlib import resources
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eqa_nodes.console.gate import Admission, Gate
from eqa_nodes.console.guard import AccessRules, Guard, cookie_of
from eqa_nodes.console.replies import Json
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.errors import EqaError
from eqa_nodes.viewer.files import viewer_files

BODY = 20_000  # bytes of a request at most: a question of 2000 characters in any script
SOUND_BODY = 1_000_000  # of a spoken question: 20 s of 16 bits at 16 kHz, in base64
_PAGES = "eqa_nodes.console"  # the package whose folder `page` holds the files of every page
_MIMES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
          "svg": "image/svg+xml"}
_PICTURE_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}

class _Number(IntegerConvertor):
    """Numbers in addresses; one of more digits is found nowhere (Python refuses to read 5,000 of them)."""

    regex = "[0-9]{1,18}"


register_url_convertor("number", _Number())
Get = Callable[[Request], Response]
Post = Callable[[Request, Mapping[str, Any]], Response]


class Page(Protocol):
    """What a server serves (console/server.py)."""

    rules: AccessRules
    gate: Gate

    def app(self) -> Starlette:
        """Return the ASGI application."""

    def close(self) -> None:
        """End what keeps connections open; a second call does nothing."""


def application(rules: AccessRules, gate: Gate, get: Mapping[str, Get], post: Mapping[str, Post],
                more: tuple[Route, ...] = (), sounds: Collection[str] = ()) -> Starlette:
    """Return an application: addresses that are read, addresses that act, and the entrance where a token is asked for.

    sounds: those that are sent a recording. Handlers run in threads. An EqaError that they raise is the reply, in
    words.
    """
    get = {"/enter": lambda _: page("enter.html"), "/page/{file}": lambda r: page(r.path_params["file"]),
           "/viewer/{file}": lambda r: _file(viewer_files(), r.path_params["file"]), **get}
    post = {"/enter": partial(_enter, rules), **post}
    routes = [*more, *(Route(path, partial(_get, do), methods=["GET"]) for path, do in get.items()),
              *(Route(path, partial(_post, do, SOUND_BODY if path in sounds else BODY), methods=["POST"])
                for path, do in post.items())]
    guards = [Middleware(Admission, gate=gate), Middleware(Guard, rules=rules)]
    return Starlette(routes=routes, middleware=guards,
                     exception_handlers={EqaError: _refused, OSError: _refused, HTTPException: _not_found})


def page(file: str) -> Response:
    """Return a file of the page. Raises RequestRefused for a name that is none."""
    return _file(_files(), file)


def _file(files: Mapping[str, bytes], file: str) -> Response:
    if file not in files:
        raise RequestRefused("there is no such page", 404)
    return Response(files[file], media_type=_MIMES[file.rpartition(".")[2]])


def picture(mime: str, data: bytes) -> Response:
    """Return a picture that, opened alone, can do nothing."""
    return Response(data, media_type=mime, headers=_PICTURE_POLICY)


@cache
def _files() -> dict[str, bytes]:
    folder = resources.files(_PAGES).joinpath("page")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _MIMES}


async def _get(do: Callable[[Request], Response], request: Request) -> Response:
    return await run_in_threadpool(do, request)


async def _post(do: Callable[[Request, Mapping[str, Any]], Response], most: int, request: Request) -> Response:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise RequestRefused(f"a request has at most {most} bytes", 413)
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


def _enter(rules: AccessRules, request: Request, body: Mapping[str, Any]) -> Response:
    token = body.get("token")
    if not isinstance(token, str) or not rules.opens(token):
        raise RequestRefused("this token is not the console's: open the whole link that the terminal shows", 403)
    response = Json({})
    response.set_cookie(cookie_of(request.headers["host"]), token, httponly=True, samesite="strict", path="/",
                        secure=rules.over_tls(request.headers))
    return response
