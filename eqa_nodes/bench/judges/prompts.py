"""Prompts of judges that are models, and how their replies are read: an unknown form is a ValueError."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.answerers.letters import spoken, without_thoughts
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.model import json_object
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


MARK_FORM = "the mark: a whole number from 1 to 5"
BOTH_FORM = 'a JSON object {"mark": a whole number from 1 to 5, "grounding": 0, 0.5 or 1}'
DELTAS = (0.0, 0.5, 1.0)
_NO_MORE = r"(?![\d/%⁄½]|[.,]\d|\s*(?:/|out\s+of\b|(?:-|–|to|or|and|&)\s*\d))"  # "4.5", "4/10", "4 or 5" are no marks
_MARK = rf"([+-]?[0-9]{{1,9}})(?:\.0+)?(?:\s*(?:/|out\s+of)\s*5)?{_NO_MORE}"
_GROUNDING = r"(1/2|0?\.50?|[+-]?[0-9]{1,9}(?:\.[0-9]{1,4})?)(?:\s*/\s*1)?"
# What may follow a number, so that it is the reply and not the begin of a sentence ("2 chairs ..."), or of a list.
_END = r"(?!\W*\d)\s*(?:$|[.:;,!()\n—–-]|\b(?:because|since|as)\b)"
_TAG = re.compile(rf"\byour\s+mark\b\s*(?:is|[:=-])?\s*(?:answer:)?\s*{_MARK}", re.I)
_SAID = re.compile(r"\b(?:mark|score|rating|grade)\b(?:\s*(?:[:=-]|\b(?:is|of|would|should|be|the|this|answer|response|"
                   rf"a|an|it|as)\b:?)){{0,6}}\s*{_MARK}|"
                   r"\b(?:give|rate|assign|award)\b(?:\s+(?:it|this|that|the|answer|response|a|an|mark|score|of|as)\b){0,5}"
                   rf"\s+{_MARK}", re.I)
_FIRST = re.compile(rf"(?:answer:\s*)?\(?{_MARK}{_END}", re.I)
_LINE = re.compile(rf"^\(?{_MARK}[).]?$", re.M)
_DOUBT = re.compile(r"[\s,;(]*\b(?:or|maybe|perhaps|possibly)\b[^\n\d]{0,20}[1-5]\b", re.I)  # what follows "4"
_PAIR = re.compile(rf"(?:your\s+marks?\s*:?\s*)?[(\[]?\s*{_GROUNDING}\s*[\s,;]\s*{_MARK}\s*\]?{_END}", re.I)
_NAMED_GROUNDING = re.compile(rf"\bgrounding\b[^\n\d]{{0,24}}?{_GROUNDING}(?![\d.,]\d)", re.I)
_NAMED_MARK = re.compile(rf"\b(?:mark|accuracy)\b[^\n\d]{{0,24}}?{_MARK}", re.I)


def read_mark(text: str) -> int:
    """Return the mark of a reply: a number that is named as the mark, or is first or alone in a line, or JSON.

    What is tagged as in the published prompts ("Your mark: 4") counts first; of several numbers none is chosen, and
    none that is off the scale of 1 to 5 is moved onto it.
    """
    reply = without_thoughts(text)
    if "{" in reply and (said := _of_json(reply)) is not None:
        return _whole(said.get("mark"))
    plain = spoken(reply)
    for found in (_TAG.finditer(plain), _SAID.finditer(plain), _first(plain), _LINE.finditer(plain)):
        matches = list(found)
        marks = {int(next(filter(None, match.groups()))) for match in matches}
        if len(marks) > 1 or any(_DOUBT.match(plain, match.end()) for match in matches):
            raise ValueError(f"the reply {text[:80]!r} names several marks")
        if marks:
            return _whole(marks.pop())
    raise ValueError(f"no mark in the reply {text[:80]!r}")


def read_both(text: str) -> tuple[int, float]:
    """Return mark and grounding of a JSON object, of "grounding, mark" as the published prompt asks, or by their names.

    "1, 0" is refused: the marks are 1 and 0 in either order, and no mark is 0.
    """
    reply = without_thoughts(text)
    if "{" in reply and (said := _of_json(reply)) is not None:
        return _whole(said.get("mark")), _delta(said.get("grounding"))
    plain = spoken(reply)
    pair = _PAIR.match(plain)
    if pair is None:
        groundings, marks = ({match[1] for match in form.finditer(plain)} for form in (_NAMED_GROUNDING, _NAMED_MARK))
        if len(groundings) != 1 or len(marks) != 1:
            raise ValueError(f"no grounding and mark in the reply {text[:80]!r}")
        return _whole(int(marks.pop())), _number(groundings.pop())
    return _whole(int(pair[2])), _number(pair[1])


def _first(text: str) -> Iterator[re.Match[str]]:
    match = _FIRST.match(text)
    return iter(() if match is None else (match,))


def _of_json(text: str) -> dict[str, object] | None:
    try:
        return json_object(text)
    except ValueError:
        return None  # brackets of prose or of LaTeX


def _number(text: str) -> float:
    return 0.5 if text == "1/2" else _delta(float(text))


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value not in range(1, 6):
        raise ValueError(f"the mark must be a whole number from 1 to 5, not {value!r:.40}")
    return int(value)


def _delta(value: object) -> float:
    if isinstance(value, bool) or value not in DELTAS:
        raise ValueError(f"the grounding must be 0, 0.5 or 1, not {value!r:.40}")
    return float(str(value))
