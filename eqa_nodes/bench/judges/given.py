"""Marks that somebody has given already: a published file of marks stands in a judge's place."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from eqa_nodes.bench.judges.base import JudgeMark, clipped
from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.types.samples import Sample


class GivenMarks:
    """Marks by question id. As in OpenEQA's scorer a number is clipped to 1..5: 0 stands there for no answer.

    The table counts the marks that were clipped. A Mark stays as it is, with its grounding.
    """

    def __init__(self, marks: Mapping[str, float | JudgeMark], source: str) -> None:
        """source: names the file in tables."""
        self._marks = {name: mark if isinstance(mark, JudgeMark) else clipped(mark)
                       for name, mark in marks.items()}
        self.sees = any(mark.delta is not None for mark in self._marks.values())
        self.version = hashlib.sha256(dumps(sorted(self._marks.items())).encode()).hexdigest()
        self.name = f"marks of {source}"

    def __contains__(self, name: str) -> bool:
        """Say whether the file names a question."""
        return name in self._marks

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        """Return the question's mark, unscored where there is none."""
        if (mark := self._marks.get(sample.id)) is None:
            return JudgeMark(None, None, f"{self.name} has no mark for this question")
        return mark

    def close(self) -> None:
        """Nothing is held."""
