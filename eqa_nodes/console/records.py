"""What requests mean to an auditor: who asked, stopped, looked and was refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eqa_nodes.console.access import LOCAL, Visitor
from eqa_nodes.console.audit import AuditLog

DETAILS = "eqa.details"  # key of a request's scope: what its handler adds
_ACTS = ((re.compile(r"/questions"), "asked"), (re.compile(r"/speech"), "spoke"),
         (re.compile(r"/questions/\d+/cancel"), "canceled"), (re.compile(r"/stop"), "stopped"))
_LOOKS = ((re.compile(r"/live/camera\.jpg"), "camera"), (re.compile(r"/live/map\.svg"), "map"),
          (re.compile(r"/live/(place|cloud)"), "place"), (re.compile(r"/live/call/.*"), "model's pictures"),
          (re.compile(r"/questions/\d+/proof/.*"), "proof"), (re.compile(r"/events"), "live state"),
          (re.compile(r"/runs/.*"), "past episode"), (re.compile(r"/audit"), "audit log"))


class Records:
    """Writes requests to an audit log; without one, nothing."""

    def __init__(self, log: AuditLog | None = None) -> None:
        self.log = log

    def request(self, scope: Mapping[str, Any], address: str, status: int) -> None:
        """Note a request when its reply begins. Pictures that are looked at, and refusals, are noted once a minute."""
        if self.log is None:
            return
        visitor = scope.get("eqa.visitor")
        user, path = (visitor.user if isinstance(visitor, Visitor) else ""), scope["path"]
        if visitor is not None and scope["method"] == "POST":
            if (action := _named(_ACTS, path)) is not None:
                outcome = "ok" if status < 400 else f"refused ({status})"
                self.log.note(action, user, address, outcome, token=visitor.token, **scope.get(DETAILS, {}))
        elif status in (401, 403, 421, 429):
            self.log.seldom("request refused", user, address, f"refused ({status})", path=path[:100])
        elif visitor is not None and status < 400 and (what := _named(_LOOKS, path)) is not None:
            self.log.seldom("looked", user, address, what=what)

    def entered(self, visitor: Visitor, address: str) -> None:
        """Note that a token opened the page."""
        if self.log is not None and visitor is not LOCAL:
            self.log.note("token used", visitor.user, address, token=visitor.token, roles=sorted(visitor.roles))

    def wrong_token(self, address: str) -> None:
        """Note that a wrong, expired or revoked token was refused."""
        if self.log is not None:
            self.log.note("token refused", "", address, "refused")

    def happened(self, action: str, user: str = "", outcome: str = "ok", **more: object) -> None:
        """Note what no request did: a page that fell silent, parameters that changed."""
        if self.log is not None:
            self.log.note(action, user, "", outcome, **more)


def _named(table: tuple[tuple[re.Pattern[str], str], ...], path: str) -> str | None:
    return next((name for pattern, name in table if pattern.fullmatch(path)), None)
