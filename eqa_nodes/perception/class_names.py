"""Names of the classes of a detector: from a file, or from the text in a model's metadata."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from eqa_nodes.core.errors import ConfigError

_STRUCTURED = (".json", ".yaml", ".yml")
_KEYS = ("names", "id2label")  # of Ultralytics' data.yaml, and of a config.json of transformers
_LIMIT = 1 << 20  # characters; a longer list of names is a mistake


def read_class_names(path: str | Path) -> dict[int, str]:
    """Return the class names in a file by their numbers. Raises ConfigError.

    The file has one name a line, or is JSON or YAML: a list, {number: name}, or a mapping with one of both as `names`
    or `id2label`.
    """
    file = Path(path)
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the class names {str(path)!r} cannot be read ({error}): name a text file with one name a "
                          "line, or a JSON or YAML file") from error
    if file.suffix.lower() not in _STRUCTURED:
        return _numbered(text.rstrip().splitlines(), str(path))
    try:
        said = yaml.safe_load(text[:_LIMIT])
    except yaml.YAMLError as error:
        raise ConfigError(f"the class names {str(path)!r} are neither JSON nor YAML: "
                          f"{' '.join(str(error).split())[:200]}") from error
    if isinstance(said, dict):
        said = next((said[key] for key in _KEYS if isinstance(said.get(key), list | dict)), said)
    return _numbered(said, str(path))


def parse_class_names(text: str, where: str) -> dict[int, str]:
    """Return the class names that a model's metadata hold as a Python or JSON literal. Raises ConfigError.

    Ultralytics writes {0: 'person', 1: 'bicycle'}. The text is parsed as a literal and never executed.
    """
    try:
        said = ast.literal_eval(text[:_LIMIT].strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise ConfigError(f"the class names of {where} are {text[:60]!r}, which is no list or dictionary: give "
                          "detector.names a file with the names") from error
    return _numbered(said, where)


def _numbered(said: Any, where: str) -> dict[int, str]:
    """Return names by number. Raises ConfigError for numbers or names that are not usable."""
    listed = said if isinstance(said, list | tuple) else ()
    pairs = list(said.items()) if isinstance(said, Mapping) else list(enumerate(listed))
    names = {}
    for number, name in pairs:
        words = " ".join(str(name).split()) if isinstance(name, str | int | float) else ""
        if not str(number).isdecimal() or not words:
            raise ConfigError(f"the class names of {where} have {number!r}: {name!r}: each class needs a number from 0 "
                              "and a name that is not empty")
        names[int(number)] = words
    if not names:
        raise ConfigError(f"{where} has no class names: expected a list of names, or a dictionary of numbers and names")
    return names
