"""Who a visitor of a page is, and what roles let them do."""

from __future__ import annotations

import re
from typing import NamedTuple

LOOK, ASK, STOP, ADMIN = "look", "ask", "stop", "admin"
ROLES = {LOOK: "see camera, map, questions and past episodes", ASK: "look, and ask questions that may drive the robot",
         STOP: "stop the robot, and see nothing", ADMIN: "everything, and read the audit log"}
_OPEN = re.compile(r"/|/enter|/page/[^/]*|/viewer/[^/]*")  # files that are the same for everybody


class Visitor(NamedTuple):
    """Somebody whose token is right. token: its id, "" where none is asked for."""

    user: str
    roles: frozenset[str]
    token: str = ""

    def may(self, need: str) -> bool:
        """Return whether these roles allow it. Everybody with a valid token may stop the robot."""
        return need in (STOP, "") or need in self.roles or ADMIN in self.roles or (need == LOOK and ASK in self.roles)


LOCAL = Visitor("local", frozenset({ADMIN}))  # of a page that asks for no token
LINK = Visitor("link", frozenset({ADMIN}))  # has the link that the terminal shows


def need_of(method: str, path: str) -> str:
    """Return the role that a request needs, "" = any."""
    if _OPEN.fullmatch(path):
        return ""
    if path == "/speech":
        return ASK
    if method == "POST":
        return ASK if path == "/questions" or path.startswith("/inquiries/") else STOP  # to call off is to stop
    return ADMIN if path == "/audit" else LOOK
