"""`eqa bench calibrate`: fit how sure an answer is, or check such a fit on questions that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import names_of
from eqa_nodes.cli.options import FOLDER, listed, option, whole
from eqa_nodes.core.components import DEFAULT_ANSWERER, DEFAULT_POLICY

if TYPE_CHECKING:
    from eqa_nodes.bench.metrics.calibrate import Realised, Reliability
    from eqa_nodes.bench.running.trials import Arm, Trial
    from eqa_nodes.core.types.samples import Sample

CALIBRATION, TABLES = "calibration.json", "calibration.md"
# No probability is enough: the run weighs answers until there is nothing left to see.
_NEVER = {"agent.enough": 2.0, "agent.calibration": ""}
_INSISTS = 2.0  # agent.promise that no answer reaches: a model that repeats itself goes on too


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


@dataclass(frozen=True, kw_only=True)
class Calibrate:
    """Runs questions of the built-in houses in process and writes calibration.json for agent.calibration, and
    calibration.md. The same command resumes after a kill.
    """

    check: str = option("", "calibration to check, instead of fitting one (default: fit)", metavar="NAME|FILE")
    risk: tuple[float, ...] = option((), "with --check: accepted shares of wrong answers, 0..1, each run with real "
                                     "stops (default: none)", type=_numbers, metavar="R,R,..")
    split: str = option("train", "part of the houses", choices=("train", "validation", "test"))
    questions: int = option(90, "how many questions", metavar="N")
    seed: int = option(0, "seed of the choice of houses (default: 0)")
    noise: tuple[str, ...] = option(("none", "moderate", "heavy", "severe"), "noise of the labels", type=names_of,
                                    metavar="NAME,..")
    detector: str = option("", "detector that finds the objects instead of the simulator's labels, then without noise",
                           metavar="NAME", complete=listed("DETECTORS"))
    policy: str = option(DEFAULT_POLICY, "exploration policy", complete=listed("POLICIES"))
    answerer: str = option(DEFAULT_ANSWERER, "answerer; one that needs a model uses the simulated one "
                           "(docs/models.md), without noise", complete=listed("ANSWERERS"))
    limits: Path | None = option(None, "JSON file with the simulated model's perception limits (default: its own)",
                                 metavar="FILE")
    max_steps: int = option(250, "maximum atomic actions of an episode", type=whole)
    workers: int = option(2, "processes")
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)

    def run(self) -> int:
        """Run the episodes that are missing, then fit or check; write the results into the run directory."""
        from eqa_nodes.bench.datasets import open_dataset
        from eqa_nodes.cli.options import run_folder

        out = run_folder(self.out)
        asked = open_dataset("house", split=self.split, limit=self.questions, seed=self.seed)
        samples = [sample for sample in asked if sample.needs_exploration]
        (self._check if self.check else self._fit)(out, samples)
        return 0

    def _fit(self, out: Path, samples: Sequence[Sample]) -> None:
        from rich.console import Console

        from eqa_nodes.bench.metrics.calibrate import calibrate
        from eqa_nodes.core.storage.codec import write_bytes, write_json

        arms = [self._arm(noise, None) for noise in self._noises()]
        fitted = calibrate(self._trials(out, samples, arms), self._source(samples))
        write_json(out / CALIBRATION, fitted.calibration)
        text = (f"Fits on other houses than those asked about: {fitted.calibration.source}.\n\n"
                f"{reliability_table(fitted.reliability)}")
        write_bytes(out / TABLES, text.encode())
        Console().print(f"{caption(fitted.reliability)}\nagent.calibration: {out / CALIBRATION}", soft_wrap=True)

    def _check(self, out: Path, samples: Sequence[Sample]) -> None:
        """Compare probabilities with shares in runs that do not stop, and accepted risks with what real runs do."""
        from rich.console import Console

        from eqa_nodes.bench.metrics.calibrate import realised, reliability, score
        from eqa_nodes.config.named_agents import stopping_parameters
        from eqa_nodes.core.agent.config import AgentConfig
        from eqa_nodes.core.agent.stopping import load_calibration, make_stop
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.core.storage.codec import write_bytes

        calibration, risks = load_calibration(self.check), (0.0, *self.risk)
        if len(set(risks)) < len(risks) or not all(0 < risk < 1 for risk in self.risk):
            raise ConfigError(f"--risk: expected different shares between 0 and 1, got {self.risk}")
        enough = stopping_parameters(self.answerer, bool(self.detector))["agent"].get(
            "agent.enough", AgentConfig().enough)
        stops = [make_stop(enough, self.check, risk).threshold for risk in risks]
        noises = self._noises()
        trials = self._trials(out, samples, [self._arm(noise, risk) for noise in noises
                                             for risk in (None, *risks)])
        by_arm = {name: list(group) for name, group in groupby(trials, key=lambda t: t.arm)}
        found = reliability(score([t for noise in noises for t in by_arm[_name(noise, None)]], calibration))
        text = f"Asked: {self._source(samples)}.\nCalibrated: {calibration.source}.\n\n{reliability_table(found)}"
        for noise in noises:
            rows = [realised(risk, stop, by_arm[_name(noise, risk)]) for risk, stop in zip(risks, stops, strict=True)]
            text += f"\nNoise {noise}:\n\n{risk_table(rows)}"
        write_bytes(out / TABLES, text.encode())
        Console().print(text, soft_wrap=True, markup=False)

    def _arm(self, noise: str, risk: float | None) -> Arm:
        """Return a chain that never stops of its own accord (risk None), at the usual threshold (0), or by a risk."""
        from eqa_nodes.bench.running.trials import Arm
        from eqa_nodes.cli.bench.trials import asks_model, chain_of

        never = {**_NEVER, "agent.promise": _INSISTS} if asks_model(self.answerer) else _NEVER
        agent = never if risk is None else {"agent.calibration": self.check, "agent.risk": risk}
        return Arm(_name(noise, risk), noise, chain_of(
            self.answerer, noise, self.limits, {"explorer": {"policy": self.policy}, "agent": agent},
            detector=self.detector))

    def _noises(self) -> tuple[str, ...]:
        from eqa_nodes.cli.bench.trials import asks_model

        return ("none",) if asks_model(self.answerer) or self.detector else self.noise

    def _source(self, samples: Sequence[Sample]) -> str:
        from eqa_nodes.cli.bench.trials import who_answers

        looks = f"detector {self.detector}" if self.detector else f"noise {', '.join(self._noises())}"
        return (f"{len(samples)} questions of {len({s.scene for s in samples})} {self.split} houses "
                f"(seed {self.seed}), {looks}; policy {self.policy}, "
                f"{who_answers(self.answerer)} answers, at most {self.max_steps} steps")

    def _trials(self, out: Path, samples: Sequence[Sample], arms: Sequence[Arm]) -> list[Trial]:
        from eqa_nodes.cli.bench.trials import run_with_bar
        from eqa_nodes.core.agent.stopping import load_calibration
        from eqa_nodes.core.storage.codec import encode

        used = encode(load_calibration(self.check)) if self.check else ""
        return run_with_bar(samples, arms, out, self.max_steps, self.workers, seed=self.seed,
                            config={"calibration": used})


def _name(noise: str, risk: float | None) -> str:
    return f"{noise}, {'never stops' if risk is None else f'risk {risk:g}'}"


def caption(r: Reliability) -> str:
    """Return the key values in one line."""
    return (f"expected calibration error {r.ece:.3f}, Brier score {r.brier:.3f} (of always saying the share that is "
            f"right: {r.base_brier:.3f}); {r.answers} weighed answers of {r.questions} episodes, each episode "
            "weighted equally")


def reliability_table(r: Reliability) -> str:
    """Return the bins as Markdown, with the caption."""
    from eqa_nodes.bench.report.text_tables import markdown_table

    rows = [(f"{b.low:.1f}–{b.high:.1f}", str(b.answers), str(b.questions), f"{b.probability:.3f}",
             f"{b.right:.3f} [{b.right_low:.3f}, {b.right_high:.3f}]") for b in r.bins]
    table = markdown_table(("probability", "answers", "episodes", "mean", "share right [95 %]"), rows)
    return f"{table}\n{caption(r)}\n"


def risk_table(rows: Sequence[Realised]) -> str:
    """Return accepted and realised risk as Markdown."""
    from eqa_nodes.bench.report.text_tables import markdown_table

    cells = [(f"{r.risk:g}" if r.risk else "none set", f"{r.threshold:g}",
              f"{100 * r.wrong:.1f} [{100 * r.wrong_low:.1f}, {100 * r.wrong_high:.1f}]", f"{100 * r.answered:.1f}",
              f"{100 * r.correctness:.1f}", f"{r.steps:.1f}", str(r.failed), str(r.questions)) for r in rows]
    return markdown_table(("accepted risk", "threshold", "answered wrongly % [95 %]", "answered %", "C %", "steps",
                           "failed", "n"), cells)
