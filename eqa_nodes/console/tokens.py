"""Tokens of users in a file: hashed, with roles and an end, revoked while pages are open.

A token is 256 random bits, so a plain SHA-256 of it can neither be guessed nor looked up; a slow hash is for passwords.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from eqa_nodes.console.access import ROLES, Visitor
from eqa_nodes.core.errors import ConfigError, unknown

VERSION = 1  # of the file
DAY_S = 86_400.0
MOST_DAYS = 3650.0
_KEPT_S = 90 * DAY_S  # that a token stays listed after its end
_USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_NOBODY = "0" * 64


@dataclass(frozen=True)
class Token:
    """One token without its secret. Times are seconds since 1970; revoked: 0 = it is not."""

    id: str
    user: str
    roles: tuple[str, ...]
    created: float
    expires: float
    sha256: str
    revoked: float = 0.0
    by: str = ""  # the account that made it

    def state(self, now: float) -> str:
        """Return "valid", "expired" or "revoked"."""
        return "revoked" if self.revoked else "expired" if now >= self.expires else "valid"


class TokenFile:
    """The tokens of a console. Reading follows changes of the file; any thread may call.

    trouble: why a change of the file was not taken over; what was read before still holds then.
    """

    def __init__(self, path: Path) -> None:
        """Raises ConfigError for a file that is not one of tokens, or that others may write. No file: no tokens."""
        self.path, self.trouble = path, ""
        self._lock = threading.Lock()
        self._seen: object = None
        self._tokens = self._read()

    def visitor(self, token: str) -> Visitor | None:
        """Return whose token this is, None for a wrong, revoked or expired one.

        The time that it takes does not depend on how much of a token is right.
        """
        given = token.split("_", 2)
        known = self.tokens().get(given[1]) if len(given) == 3 and given[0] == "eqa" else None
        right = hmac.compare_digest(_hash(token), known.sha256 if known is not None else _NOBODY)
        if known is None or not right or known.state(time.time()) != "valid":
            return None
        return Visitor(known.user, frozenset(known.roles), known.id)

    def tokens(self) -> dict[str, Token]:
        """Return the tokens by id, as the file holds them now."""
        with self._lock:
            if self._stat() != self._seen:
                try:
                    self._tokens, self.trouble = self._read(), ""
                except ConfigError as error:
                    self.trouble = f"the changed tokens were not taken over: {error}"
            return self._tokens

    def add(self, user: str, roles: Collection[str], days: float) -> tuple[Token, str]:
        """Make a token; return it with its secret, which is stored nowhere. Raises ConfigError."""
        if not _USER.fullmatch(user):
            raise ConfigError(f"user {user!r} must be 1 to 64 letters, digits or . _ @ -, and begin with a letter or "
                              "digit")
        for role in roles:
            if role not in ROLES:
                raise ConfigError(unknown("role", role, ROLES))
        if not roles or not 0.0 < days <= MOST_DAYS:
            raise ConfigError(f"a token has at least one role, and ends within {MOST_DAYS:g} days: --days is {days:g}")
        now, number = time.time(), secrets.token_hex(4)
        secret = f"eqa_{number}_{secrets.token_urlsafe(32)}"
        token = Token(number, user, tuple(sorted(set(roles))), now, now + days * DAY_S, _hash(secret),
                      by=getpass.getuser())
        with self._changing() as known:
            for old in [t.id for t in known.values() if max(t.revoked, t.expires) + _KEPT_S < now]:
                del known[old]
            known[number] = token
        return token, secret

    def revoke(self, name: str) -> list[Token]:
        """Revoke a token by its id, or all of a user; return those that were valid. Raises ConfigError for none."""
        now = time.time()
        with self._changing() as known:
            found = [t for t in known.values() if name in (t.id, t.user)]
            if not found:
                raise ConfigError(f"no token or user {name!r} in {self.path}: eqa token list shows them")
            ended = [t for t in found if t.state(now) == "valid"]
            known.update({t.id: replace(t, revoked=now) for t in ended})
        return ended

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Token]]:
        """Give the tokens to change, one process at a time; they are written whole when this ends."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.with_name(f"{self.path.name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                known = dict(self._read())
                yield known
                self._write(known)
        except OSError as error:
            raise ConfigError(f"the tokens in {self.path} cannot be changed: {error}") from error

    def _write(self, known: dict[str, Token]) -> None:
        part = self.path.with_name(f"{self.path.name}.part")
        text = json.dumps({"version": VERSION, "tokens": [asdict(t) for t in known.values()]}, indent=1)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path)

    def _stat(self) -> object:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode

    def _read(self) -> dict[str, Token]:
        self._seen = self._stat()
        if self._seen is None:
            return {}
        try:
            if self.path.stat().st_mode & 0o022:
                raise ConfigError(f"others may write {self.path}, and so give themselves tokens: chmod 600 it")
            data = json.loads(self.path.read_text())
            if data["version"] != VERSION:
                raise ConfigError(f"{self.path} has version {data['version']}, this program reads {VERSION}")
            found = [Token(**{**t, "roles": tuple(t["roles"])}) for t in data["tokens"]]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ConfigError(f"{self.path} is no file of tokens ({error!r}): eqa token add makes one") from error
        return {t.id: t for t in found}


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
