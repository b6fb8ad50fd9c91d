"""ACE and WCE of Fine-EQA (table 4): how sure a model is that the final view is enough to answer the question."""

from __future__ import annotations

import hashlib
from importlib import resources

from eqa_nodes.bench.judges.base import JudgeMark
from eqa_nodes.core.model import Backend, Message
from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.types.samples import Sample

_OPTIONS = ("yes", "no")


class ViewConfidence:
    """Implements Judge, so that its figures are kept as marks are: sigma is the probability of "yes", in 0..1.

    An answer without a final view has none. The note says where the probability comes from: logits, logprobs, or words.
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
