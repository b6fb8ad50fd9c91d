"""Judges that are models: LLM-Match of OpenEQA, EAC of EXPRESS-Bench, and ACE of Fine-EQA."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TypeVar

from eqa_nodes.bench.judges.base import JudgeMark, JudgeOptions, drop_after_last_full_stop
from eqa_nodes.bench.judges.offline import mark_choice
from eqa_nodes.bench.judges.prompts import BOTH_FORM, MARK_FORM, Prompt, built_in, from_file, read_both, read_mark
from eqa_nodes.core.answerers.common import says_nothing
from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.model import WRONG_FORM, Backend, Message, ask_form
from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.traits import JudgeTraits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models.config import ModelConfig

T = TypeVar("T")
SAME = JudgeMark(5, None, "the same text as a right answer")


class ModelJudge:
    """What LLM-Match and EAC share. Raises ConfigError for a prompt that cannot be used, ModelError if the model fails.

    Two replies in a wrong form leave the answer unscored: they have been paid for, and a third one would be the same.
    """

    traits = JudgeTraits(asks_model=True)
    sees = False
    kind = ""  # the judge's name without its options
    prompt = ""  # name of the built-in one

    def __init__(self, backend: Backend, options: JudgeOptions) -> None:
        self._backend, self._options = backend, options
        changed = (options.role, options.criterion) != (JudgeOptions().role, JudgeOptions().criterion)
        if options.prompt is not None and changed:
            raise ConfigError(f"the role and the criterion of {options.prompt} stand in that file: they can be varied "
                              "in the built-in prompt alone")
        if options.prompt_extra is not None and options.prompt is None:
            raise ConfigError(f"the prompt {options.prompt_extra} for further answers needs one for questions without")
        self._prompt = _prompt(options.prompt, self.prompt, options)
        self._extra_prompt = _prompt(options.prompt_extra, "", options) if options.prompt_extra else self._prompt

    @classmethod
    def from_options(cls, options: JudgeOptions, open_backend: Callable[[ModelConfig], Backend]) -> ModelJudge:
        """Return it as the registry makes it, which opens its model. Raises as that does."""
        backend = open_backend(options.model)
        try:
            return cls(backend, options)
        except Exception:
            backend.close()
            raise

    @property
    def name(self) -> str:
        """Return the name for score files: options, model and the start of the prompt's hash."""
        said = "".join(("" if self._options.extra_answers else "-extra_answers",
                        "+until_last_full_stop" if self._options.until_last_full_stop else ""))
        return f"{self.kind}{said} ({self._backend.model}, prompt {self.prompt_sha256[:8]})"

    @property
    def prompt_sha256(self) -> str:
        """Return the sha256 of all prompts that this judge may use."""
        return hashlib.sha256(dumps([text for text, _ in self._prompts()]).encode()).hexdigest()

    @property
    def version(self) -> str:
        """Return the sha256 over model, prompts and options; where the model runs and what it may cost do not count."""
        own = self._options
        return hashlib.sha256(dumps({
            "judge": self.kind, "off_scale": "unscored", "model": self._backend.model,
            "temperature": own.model.temperature,
            "prompts": [list(prompt) for prompt in self._prompts()], "extra_answers": own.extra_answers,
            "until_last_full_stop": own.until_last_full_stop, "max_tokens": own.max_tokens,
            **({"seed": own.model.seed} if own.model.seed else {})}).encode()).hexdigest()

    def close(self) -> None:
        """Release the model."""
        self._backend.close()

    def _prompts(self) -> tuple[Prompt, ...]:
        return self._prompt, self._extra_prompt

    def _text(self, answer_text: str) -> str:
        """Return the part of an answer that is marked; "" where it is empty."""
        text = drop_after_last_full_stop(answer_text) if self._options.until_last_full_stop else answer_text
        return "" if says_nothing(text) else text

    def _same(self, sample: Sample, text: str) -> bool:
        """Say whether an answer is one of the right ones that the model is shown, letter by letter."""
        shown = sample.alternatives if self._options.extra_answers else ()
        return text.strip() in {right.strip() for right in (sample.answer, *shown)}

    def _ask(self, sample: Sample, text: str, view: bytes | None, read: Callable[[str], T], form: str,
             prompt: Prompt | None = None) -> T | JudgeMark:
        """Return the model's mark, or why its replies could not be parsed."""
        shown = self._options.extra_answers and bool(sample.alternatives)
        asked = (prompt or (self._extra_prompt if shown else self._prompt)).fill(sample, text, shown)
        parts = (asked,) if view is None else (asked, view)
        try:
            return ask_form(self._backend, (Message("user", parts),), read, form, self._options.max_tokens)
        except ModelError as error:
            if str(error).startswith(WRONG_FORM):
                return JudgeMark(None, None, str(error))
            raise


class LlmMatch(ModelJudge):
    """As in OpenEQA's scorer, no answer gets mark 1; a mark outside 1..5 is refused, which that scorer clips.

    Options are matched by rule, and a text that is a right answer letter by letter is right: neither costs a call.
    """

    kind, prompt = "llm-match", "judge_match"

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Ask the model for sigma."""
        if not (text := self._text(answer_text)):
            return JudgeMark(1, None, "no answer")
        if sample.choices:
            return mark_choice(sample, text)
        if self._same(sample, text):
            return SAME
        said = self._ask(sample, text, None, read_mark, MARK_FORM)
        return said if isinstance(said, JudgeMark) else JudgeMark(said)


def _prompt(path: Path | None, name: str, options: JudgeOptions) -> Prompt:
    return built_in(name, options.role, options.criterion) if path is None else from_file(path)


class EacJudge(ModelJudge):
    """Eq. 1 and 2: sigma from question, answers and last view; delta 0, 0.5 or 1 from question, answer and that view.

    One call for both. Without a view sigma is that of the built-in prompt of LLM-Match, and delta is None: not judged.
    No answer gets mark 1 and is not grounded.
    """

    sees = True
    kind, prompt = "eac", "judge_eac"

    def __init__(self, backend: Backend, options: JudgeOptions) -> None:
        self._blind = built_in("judge_match", options.role, options.criterion)
        super().__init__(backend, options)

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Ask the model for sigma and delta."""
        if not (text := self._text(answer_text)):
            return JudgeMark(1, 0.0, "no answer")
        if view is None and self._same(sample, text):
            return SAME
        if view is None:
            said = self._ask(sample, text, None, read_mark, MARK_FORM, self._blind)
            return said if isinstance(said, JudgeMark) else JudgeMark(said)
        both = self._ask(sample, text, view, read_both, BOTH_FORM)
        return both if isinstance(both, JudgeMark) else JudgeMark(*both)

    def _prompts(self) -> tuple[Prompt, ...]:
        return (*super()._prompts(), self._blind)


_OPTIONS = ("yes", "no")


class ViewConfidence:
    """Implements Judge, so that its figures are cached like marks: sigma is the probability of "yes", in 0..1.

    An answer without a final view is unscored. The note is the source of the probability: logits, logprobs, or words.
    """

    sees = True

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._prompt = resources.files("eqa_nodes.prompts").joinpath("view_confidence.txt").read_text(encoding="utf-8")

    @property
    def name(self) -> str:
        """Return the name for score files: the model and the start of the prompt's hash."""
        return f"confidence of {self._backend.model} (prompt {self.version[:8]})"

    @property
    def version(self) -> str:
        """Return the sha256 over model and prompt."""
        return hashlib.sha256(dumps({"confidence": self._backend.model, "prompt": self._prompt}).encode()).hexdigest()

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Ask the model about the view alone: the answer plays no part. Raises ModelError."""
        if view is None:
            return JudgeMark(None, None, "there is no final view")
        asked = self._prompt.replace("{question}", sample.question)
        choice = self._backend.choose((Message("user", (asked, view)),), _OPTIONS)
        return JudgeMark(choice.probabilities[0], None, choice.how)

    def close(self) -> None:
        """Release the model."""
        self._backend.close()
