"""How tasks of the houses are worded, read from phrasings.yaml: at least 60 phrasings for each family."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from eqa_nodes.core.errors import ConfigError, unknown

PATH = Path(__file__).with_name("phrasings.yaml")
FEWEST = 60  # phrasings of a family, as in EmbodiedEval
_SLOT = re.compile(r"\{([^}]*)\}")
_BASE, _ROOM, _NAME = {"base"}, {"room"}, {"name", "is", "does"}
SLOTS: dict[str, dict[str, set[str]]] = {  # family -> kind -> words that its phrasings may use
    "AttrQA": {"category": _BASE, "shape": _BASE, "material": _BASE, "colour": _NAME, "function": _BASE, "state": set(),
               "existence": _ROOM, "quantity": {"things", "room"}, "comparison": _BASE,
               "several attributes": {"colour", "material", "room"}},
    "SpatialQA": {"size": _NAME, "height": _NAME, "distance": {"name", "other"}, "area": _ROOM,
                  "path": {"name", "other"}, "layout": _ROOM, "relation": {"the thing", "is"}},
    "Navigation": {"reach": {"name"}, "return": {"name"}, "via": {"name", "other"}},
    "ObjectInteraction": {"do": {"do"}},
    "SocialInteraction": {"greet": {"who"}, "ask": {"who", "known"}, "hand_over": {"who", "wanted"},
                          "follow": {"who", "name"}, "wake": {"who"}, "point": {"who", "known"}}}


@cache
def phrasings(path: Path = PATH) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the phrasings by family and kind. Raises ConfigError that names the file and the phrasing."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    for family, kinds in SLOTS.items():
        listed = content.get(family) if isinstance(content, dict) else None
        if not isinstance(listed, dict) or set(listed) != set(kinds):
            raise ConfigError(f"{path}: {family} must have the kinds {', '.join(kinds)}")
        for kind, texts in listed.items():
            _check(f"{path}: {family}.{kind}", texts, kinds[kind])
        if sum(map(len, listed.values())) < FEWEST:
            raise ConfigError(f"{path}: {family} needs {FEWEST} phrasings, and has {sum(map(len, listed.values()))}")
    return {family: {kind: tuple(texts) for kind, texts in content[family].items()} for family in SLOTS}


def _check(where: str, texts: object, slots: set[str]) -> None:
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"{where} must be a list of texts")
    if len(set(texts)) != len(texts):
        raise ConfigError(f"{where} has {next(t for t in texts if texts.count(t) > 1)!r} twice")
    for text in texts:
        for slot in _SLOT.findall(text):
            if slot not in slots and slot[:1].lower() + slot[1:] not in slots:
                raise ConfigError(f"{where}, {text!r}: {unknown('word in braces', slot, sorted(slots) or ['none'])}")


class Wording:
    """Words tasks with each phrasing of a kind in turn."""

    def __init__(self) -> None:
        self._used: Counter[tuple[str, str]] = Counter()

    def text(self, family: str, kind: str, **words: str) -> str:
        """Return the next phrasing of a kind, filled in."""
        texts = phrasings()[family][kind]
        text = texts[self._used[family, kind] % len(texts)]
        words |= {name[:1].upper() + name[1:]: value[:1].upper() + value[1:] for name, value in words.items()}
        return _SLOT.sub(lambda slot: words[slot[1]], text)

    def count(self, family: str, kind: str) -> int:
        """Return how many texts of a kind there are."""
        return self._used[family, kind]

    def used(self, family: str, kind: str) -> None:
        """Count a phrasing as used: the next text of its kind gets the next one."""
        self._used[family, kind] += 1
