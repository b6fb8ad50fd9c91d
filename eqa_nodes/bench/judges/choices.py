"""Judges multiple choice as HM-EQA scores it: the right option or not, by letter or by words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.bench.judges.base import JudgeMark, JudgeOptions, drop_after_last_full_stop
from eqa_nodes.core.answerers import common, letters
from eqa_nodes.core.language import english as language
from eqa_nodes.core.types.samples import Sample

if TYPE_CHECKING:
    from eqa_nodes.core.model import Backend
    from eqa_nodes.models.config import ModelConfig


def mark_choice(sample: Sample, text: str) -> JudgeMark:
    """Return 5 for the right option, else 1: an answer that names none, or several, is wrong."""
    index = common.match_choice(text, sample.choices)
    if index is None:
        return JudgeMark(1, None, "no option named")
    chosen = sample.choices[index]
    return JudgeMark(5 if chosen == sample.answer else 1, None, f"chose {chosen!r}")


def version_of(name: str, modules: Iterable[str | None]) -> str:
    """Return the sha256 of a judge's name and of the source files of its rules."""
    digest = hashlib.sha256(name.encode())
    for module in modules:
        digest.update(Path(str(module)).read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class ChoicesJudge:
    """Accuracy over options (Ren et al. 2024): a question without options is unscored."""

    until_last_full_stop: bool = False
    sees = False

    @classmethod
    def from_options(cls, options: JudgeOptions, open_backend: Callable[[ModelConfig], Backend]) -> ChoicesJudge:
        """Return it as the registry makes it. It asks no model."""
        return cls(options.until_last_full_stop)

    @property
    def name(self) -> str:
        """Return the name for score files."""
        return "choices+until_last_full_stop" if self.until_last_full_stop else "choices"

    @property
    def version(self) -> str:
        """Return the sha256 of the rules' source and of the options."""
        return version_of(self.name, (__file__, common.__file__, letters.__file__, language.__file__))

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Mark an answer to a question that has options."""
        if not sample.choices:
            return JudgeMark(None, None, "the question has no options")
        text = drop_after_last_full_stop(answer_text) if self.until_last_full_stop else answer_text
        return JudgeMark(1, None, "no answer") if common.says_nothing(text) else mark_choice(sample, text)

    def close(self) -> None:
        """Nothing to release."""
