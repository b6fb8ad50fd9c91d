"""Who may see the page and act on it: host names, origins, a token, and headers that keep a page to itself.

A page of another site that the same browser shows must neither read nor act: its requests carry another Origin, a Host
that is not ours (DNS rebinding), or say so themselves (Sec-Fetch-Site).
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# What a browser needs to hand in its token.
OPEN_PATHS = ("/enter", "/page/enter.js", "/page/console.css", "/page/icon.svg")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
                               "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY", "Permissions-Policy": "camera=(), microphone=(self), geolocation=()"}


@dataclass(frozen=True)
class AccessRules:
    """token: 192 random bits, which nobody finds by trying; "" = none is asked for.

    names: by which the page may be addressed, beside IP addresses. addresses: any IP address may stand in Host (a name
    is what rebinding needs); False: those of this machine alone. secure: the page is served over TLS.
    """

    token: str
    names: Collection[str]
    addresses: bool
    secure: bool = False

    def knows(self, host: str) -> bool:
        """Return whether a Host header is one of ours."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return self.addresses or address.is_loopback

    def opens(self, token: str) -> bool:
        """Return whether a token is right, in a time that does not depend on how much of it is."""
        return not self.token or secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def over_tls(self, headers: Headers) -> bool:
        """Return whether the browser's connection is encrypted, as far as we or a reverse proxy know."""
        return self.secure or headers.get("x-forwarded-proto", "") == "https"


class Guard:
    """ASGI middleware: refuses what the rules do not allow, and sets the headers of every reply."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        reply: ASGIApp = self._app if refusal is None else JSONResponse({"error": refusal[1]}, refusal[0])
        if refusal is not None and refusal[0] == 401 and scope["path"] == "/":
            reply = RedirectResponse("/enter", 303)  # a person: they are asked for the token
        await reply(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        if not self._rules.knows(host):
            return 421, "this host name is not the console's: open the address that the terminal shows"
        landing = scope["method"] == "GET" and path in ("/", "/enter") and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not landing:
            return 403, "another site asked for this: open the console's own page"
        if scope["method"] not in ("GET", "HEAD") and (fault := _foreign(headers, host)):
            return 403, fault
        if path not in OPEN_PATHS and not self._rules.opens(cookie_in(headers, host)):
            return 401, "open the whole link that the terminal shows: it ends with the token"
        return None


def _foreign(headers: Headers, host: str) -> str:
    """Return why a request that acts is not one of our own page, "" where it is."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        return "another site asked for this: open the console's own page"
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return "a request that acts is sent as application/json"  # which no other site's form can
    return ""


def cookie_of(host: str) -> str:
    """Return the name of the cookie for a Host header: a browser sends the cookies of all ports of a host to each.

    The port is the one that the browser sees, so that consoles behind tunnels have their own, too.
    """
    port = host.rpartition(":")[2]
    return f"eqa_console_{port if port.isdecimal() else 80}"


def cookie_in(headers: Headers, host: str) -> str:
    """Return the token that a browser sends; what else it sends of the same host may be malformed."""
    return cookie_parser(headers.get("cookie", "")).get(cookie_of(host), "")
