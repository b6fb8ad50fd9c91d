"""Roles in generating a data set (generator, evaluator, solver), and how a model plays them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Protocol

from eqa_nodes.core.answerers.common import check_question
from eqa_nodes.core.answerers.vlm_views import heading, picture
from eqa_nodes.core.errors import BadQuestion
from eqa_nodes.core.model import Backend, Message, ask_json, fraction
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.generate.values import CRITERIA, Benchmark, Evaluation, QuestionAnswer, Round, ScenePath

_MAX_ANSWER_CHARS = 300
_KNOWN = 30  # maximum number of earlier questions of the scene shown to the generator


class Generator(Protocol):
    """Writes instructions and questions. Raises ModelError (BudgetSpent)."""

    def instruct(self, path: ScenePath, seed: int) -> str:
        """Return the path as an instruction in words."""

    def propose(self, path: ScenePath, category: str, history: Sequence[Round], known: Sequence[str],
                seed: int) -> QuestionAnswer | None:
        """Return a question about the path's views, better than those of the history; None if there is none.

        known: earlier questions about the scene.
        """


class Evaluator(Protocol):
    """Evaluates the pairs of a generator. Raises ModelError (BudgetSpent)."""

    def evaluate(self, path: ScenePath, category: str, pair: QuestionAnswer, seed: int) -> Evaluation:
        """Score a pair by CRITERIA."""


class ModelGenerator:
    """A generator that uses a model."""

    def __init__(self, backend: Backend, kind: Benchmark, max_tokens: int = 1024) -> None:
        self._backend, self._kind, self._max_tokens = backend, kind, max_tokens

    def instruct(self, path: ScenePath, seed: int) -> str:
        """Ask the model with views of the path and of its end."""
        messages = _messages(_text("instruct"), _data("way", moves(path)), [*path.passed, *path.views])
        return ask_json(self._backend, messages, _read_instruction, self._max_tokens, seed)

    def propose(self, path: ScenePath, category: str, history: Sequence[Round], known: Sequence[str],
                seed: int) -> QuestionAnswer | None:
        """Ask the model with the path's views, the instruction if any, earlier tries and known questions."""
        tries = [{"question": r.pair.question, "answer": r.pair.answer, "scores": r.verdict.scores,
                  "feedback": r.verdict.feedback} for r in history]
        examples = [{"question": e.question, "answer": e.answer} for e in self._kind.examples]
        data = (_data("examples", examples) + _data("instruction", path.instruction) + _data("tries", tries)
                + _data("asked", list(known)[-_KNOWN:]))
        messages = _messages(_prompt("propose", self._kind, category), data, path.views)
        return ask_json(self._backend, messages, read_pair, self._max_tokens, seed)


class ModelEvaluator:
    """An evaluator that uses a model, preferably another one than the generator's."""

    def __init__(self, backend: Backend, kind: Benchmark, max_tokens: int = 1024) -> None:
        self._backend, self._kind, self._max_tokens = backend, kind, max_tokens

    def evaluate(self, path: ScenePath, category: str, pair: QuestionAnswer, seed: int) -> Evaluation:
        """Ask the model with the path's views and the pair."""
        data = _data("instruction", path.instruction) + _data("pair", {"question": pair.question,
                                                                       "answer": pair.answer})
        messages = _messages(_prompt("evaluate", self._kind, category), data, path.views)
        return ask_json(self._backend, messages, read_verdict, self._max_tokens, seed)


def moves(path: ScenePath) -> str:
    """Return the driven path as text: "forward 2.50 m, left 60 degrees, ..."; consecutive turns are summed."""
    parts: list[str] = []
    steps = list(zip(path.actions, path.poses, path.poses[1:], strict=False))
    for forward, run in groupby(steps, key=lambda step: step[0] is Action.MOVE_FORWARD):
        done = list(run)
        if forward:
            parts.append(f"forward {math.fsum(math.dist(a[:2], b[:2]) for _, a, b in done):.2f} m")
        elif turned := round(math.degrees(math.fsum(wrap(b.yaw - a.yaw) for _, a, b in done))):
            parts.append(f"{'left' if turned > 0 else 'right'} {abs(turned)} degrees")
    return ", ".join(parts)


def read_pair(reply: Mapping[str, object]) -> QuestionAnswer | None:
    """Return a proposal, None if there is nothing to ask. Raises ValueError."""
    question, answer = _words(reply, "question"), _words(reply, "answer")
    if not question and not answer:
        return None
    try:
        check_question(question)
    except BadQuestion as error:
        raise ValueError(str(error)) from error
    if not question.endswith("?"):
        raise ValueError(f'"question" must end with a question mark, not be {question!r:.80}')
    if not any(char.isalnum() for char in answer) or len(answer) > _MAX_ANSWER_CHARS:
        raise ValueError(f'"answer" must be a text of 1 to {_MAX_ANSWER_CHARS} characters, not {answer!r:.80}')
    others = reply.get("alternatives", [])
    if not isinstance(others, list) or not all(isinstance(other, str) for other in others):
        raise ValueError(f'"alternatives" must be a list of texts, not {others!r:.80}')
    return QuestionAnswer(question, answer,
                          tuple(dict.fromkeys(o.strip() for o in others if o.strip() and o != answer)))


def read_verdict(reply: Mapping[str, object]) -> Evaluation:
    """Return a verdict. Raises ValueError."""
    return Evaluation({name: fraction(reply.get(name), f'"{name}"') for name in CRITERIA}, _words(reply, "feedback"))


def _read_instruction(reply: Mapping[str, object]) -> str:
    text = _words(reply, "instruction")
    if not any(char.isalnum() for char in text):
        raise ValueError('"instruction" must be a text that is not empty')
    return text


def _words(reply: Mapping[str, object], name: str) -> str:
    value = reply.get(name)
    if not isinstance(value, str):
        raise ValueError(f'"{name}" must be a text, not {value!r:.40}')
    return " ".join(value.split())


def _messages(prompt: str, data: str, views: Sequence[Keyframe]) -> tuple[Message, Message]:
    parts: list[str | bytes] = [data] if data else []
    for number, view in enumerate(views, 1):
        parts += [heading(number, view, {}), picture(view, {})]
    return Message("system", (prompt,)), Message("user", tuple(parts))


def _prompt(name: str, kind: Benchmark, category: str) -> str:
    return _text(name).replace("$CATEGORY", category).replace("$ABOUT", kind.categories[category])


@cache
def _text(name: str) -> str:
    return resources.files("eqa_nodes.prompts").joinpath(f"generate_{name}.txt").read_text(encoding="utf-8")


def _data(name: str, value: object) -> str:
    """Return a value as JSON between markers, "" for nothing; JSON escapes line breaks and quotes in strings."""
    return f"<{name}>\n{json.dumps(value, ensure_ascii=False)}\n</{name}>\n" if value else ""


