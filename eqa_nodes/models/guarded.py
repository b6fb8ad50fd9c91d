"""The HTTP client of model backends, for untrusted servers.

Bodies are bounded after unpacking, texts are UTF-8 whatever a header claims, and a request goes to no other host than
the configured one: it holds images of the camera and the API key.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from eqa_nodes.core.errors import ModelError

BODY_BYTES = 16_000_000  # of one reply after unpacking; long streams with log-probabilities have some MB
ERROR_BYTES = 65_536  # of an error's body; the rest is not read
_REDIRECTS = 3  # within one host; a loop is no answer
_GZIP_OR_ZLIB = 47  # zlib's "wbits" that recognises both headers
_PACKED = ("gzip", "x-gzip", "deflate")


async def _anywhere(url: str) -> None:
    """Allow every URL."""


def guarded_client(base: type[Any], check: Callable[[str], Awaitable[None]] = _anywhere,
                   reply_mb: float = BODY_BYTES / 1e6, is_final: Callable[[int, str], bool] = lambda *_: False,
                   hide: Callable[[str], str] = str, **options: Any) -> Any:
    """Return an asynchronous HTTP client. base: the openai library's DefaultAsyncHttpxClient, whose HTTP library is
    httpx or httpx2, by its version. check: raises ModelError for a URL to which nothing may be sent. is_final: says by
    status and text of a failure that it would come again, so that the openai library does not repeat the request.
    hide: takes the key out of a text."""
    body_bytes = round(reply_mb * 1e6)
    http = sys.modules[next(c for c in base.__mro__ if c.__name__ == "AsyncClient").__module__.partition(".")[0]]

    class Bounded(http.AsyncByteStream):  # type: ignore[name-defined]
        """A body up to `limit` bytes. cut: what is longer ends there, else it is a ModelError."""

        def __init__(self, body: Any, unpack: Callable[[bytes, int], bytes], limit: int, cut: bool) -> None:
            self._body, self._unpack, self._left, self._cut = body, unpack, limit, cut

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for packed in self._body:
                piece = self._unpack(packed, self._left + 1)
                yield piece[:self._left]
                if len(piece) > self._left:
                    if self._cut:
                        return
                    raise ModelError(f"rubbish: the reply goes on after {body_bytes} bytes")
                self._left -= len(piece)

        async def aclose(self) -> None:
            await self._body.aclose()

    class Guarded(base):
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            response = await self._sent(request, **{**options, "follow_redirects": False})
            failed = response.status_code >= 300
            try:
                response.stream = Bounded(response.stream, unpacker(response.headers.pop("Content-Encoding", "")),
                                          ERROR_BYTES if failed else body_bytes, failed)
                response.encoding = "utf-8"  # a charset of the server's choice may be a decompressor, or take for ever
                if failed or not stream:
                    await response.aread()
                if failed and is_final(response.status_code, response.text):
                    response.headers["x-should-retry"] = "false"
            except BaseException:
                await response.aclose()
                raise
            return response

        async def _sent(self, request: Any, **options: Any) -> Any:
            """Return the response's head; what is sent on within the same host is followed."""
            for _ in range(_REDIRECTS + 1):
                await check(str(request.url))
                request.headers["Accept-Encoding"] = "identity"
                response = await super().send(request, stream=True, **options)
                ahead = response.next_request
                if ahead is None:
                    return response
                await response.aclose()
                if _place(ahead) != _place(request) or ahead.method != request.method:
                    raise ModelError(f"redirected: {request.url!s:.200} sends the request on to "
                                     f"{hide(str(ahead.url)):.200}, and pictures go to no other address than the "
                                     "configured one: set EQA_VLM_BASE_URL to it, if that is meant")
                request = ahead
            raise ModelError(f"redirected: {request.url!s:.200} sends the request round in circles")

    return Guarded(**options)


def unpacker(coding: str) -> Callable[[bytes, int], bytes]:
    """Return a function that unpacks the pieces of a body, each to at most so many bytes.

    coding: a Content-Encoding header; packed bodies are not asked for, but some proxies send them. Raises ModelError
    for another one than gzip or deflate, once.
    """
    name = coding.strip().lower()
    if name in ("", "identity"):
        return lambda piece, most: piece
    if name not in _PACKED:
        raise ModelError(f"rubbish: the reply is packed as {coding!r:.60}, which was not requested")
    packed = zlib.decompressobj(_GZIP_OR_ZLIB)

    def unpack(piece: bytes, most: int) -> bytes:
        try:
            return packed.decompress(piece, most)
        except zlib.error as error:
            raise ModelError(f"rubbish: the reply is said to be packed as {name}, and is not: {error}") from error

    return unpack


def _place(request: Any) -> tuple[str, str, int | None]:
    return request.url.scheme, request.url.host, request.url.port
