"""The judge of questions whose data set says what a right answer contains (metadata `rule`): it asks no model."""

from __future__ import annotations

import hashlib
import inspect
from datetime import datetime

from eqa_nodes.bench.house import weeks_truth
from eqa_nodes.bench.house.weeks_truth import DECLINED, RIGHT, rule_of, verdict
from eqa_nodes.bench.judges.base import JudgeMark, JudgeOptions
from eqa_nodes.core.traits import JudgeTraits
from eqa_nodes.core.types.samples import Sample


class ProvedJudge:
    """Marks 5 for an answer that says what the data set's rule demands, 1 for any other."""

    traits = JudgeTraits()
    name, sees = "proved", False

    @classmethod
    def from_options(cls, options: JudgeOptions, open_backend: object = None) -> ProvedJudge:
        """Create it for the registry; it has no options."""
        return cls()

    @property
    def version(self) -> str:
        """Return the sha256 of the rules."""
        return hashlib.sha256(inspect.getsource(weeks_truth).encode()).hexdigest()

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Mark an answer; "" means that none was given, which is right where nothing is known."""
        rule = sample.metadata.get("rule")
        if rule is None:
            return JudgeMark(None, None, "the data set has no rule for this question: name another judge")
        said = verdict(rule_of(rule), answer_text, datetime.fromisoformat(str(sample.metadata["time"])))
        return JudgeMark(5 if said == RIGHT else 1, None, "declined" if said == DECLINED else "")

    def close(self) -> None:
        """Do nothing: nothing is open."""
