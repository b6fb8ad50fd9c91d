"""Prompts of judges that are models: the built-in ones, or an official prompt from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.samples import Sample

PLACEHOLDERS = ("question", "answer", "prediction", "extra_answers")  # as OpenEQA's prompt files name them
_MOST_BYTES = 200_000  # of a prompt's file; published ones have 6,000
_NEEDED = ("question", "answer", "prediction")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
# What the supplement of OpenEQA varies (tables 8 and 9), in our own words; the first of each is the built-in one.
ROLES: Mapping[str, str] = {
    "ai": "an AI that judges answers", "master": "the Score Master", "professional": "a professional evaluator"}
CRITERIA: Mapping[str, str] = {
    "perfect": "says exactly what the right answer says",
    "contains": "contains the right answer, whatever else it says",
    "professional": "would be taken for the right answer by a sensible professional evaluator",
    "person": "would be taken for the right answer by any sensible person"}


class Prompt(NamedTuple):
    """A text with PLACEHOLDERS. quoted: values are put in as JSON, so that they cannot leave their place."""

    text: str
    quoted: bool

    def fill(self, sample: Sample, prediction: str, extra_answers: bool = True) -> str:
        """Return the prompt for an answer; without extra answers the lines that would show them are left out."""
        extra = list(sample.alternatives) if extra_answers else []
        lines = self.text.splitlines(keepends=True)
        text = "".join(line for line in lines if extra or "{extra_answers}" not in line)
        values: dict[str, object] = {"question": sample.question, "answer": sample.answer, "prediction": prediction,
                                     "extra_answers": extra}
        return _PLACEHOLDER.sub(lambda match: self._shown(values[match[1]]), text)

    def _shown(self, value: object) -> str:
        as_it_is = isinstance(value, str) and not self.quoted
        return str(value) if as_it_is else json.dumps(value, ensure_ascii=False)


def built_in(name: str, role: str = "ai", criterion: str = "perfect") -> Prompt:
    """Return eqa_nodes/prompts/<name>.txt with a role of ROLES and a criterion of CRITERIA. Raises ConfigError."""
    for what, value, known in (("role", role, ROLES), ("criterion", criterion, CRITERIA)):
        if value not in known:
            raise ConfigError(unknown(f"{what} of a judge", value, known))
    text = resources.files("eqa_nodes.prompts").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return Prompt(text.replace("$ROLE", ROLES[role]).replace("$CRITERION", CRITERIA[criterion]), quoted=True)


def from_file(path: Path) -> Prompt:
    """Return the prompt of a file, its values put in as they are. Raises ConfigError for a wrong placeholder."""
    text = read_prompt(path)
    named = _PLACEHOLDER.findall(text)
    for name in named:
        if name not in PLACEHOLDERS:
            raise ConfigError(f"{path}: " + unknown("placeholder", name, PLACEHOLDERS))
    for name in _NEEDED:
        if name not in named:
            raise ConfigError(f"{path} has no {{{name}}}: a judge's prompt needs {', '.join(_NEEDED)}")
    return Prompt(text, quoted=False)


def read_prompt(path: Path) -> str:
    """Return the text of a judge's prompt. Raises ConfigError."""
    try:
        if path.exists() and not (path.is_file() and path.stat().st_size <= _MOST_BYTES):
            raise OSError(f"it is not a file of at most {_MOST_BYTES} bytes")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigError(f"the judge's prompt {path} cannot be read: {error}") from error
