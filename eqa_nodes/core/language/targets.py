"""Questions over several places or objects: what each of them has to be looked at.

"Are the bedsheets in both bedrooms the same colour?" has two targets: the bedsheets in one bedroom, and those in the
other. Rules over the form of the question, in English only; a question about one place or object has no targets here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from eqa_nodes.core.language.rooms import is_room, room_name


class Target(NamedTuple):
    """One of several things that a question wants looked at.

    what: an object in words of the question, "" for the place itself; where: the place, "" for anywhere. Of places that
    share a name ("both bedrooms") one is "one bedroom", the next the "other bedroom"; objects likewise.
    """

    what: str
    where: str = ""

    @property
    def room(self) -> str:
        """The name of the room without "one" and "other"; "" where the place is no room."""
        room = _bare(self.where)
        return room_name(room) if is_room(room) else ""

    @property
    def name(self) -> str:
        """The target in words: "bedsheets in the other bedroom"."""
        place = f"the {self.where}" if not self.where.startswith(("one ", "another ")) else self.where
        return " in ".join(filter(None, (self.what, place if self.where else "")))

    @property
    def kind(self) -> str:
        """The object without "one" and "other"."""
        return _bare(self.what)


class Compared(NamedTuple):
    """What a question over several targets asks of them.

    form: same | more | size | closer | both | either | count | each; aspect: what is compared (colour, larger, more,
    on, ...); denied: "do they differ?"; which: one of the targets is asked for. Of "closer" the
    last target is the one that the others are closer to.
    """

    form: str
    targets: tuple[Target, ...]
    aspect: str = ""
    denied: bool = False
    which: bool = False


_KNOWN, _MISSING = "known: ", "missing: "


def standing(known: Sequence[str], missing: Sequence[Target] = ()) -> str:
    """Return what is known and which targets are missing, as a message: "known: ...; missing: ..."."""
    said = [*(known or ["nothing"]), *(_MISSING + target.name for target in missing)]
    return _KNOWN + "; ".join(said)


def is_standing(message: str) -> bool:
    """Return whether a message says what is known of several targets."""
    return message.startswith(_KNOWN)


def missing_names(message: str) -> tuple[str, ...]:
    """Return the names of the targets that such a message calls missing; () for any other message."""
    if not is_standing(message):
        return ()
    return tuple(part.removeprefix(_MISSING) for part in message.split("; ") if part.startswith(_MISSING))


def _bare(name: str) -> str:
    return re.sub(r"^(?:one|other|another|third) (?=\w)", "", name)
