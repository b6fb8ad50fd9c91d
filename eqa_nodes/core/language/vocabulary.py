"""Reads vocabulary.yaml, the words of questions about homes, for english, naming, rooms, states and uses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PATH = Path(__file__).with_name("vocabulary.yaml")


def entries(section: str) -> tuple[str, ...]:
    """Return the words of a section that is one list. Raises ValueError for a broken file or an unknown section."""
    return split(_section(section, str))


def rows(section: str) -> tuple[tuple[str, ...], ...]:
    """Return the cells of a section of rows ("in | bed | sleep nap"). Raises ValueError as entries does."""
    return tuple(tuple(map(str.strip, row.split("|"))) for row in _section(section, list))


def table(section: str, topic: str = "") -> dict[str, tuple[str, ...]]:
    """Return the lists of words of a section, or of one of its topics, by their names. Raises ValueError."""
    content = _section(section, dict)
    return {name: split(text) for name, text in (content[topic] if topic else content).items()}


def cells(section: str) -> dict[str, tuple[str, ...]]:
    """Return the cells of each row of a section, by its name. Raises ValueError as entries does."""
    return {name: tuple(map(str.strip, text.split("|"))) for name, text in _section(section, dict).items()}


def topics(section: str) -> tuple[str, ...]:
    """Return the names in a section."""
    return tuple(_section(section, dict))


def pairs(section: str) -> tuple[dict[str, tuple[str, ...]], ...]:
    """Return the tables of a section that is a list of them. Raises ValueError as entries does."""
    return tuple({name: split(text) for name, text in row.items()} for row in _section(section, list))


def groups(section: str) -> Iterator[tuple[str, str]]:
    """Yield every word of a table of synonyms with its canonical one, that one itself first."""
    for name, others in table(section).items():
        for word in (name, *others):
            yield word, name


def split(text: str) -> tuple[str, ...]:
    """Return the words of a list with commas."""
    return tuple(filter(None, map(str.strip, text.split(","))))


def _section(name: str, kind: type) -> Any:
    content = _content(PATH)
    if not isinstance(content.get(name), kind):
        raise ValueError(f"{PATH} needs a section {name!r} of type {kind.__name__}; correct the file or install again")
    return content[name]


@cache
def _content(path: Path) -> dict[str, Any]:
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every value stays text: "on" and "no" are words here
    try:
        content = loader(path.read_text(encoding="utf-8")).get_single_data()
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read ({error}); correct it or install the package again") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds no sections; correct it or install the package again")
    return content
