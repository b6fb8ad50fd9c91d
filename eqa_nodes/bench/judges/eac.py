"""EAC, the exploration-answer consistency of EXPRESS-Bench (section 3.4): sigma, and delta from the last view."""

from __future__ import annotations

from eqa_nodes.bench.judges.base import JudgeMark
from eqa_nodes.bench.judges.llm_match import SAME, ModelJudge
from eqa_nodes.bench.judges.options import JudgeOptions
from eqa_nodes.bench.judges.prompts import Prompt, built_in
from eqa_nodes.bench.judges.replies import BOTH_FORM, MARK_FORM, read_both, read_mark
from eqa_nodes.core.model import Backend
from eqa_nodes.core.types.samples import Sample


class EacJudge(ModelJudge):
    """Eq. 1 and 2: sigma from question, answers and last view; delta 0, 0.5 or 1 from question, answer and that view.

    One call for both. Without a view sigma comes from the built-in prompt of LLM-Match, and delta is None: not judged.
    No answer marks 1 and is not grounded.
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
