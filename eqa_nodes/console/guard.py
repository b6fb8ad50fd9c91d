"""Who may see the page and act on it: host names, origins, a token, and headers that keep a page to itself.

A page of another site that the same browser shows must neither read nor act: its requests carry another Origin, a Host
that is not ours (DNS rebinding), or say so themselves (Sec-Fetch-Site).
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eqa_nodes.console.access import LINK, LOCAL, Visitor, need_of
from eqa_nodes.console.guessing import WrongTokens
from eqa_nodes.console.records import Records
from eqa_nodes.console.tokens import TokenFile

VISITOR = "eqa.visitor"  # key of a request's scope
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
    """token: of the link; tokens: of users, instead of it; neither = none is asked for.

    names: by which the page may be addressed, beside IP addresses. addresses: any IP address may stand in Host (a name
    is what rebinding needs); False: those of this machine alone. secure: the page is served over TLS. proxy: address of
    a reverse proxy, whose word on the client's address and on TLS is taken.
    """

    token: str
    names: Collection[str]
    addresses: bool
    tokens: TokenFile | None = None
    secure: bool = False
    proxy: str = ""
    records: Records = Records()
    wrong: WrongTokens = field(default_factory=WrongTokens)

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

    def visitor(self, token: str) -> Visitor | None:
        """Return who opens the page with a token, in a time that does not depend on how much of it is right."""
        if self.tokens is not None:
            return self.tokens.visitor(token)
        if not self.token:
            return LOCAL
        return LINK if secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode()) else None

    def address(self, scope: Scope) -> str:
        """Return the client's address, as the reverse proxy gives it where the request came through that."""
        peer = str(scope["client"][0])
        named = Headers(scope=scope).get("x-forwarded-for", "") if self.proxy and peer == self.proxy else ""
        return named.rpartition(",")[2].strip()[:45] or peer

    def over_tls(self, scope: Scope) -> bool:
        """Return whether the browser's connection is encrypted."""
        behind = bool(self.proxy) and scope["client"][0] == self.proxy
        return self.secure or (behind and Headers(scope=scope).get("x-forwarded-proto", "") == "https")


class Guard:
    """ASGI middleware: refuses what the rules do not allow, and sets the headers of every reply."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._rules.records.request(scope, self._rules.address(scope), message["status"])
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
        return None if path in OPEN_PATHS else self._admitted(scope, path, cookie_in(headers, host))

    def _admitted(self, scope: Scope, path: str, token: str) -> tuple[int, str] | None:
        """Find out whose request this is, and return why it is refused, None = it is not."""
        visitor = self._rules.visitor(token)
        if visitor is None:
            if token and self._rules.wrong.wrong(self._rules.address(scope), token):
                self._rules.records.wrong_token(self._rules.address(scope))
            return 401, ("your token is wrong, has expired or was revoked: ask whoever made it for another"
                         if self._rules.tokens is not None else
                         "open the whole link that the terminal shows: it ends with the token")
        scope[VISITOR] = visitor
        if not visitor.may(need := need_of(scope["method"], path)):
            return 403, f"{visitor.user} has no token for this: it needs the role {need}"
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


def visitor_of(scope: Scope) -> Visitor:
    """Return whose request this is, of one that the guard has let through."""
    found: Any = scope.get(VISITOR, LOCAL)
    return found if isinstance(found, Visitor) else LOCAL


def cookie_in(headers: Headers, host: str) -> str:
    """Return the token that a browser sends; what else it sends of the same host may be malformed."""
    return cookie_parser(headers.get("cookie", "")).get(cookie_of(host), "")
