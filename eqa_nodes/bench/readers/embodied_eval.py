"""EmbodiedEval: tasks to be done in scans."""

from __future__ import annotations

from eqa_nodes.bench.embodied.tasks import read_tasks, sample_of
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.samples import TASKS, Sample


class EmbodiedEvalReader:
    """EmbodiedEval's tasks."""

    traits = ReaderTraits(robot="embodied-eval", splits=False, task=TASKS,
                          command="eqa bench tasks --dataset embodied-eval")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return [sample_of(task) for task in read_tasks(options.files())]
