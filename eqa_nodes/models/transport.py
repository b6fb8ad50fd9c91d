"""How requests reach an untrusted server: allowed hosts, sizes of requests and replies, and hiding of the API key.

Requests contain camera pictures and the API key, so they go to no other host than the configured one. Replies are
bounded after unpacking and are read as UTF-8, whatever a header claims.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import socket
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.models.config import ModelConfig

_SHORTEST = 6  # characters of a key that is hidden: placeholder keys such as "none" and "test" are words of replies
HOSTS = "EQA_VLM_HOSTS"  # environment variable: hosts allowed on this machine, whatever a configuration says
_HTTP = ("it is neither this machine nor in a private network, and http:// would send pictures and the key "
         "unencrypted: use https://, or set model.allow_http (--allow-http)")
BODY_BYTES = 16_000_000  # maximum of a reply after unpacking; long streams with log-probabilities have some MB
ERROR_BYTES = 65_536  # maximum of an error's body; the rest is not read
_REDIRECTS = 3  # maximum number, within one host
_GZIP_OR_ZLIB = 47  # zlib's "wbits" that recognises both headers
_PACKED = ("gzip", "x-gzip", "deflate")


def checked_key(key: str) -> str:
    """Return a key without surrounding whitespace (a file's line break). Raises ConfigError for one that no header can
    hold; the message does not show the key, unlike the HTTP library's own error."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("the API key contains characters that keys do not have: set EQA_VLM_API_KEY to the key alone")
    return key


def check_url(url: str) -> None:
    """Raise ConfigError for an invalid base URL and for one with a password: URLs are shown and recorded."""
    if "@" in url:  # anywhere: a password may hold a slash
        raise ConfigError("the base URL holds a user name or a password, and URLs are recorded: take it out, and set "
                          "EQA_VLM_API_KEY")
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"base URL {url!r} must begin with http:// or https://: set EQA_VLM_BASE_URL")
    try:
        urlsplit(url).port  # noqa: B018 - raises for what is none
    except ValueError as error:
        raise ConfigError(f"base URL {url!r} cannot be used ({error}): set EQA_VLM_BASE_URL") from error


def usual_url(url: str) -> str:
    """Return a base URL in the usual form: without the name of a method, and with a version."""
    base = re.sub(r"(?:/chat)?(?:/completions)?/*$", "", url)
    return base if re.search(r"/v\d|/openai\b", base) else f"{base.removesuffix('/api')}/v1"


def hidden(text: str, key: str) -> str:
    """Return a server's text without the key in any of its spellings: some servers repeat a key that they refuse."""
    return text if len(key) < _SHORTEST else _written(key).sub("...", text)


@lru_cache(maxsize=8)
def _written(key: str) -> re.Pattern[str]:
    """Return a pattern that finds a key in plain text and in the escapes of (also nested) JSON, HTML and URLs."""
    return re.compile("".join(
        rf"(?:{re.escape(c)}|\\(?:\\)*(?:{re.escape(c)}|u00{_hex(c)})|%{_hex(c)}|&#0*(?:{ord(c)}|[xX]0*{_hex(c)});)"
        for c in key))


def _hex(c: str) -> str:
    """Return a regular expression for the two hexadecimal digits of an ASCII character."""
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(c):02x}")


class EndpointPolicy:
    """The rules for one endpoint."""

    def __init__(self, config: ModelConfig, url: str, environ: Mapping[str, str] = os.environ) -> None:
        """Raises ConfigError if the configured URL itself breaks the rules."""
        self.config, self._own = config, _host(url)
        self._lists = [_listed(text) for text in (config.hosts, environ.get(HOSTS, "")) if text.strip()]
        for source, allowed in (("model.hosts", _listed(config.hosts)), (HOSTS, _listed(environ.get(HOSTS, "")))):
            if allowed and not _matches(self._own, allowed):
                raise ConfigError(f"{self._own} is not an allowed host of models ({source}: {', '.join(allowed)}): set "
                                  "the base URL to one of them, or add it there")
        if self._open_http(url) and not _private(_addresses(self._own)):
            raise ConfigError(f"base URL {url!r} cannot be used: {_HTTP}")

    async def check(self, url: str) -> None:
        """Raise ModelError for a URL that is not allowed; checked per request, as a name may resolve differently."""
        host = _host(url)
        allowed = all(_matches(host, each) for each in self._lists) if self._lists else host == self._own
        if not allowed:
            raise ModelError(f"host not allowed: {host} is not an allowed host of models: set model.hosts, if it is "
                             "meant")
        if self._open_http(url):
            found = await asyncio.get_running_loop().run_in_executor(None, _addresses, host)
            if not _private(found):
                raise ModelError(f"host not allowed: {host} leads to {', '.join(found)}; {_HTTP}")

    def check_size(self, body: Mapping[str, Any]) -> None:
        """Raise ModelError for a request that exceeds the allowed size."""
        size, limit = _size(body["messages"]), self.config.request_mb * 1e6
        if size > limit:
            raise ModelError(f"too large: the request has {size / 1e6:.1f} MB, model.request_mb allows "
                             f"{limit / 1e6:g}: send fewer or smaller pictures (model.image_side_px), "
                             "or raise it")

    def _open_http(self, url: str) -> bool:
        return url.startswith("http://") and not self.config.allow_http


def _listed(text: str) -> list[str]:
    return [name.strip().lower() for name in text.split(",") if name.strip()]


def _matches(host: str, allowed: Iterable[str]) -> bool:
    return any(fnmatchcase(host, pattern) for pattern in allowed)


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def _addresses(host: str) -> Sequence[str]:
    """Return the IP addresses of a host; none for a name that does not resolve, which no request can reach."""
    try:
        return sorted({str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(host, None)})
    except (OSError, UnicodeError):
        return ()


def _private(addresses: Iterable[str]) -> bool:
    """Return whether none of the addresses is reachable over the internet."""
    return not any(ipaddress.ip_address(address).is_global for address in addresses)


def _size(value: Any) -> int:
    """Return the approximate size of a request as JSON, bytes."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(each) for each in value.values())
    return sum(_size(each) for each in value) if isinstance(value, (list, tuple)) else 0


async def _anywhere(url: str) -> None:
    """Allow every URL."""


def guarded_client(base: type[Any], check: Callable[[str], Awaitable[None]] = _anywhere,
                   reply_mb: float = BODY_BYTES / 1e6, is_final: Callable[[int, str], bool] = lambda *_: False,
                   hide: Callable[[str], str] = str, **options: Any) -> Any:
    """Return an asynchronous HTTP client. base: the openai library's DefaultAsyncHttpxClient, whose HTTP library is
    httpx or httpx2, by its version. check: raises ModelError for a URL that is not allowed. is_final: returns, from the
    status and text of a failure, whether it would occur again; the openai library then does not repeat the request.
    hide: removes the key from a text."""
    body_bytes = round(reply_mb * 1e6)
    http = sys.modules[next(c for c in base.__mro__ if c.__name__ == "AsyncClient").__module__.partition(".")[0]]

    class Bounded(http.AsyncByteStream):  # type: ignore[name-defined]
        """A body of at most `limit` bytes. cut: a longer body is truncated; otherwise it raises ModelError."""

        def __init__(self, body: Any, unpack: Callable[[bytes, int], bytes], limit: int, cut: bool) -> None:
            self._body, self._unpack, self._left, self._cut = body, unpack, limit, cut

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for packed in self._body:
                piece = self._unpack(packed, self._left + 1)
                yield piece[:self._left]
                if len(piece) > self._left:
                    if self._cut:
                        return
                    raise ModelError(f"invalid reply: it is longer than {body_bytes} bytes")
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
                response.encoding = "utf-8"  # a charset chosen by the server may be a decompressor, or take for ever
                if failed or not stream:
                    await response.aread()
                if failed and is_final(response.status_code, response.text):
                    response.headers["x-should-retry"] = "false"
            except BaseException:
                await response.aclose()
                raise
            return response

        async def _sent(self, request: Any, **options: Any) -> Any:
            """Return the response's head; redirects within the same host are followed."""
            for _ in range(_REDIRECTS + 1):
                await check(str(request.url))
                request.headers["Accept-Encoding"] = "identity"
                response = await super().send(request, stream=True, **options)
                ahead = response.next_request
                if ahead is None:
                    return response
                await response.aclose()
                if _origin(ahead) != _origin(request) or ahead.method != request.method:
                    raise ModelError(f"redirected: {request.url!s:.200} sends the request on to "
                                     f"{hide(str(ahead.url)):.200}, and pictures go to no other address than the "
                                     "configured one: set EQA_VLM_BASE_URL to it, if that is meant")
                request = ahead
            raise ModelError(f"redirected: {request.url!s:.200} sends the request round in circles")

    return Guarded(**options)


def unpacker(coding: str) -> Callable[[bytes, int], bytes]:
    """Return a function (piece, most) that unpacks the pieces of a body, each to at most `most` bytes.

    coding: a Content-Encoding header; compressed bodies are not requested, but some proxies send them. Raises
    ModelError unless it is a single gzip or deflate.
    """
    name = coding.strip().lower()
    if name in ("", "identity"):
        return lambda piece, most: piece
    if name not in _PACKED:
        raise ModelError(f"invalid reply: Content-Encoding is {coding!r:.60}, which was not requested")
    packed = zlib.decompressobj(_GZIP_OR_ZLIB)

    def unpack(piece: bytes, most: int) -> bytes:
        try:
            return packed.decompress(piece, most)
        except zlib.error as error:
            raise ModelError(f"invalid reply: Content-Encoding says {name}, but the body is not {name} ({error})"
                             ) from error

    return unpack


def _origin(request: Any) -> tuple[str, str, int | None]:
    return request.url.scheme, request.url.host, request.url.port
