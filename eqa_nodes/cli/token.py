"""`eqa token`: who may open the console's page, and what they may do there."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.options import argument, group, option

if TYPE_CHECKING:
    from eqa_nodes.console.tokens import TokenFile


@dataclass(frozen=True, kw_only=True)
class TokensFile:
    """The file of tokens."""

    file: Path | None = option(None, "file of tokens (default: eqa/tokens.json in XDG_CONFIG_HOME or ~/.config)",
                               metavar="FILE")

    def opened(self) -> TokenFile:
        """Return the tokens. Raises ConfigError."""
        from eqa_nodes.console.tokens import TokenFile

        usual = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "eqa" / "tokens.json"
        return TokenFile(self.file or usual)


@dataclass(frozen=True, kw_only=True)
class AddToken:
    """Makes a token for a user and prints it; it is stored as a hash and cannot be shown again. Everybody with a token
    may stop the robot.
    """

    user: str = argument("name of the user, as the audit log will have it")
    role: tuple[str, ...] = option((), "look = see everything, ask = look and ask questions, stop = stop the "
                                   "robot and see nothing, admin = everything and the audit log (default: ask)",
                                   metavar="ROLE")
    days: float = option(90.0, "days until it expires", metavar="DAYS")
    tokens: TokensFile = group(TokensFile)

    def run(self) -> int:
        """Make it and print it."""
        made = self.tokens.opened()
        token, secret = made.add(self.user, self.role or ("ask",), self.days)
        print(f"{secret}\n\ntoken {token.id} of {token.user} ({', '.join(token.roles)}) in {made.path}, until "
              f"{_day(token.expires)}. Open the console's address with /enter#{secret[:8]}... (the whole token)")
        return 0


@dataclass(frozen=True, kw_only=True)
class ListTokens:
    """Prints all tokens, without what opens the page."""

    tokens: TokensFile = group(TokensFile)

    def run(self) -> int:
        """Print them."""
        from rich.console import Console
        from rich.table import Table

        opened, now = self.tokens.opened(), time.time()
        table = Table("token", "user", "roles", "made", "by", "until", "state")
        for t in opened.tokens().values():
            table.add_row(t.id, t.user, ", ".join(t.roles), _day(t.created), t.by, _day(t.revoked or t.expires),
                          t.state(now))
        Console().print(table)
        return 0


@dataclass(frozen=True, kw_only=True)
class RevokeToken:
    """Revokes a token, or all tokens of a user. Open pages lose their access within seconds."""

    name: str = argument("id of a token, or name of a user", metavar="TOKEN")
    tokens: TokensFile = group(TokensFile)

    def run(self) -> int:
        """Revoke and print what was revoked."""
        ended = self.tokens.opened().revoke(self.name)
        print(f"revoked: {', '.join(f'{t.id} of {t.user}' for t in ended) or 'nothing, all had ended before'}")
        return 0


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
