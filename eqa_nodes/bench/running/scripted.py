"""A runner that plays a script, for tests and for trying the evaluator without a robot."""

from __future__ import annotations

from collections.abc import Mapping

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import EpisodeResult, Sample


class ScriptedRunner:
    """Returns the scripted result of each question, or raises a scripted exception. Records the questions in order."""

    def __init__(self, results: Mapping[str, EpisodeResult | Exception],
                 blind: Mapping[str, Answer | Exception] | None = None) -> None:
        self._results, self._blind = dict(results), dict(blind or {})
        self.asked: list[str] = []
        self.closed = False

    def run(self, sample: Sample) -> EpisodeResult:
        """Return or raise the scripted result of this sample; ConfigError when there is none."""
        self.asked.append(sample.id)
        if sample.id not in self._results:
            raise ConfigError(f"the script has no result for question {sample.id!r}")
        result = self._results[sample.id]
        if isinstance(result, Exception):
            raise result
        return result

    def blind(self, sample: Sample) -> Answer:
        """Return or raise the scripted blind answer; without one, abstain."""
        answer = self._blind.get(sample.id, Answer(abstained=True, message="not scripted"))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """Note that it was closed."""
        self.closed = True
