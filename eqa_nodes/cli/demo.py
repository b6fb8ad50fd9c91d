"""`eqa demo`: a small benchmark run from the questions to the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.groups import ChainOptions
from eqa_nodes.cli.options import FOLDER, group, option


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Runs a few questions of the built-in houses, scores them and writes the report."""

    questions: int = option(5, "how many questions", metavar="N")
    seed: int = option(3, "seed of the choice of houses")
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)
    chain: ChainOptions = group(ChainOptions)

    def run(self) -> int:
        """Ask, score and report."""
        from eqa_nodes.bench.judges.marking import open_judge
        from eqa_nodes.cli.bench.asking import BenchmarkRun, ask_questions
        from eqa_nodes.cli.bench.results import print_scores
        from eqa_nodes.cli.options import run_folder
        from eqa_nodes.cli.report import write

        out = run_folder(self.out)
        config = self.chain.config(dataset="house", folder=out)
        code = ask_questions(BenchmarkRun(config, questions=self.questions, seed=self.seed))
        print_scores(out, open_judge())
        write(out)
        return code
