"""`eqa bench calibrate`: fit how sure an answer is, or check such a fit on questions that it has not seen."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.metrics.calibrate import calibrate, realised, reliability, score
from eqa_nodes.bench.report.reliability import caption, reliability_svg, reliability_table, risk_table
from eqa_nodes.bench.running.trials import Arm, Trial
from eqa_nodes.bench.samples import Sample
from eqa_nodes.cli.chain import run_folder
from eqa_nodes.cli.trials import label_chain, run_with_bar
from eqa_nodes.core.agent.stopping import load_calibration, make_stop
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import encode, write_bytes, write_json
from eqa_nodes.registry import ANSWERERS

CALIBRATION, TABLES, DIAGRAM = "calibration.json", "calibration.md", "reliability.svg"
# No probability is enough: the run weighs answers until there is nothing left to see.
_NEVER = {"agent.enough": 2.0, "agent.calibration": ""}


def run(arguments: argparse.Namespace) -> int:
    """Run the episodes that are missing, then fit or check; write the results into the run directory."""
    out = run_folder(arguments)
    asked = open_dataset("house", split=arguments.split, limit=arguments.questions, seed=arguments.seed)
    samples = [sample for sample in asked if sample.needs_exploration]
    (_check if arguments.check else _fit)(arguments, out, samples)
    return 0


def _fit(arguments: argparse.Namespace, out: Path, samples: Sequence[Sample]) -> None:
    arms = [_arm(arguments, noise, None) for noise in arguments.noise]
    fitted = calibrate(_run(arguments, out, samples, arms), _source(arguments, samples))
    write_json(out / CALIBRATION, fitted.calibration)
    _write(out, f"Fits on other houses than those asked about: {fitted.calibration.source}.\n\n"
           f"{reliability_table(fitted.reliability)}", reliability_svg(fitted.reliability, "Houses not fitted on"))
    Console().print(f"{caption(fitted.reliability)}\nagent.calibration: {out / CALIBRATION}", soft_wrap=True)


def _check(arguments: argparse.Namespace, out: Path, samples: Sequence[Sample]) -> None:
    """Compare probabilities with shares in runs that do not stop, and accepted risks with what real runs do."""
    calibration, risks = load_calibration(arguments.check), (0.0, *arguments.risk)
    if len(set(risks)) < len(risks) or not all(0 < risk < 1 for risk in arguments.risk):
        raise ConfigError(f"--risk: expected different shares between 0 and 1, got {arguments.risk}")
    lines = [make_stop(ANSWERERS.traits("label").enough or 1.0, arguments.check, risk).line for risk in risks]
    trials = _run(arguments, out, samples, [_arm(arguments, noise, risk, arguments.check)
                                            for noise in arguments.noise for risk in (None, *risks)])
    by_arm = {name: list(group) for name, group in groupby(trials, key=lambda t: t.arm)}
    found = reliability(score([t for noise in arguments.noise for t in by_arm[_name(noise, None)]], calibration))
    text = f"Asked: {_source(arguments, samples)}.\nCalibrated: {calibration.source}.\n\n{reliability_table(found)}"
    for noise in arguments.noise:
        rows = [realised(risk, line, by_arm[_name(noise, risk)]) for risk, line in zip(risks, lines, strict=True)]
        text += f"\nNoise {noise}:\n\n{risk_table(rows)}"
    _write(out, text, reliability_svg(found, f"{arguments.split.capitalize()} houses"))
    Console().print(text, soft_wrap=True, markup=False)


def _arm(arguments: argparse.Namespace, noise: str, risk: float | None, calibration: str = "") -> Arm:
    """Return a chain that does not stop by itself (risk None), that stops at the usual line (0), or by a risk."""
    agent = _NEVER if risk is None else {"agent.calibration": calibration, "agent.risk": risk}
    return Arm(_name(noise, risk), noise, label_chain(noise, {"explorer": {"policy": arguments.policy},
                                                              "agent": agent}))


def _name(noise: str, risk: float | None) -> str:
    return f"{noise}, {'never stops' if risk is None else f'risk {risk:g}'}"


def _source(arguments: argparse.Namespace, samples: Sequence[Sample]) -> str:
    return (f"{len(samples)} questions of {len({s.scene for s in samples})} {arguments.split} houses "
            f"(seed {arguments.seed}), noise {', '.join(arguments.noise)}; policy {arguments.policy}, label answerer, "
            f"at most {arguments.max_steps} steps")


def _run(arguments: argparse.Namespace, out: Path, samples: Sequence[Sample], arms: Sequence[Arm]) -> list[Trial]:
    used = encode(load_calibration(arguments.check)) if arguments.check else ""
    return run_with_bar(samples, arms, out, arguments.max_steps, arguments.workers, seed=arguments.seed,
                        config={"calibration": used})


def _write(out: Path, text: str, svg: str) -> None:
    write_bytes(out / TABLES, text.encode())
    write_bytes(out / DIAGRAM, svg.encode())
