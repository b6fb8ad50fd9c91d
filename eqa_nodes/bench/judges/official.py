"""Official judging: prompts, parser and settings of OpenEQA's or EXPRESS-Bench's own scorer, from a checkout of it.

The messages are those of the published code, byte for byte, and a reply that its parser refuses leaves the answer
unscored: nothing is asked again. Prompts are read from the user's checkout; none are part of this package.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eqa_nodes.bench.judges.base import JudgeMark, clipped, drop_after_last_full_stop
from eqa_nodes.bench.judges.prompts import PLACEHOLDERS, read_prompt
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.model import Backend, Message
from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models.config import ModelConfig

TAG = "Your mark:"
EXTRA_ANSWERS = "extra_answers"  # metadata of a sample: the further answers as published, where some of them are empty
LLM_MATCH, EAC = "llm-match", "eac"
_NAMED = {"temperature": "--judge-temperature", "seed": "--judge-sample-seed", "image_side_px": "--judge-image-side"}


class OfficialScorer(NamedTuple):
    """What a checkout holds. kind: LLM_MATCH or EAC; prompts: their texts as the scorer uses them.

    LLM-Match: without and with further answers; EAC: system and user. settings: fields of ModelConfig that the scorer
    fixes; max_tokens: of a reply (EXPRESS-Bench sends no limit, and its replies are a few tokens).
    """

    kind: str
    prompts: tuple[str, str]
    settings: Mapping[str, Any]
    max_tokens: int

    def model(self, named: Mapping[str, Any]) -> ModelConfig:
        """Return the model's configuration. named: fields that the user gave. Raises ConfigError where they differ."""
        for field, value in self.settings.items():
            if named.get(field, value) != value:
                raise ConfigError(f"official judging fixes {field} at {value}: leave {_NAMED[field]} out")
        return ModelConfig(**{**named, **self.settings})


def find_scorer(folder: Path) -> OfficialScorer:
    """Return the scorer of a checkout of open-eqa (LLM-Match) or of EXPRESS-Bench (EAC). Raises ConfigError."""
    openeqa, express = folder / "prompts" / "mmbench.txt", folder / "prompt" / "evaluation.txt"
    if openeqa.is_file():
        plain, extra = (_checked(path) for path in (openeqa, openeqa.with_name("mmbench-extra.txt")))
        return OfficialScorer(LLM_MATCH, (plain, extra), {"temperature": 0.2, "seed": 1234}, 32)
    if express.is_file():
        lines = read_prompt(express).splitlines(keepends=True)
        if len(lines) < 4:
            raise ConfigError(f"{express} must have at least four lines: a heading, the system prompt, a heading, and "
                              "the user's prompt")
        return OfficialScorer(EAC, (lines[1], "".join(lines[3:])), {"temperature": -1.0, "image_side_px": 0}, 1024)
    raise ConfigError(f"{folder} is not a checkout of open-eqa (prompts/mmbench.txt) or EXPRESS-Bench "
                      "(prompt/evaluation.txt): clone one of them and name its folder with --prompts")


def _checked(path: Path) -> str:
    """Return a prompt of OpenEQA, whose placeholders Python's own formatting fills. Raises ConfigError."""
    text = read_prompt(path).strip()
    try:
        text.format(**dict.fromkeys(PLACEHOLDERS, ""))
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be filled in with {', '.join(PLACEHOLDERS)}: {error!r}") from error
    return text


class OfficialJudge:
    """What the two judges share. Raises ModelError where the model fails."""

    sees = False

    def __init__(self, backend: Backend, scorer: OfficialScorer) -> None:
        self._backend, self._scorer = backend, scorer

    @property
    def name(self) -> str:
        """Return the name for score files: the scorer, the model and the start of the prompts' hash."""
        return f"{self._scorer.kind} official ({self._backend.model}, prompt {self.prompt_sha256[:8]})"

    @property
    def prompt_sha256(self) -> str:
        """Return the sha256 of the checkout's prompts."""
        return hashlib.sha256(dumps(list(self._scorer.prompts)).encode()).hexdigest()

    @property
    def version(self) -> str:
        """Return the sha256 over scorer, model, prompts and settings."""
        kind, prompts, fixed, max_tokens = self._scorer
        return hashlib.sha256(dumps({"official": kind, "model": self._backend.model, "prompts": list(prompts),
                                     "settings": dict(fixed), "max_tokens": max_tokens}).encode()).hexdigest()

    def close(self) -> None:
        """Release the model."""
        self._backend.close()

    def _said(self, messages: Sequence[Message]) -> str:
        return self._backend.generate(messages, self._scorer.max_tokens).text


class OfficialMatch(OfficialJudge):
    """LLM-Match as OpenEQA's evaluate-predictions.py has it. No answer (null) gets 0 there, which is clipped to 1."""

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Ask the model for sigma."""
        if not answer_text:
            return JudgeMark(1, None, "no answer")
        reply = self._said(self.messages(sample, answer_text))
        try:
            return clipped(read_official_mark(reply))
        except ValueError as error:
            return JudgeMark(None, None, f"the official parser refuses the reply {reply[:80]!r}: {error}")

    def messages(self, sample: Sample, answer_text: str) -> tuple[Message, ...]:
        """Return what the model is asked: the further answers are printed as Python prints a list."""
        extra = sample.metadata.get(EXTRA_ANSWERS) or list(sample.alternatives)
        prompt = self._scorer.prompts[1 if extra else 0].format(
            question=sample.question, answer=sample.answer, prediction=drop_after_last_full_stop(answer_text),
            extra_answers=extra)
        return (Message("user", (prompt,)),)


class OfficialEac(OfficialJudge):
    """EAC as EXPRESS-Bench's main.py has it: grounding and mark from one reply about the final view."""

    sees = True

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Ask the model for sigma and delta."""
        if not answer_text:
            return JudgeMark(1, 0.0, "no answer")
        if view is None:
            return JudgeMark(None, None, "official EAC needs the final view, and this answer has none")
        reply = self._said(self.messages(sample, answer_text, view))
        try:
            return JudgeMark(*read_official_eac(reply))
        except ValueError as error:
            return JudgeMark(None, None, f"the official parser refuses the reply {reply[:80]!r}: {error}")

    def messages(self, sample: Sample, answer_text: str, view: bytes) -> tuple[Message, ...]:
        """Return what the model is asked: system, and user with the final view behind the text."""
        system, user = self._scorer.prompts
        asked = f"Question: {sample.question}\nAnswer: {sample.answer}\nResponse: {answer_text}\n{TAG} "
        return Message("system", (system,)), Message("user", (user + asked, view))


def open_official(scorer: OfficialScorer, backend: Backend) -> OfficialMatch | OfficialEac:
    """Return the judge of a scorer."""
    return OfficialMatch(backend, scorer) if scorer.kind == LLM_MATCH else OfficialEac(backend, scorer)


def read_official_mark(text: str) -> int:
    """Return the mark of a reply as OpenEQA's parser reads it: digits alone, or a number behind the tag in its line.

    Raises ValueError for any other form; the mark is not clipped yet.
    """
    if text.isdigit():
        return int(text)
    _, tag, after = text.partition(TAG)
    if not tag:
        raise ValueError(f"it is not a number and does not contain {TAG!r}")
    return int(after.partition("\n")[0].replace(TAG, "").strip())


def read_official_eac(text: str) -> tuple[int, float]:
    """Return mark and grounding of "grounding, mark" as EXPRESS-Bench's evaluation.py reads it; any number is taken.

    Raises ValueError for another form. The published code reads a grounding of nan, too, and all its means are nan.
    """
    fields = text.replace(TAG, "").strip().split(",")
    if len(fields) < 2:
        raise ValueError("it has no comma")
    delta, sigma = float(fields[0]), int(fields[1])
    if not math.isfinite(delta):
        raise ValueError(f"the grounding is {delta}")
    return sigma, delta
