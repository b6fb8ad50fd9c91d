"""`eqa bench calibrate`: fit how sure an answer is, or check such a fit on questions that it has not seen."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from eqa_nodes.bench.calibrate import calibrate, realised, reliability, score
from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.manifest import begin_manifest, finish_manifest, utc_now
from eqa_nodes.bench.reliability import caption, reliability_svg, reliability_table, risk_table
from eqa_nodes.bench.samples import Sample
from eqa_nodes.bench.trials import Arm, Trial, noise_of, run_trials
from eqa_nodes.commands.chain import STOPPING, robot_parameters, run_folder
from eqa_nodes.core.codec import encode, write_bytes, write_json
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.stopping import load_calibration, make_stop
from eqa_nodes.core.types import Limits
from eqa_nodes.settings import merged
from sim_bridge.simulator import Robot

CALIBRATION, TABLES, DIAGRAM = "calibration.json", "calibration.md", "reliability.svg"
_NEVER = {"agent.enough": 2.0}  # no probability is enough: the run weighs answers until there is nothing left to see
_USUAL = STOPPING["label"]
_IMAGE = (160, 120)  # pixels; labels need no more


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
    lines = [make_stop(_USUAL["agent.enough"], arguments.check, risk).line for risk in risks]
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
    robot = Robot()
    camera = replace(robot.camera, width=_IMAGE[0], height=_IMAGE[1], color=False)
    agent = _NEVER if risk is None else {**_USUAL, "agent.calibration": calibration, "agent.risk": risk}
    parameters = merged(None, robot_parameters(replace(robot, camera=camera)), {
        "explorer": {"policy": arguments.policy}, "answerer": {"answerer": "label"},
        "memory": {"labels": True, **noise_of(noise)}, "agent": agent})
    return Arm(_name(noise, risk), noise, parameters)


def _name(noise: str, risk: float | None) -> str:
    return f"{noise}, {'never stops' if risk is None else f'risk {risk:g}'}"


def _source(arguments: argparse.Namespace, samples: Sequence[Sample]) -> str:
    return (f"{len(samples)} questions of {len({s.scene for s in samples})} {arguments.split} houses "
            f"(seed {arguments.seed}), noise {', '.join(arguments.noise)}; policy {arguments.policy}, label answerer, "
            f"at most {arguments.max_steps} steps")


def _run(arguments: argparse.Namespace, out: Path, samples: Sequence[Sample], arms: Sequence[Arm]) -> list[Trial]:
    """Run what is missing, with a bar. A directory that holds trials of other settings is refused (ConfigError)."""
    out.mkdir(parents=True, exist_ok=True)
    limits = Limits(steps=arguments.max_steps)
    begin_manifest(out, "house", samples, seed=arguments.seed, model="label",
                   config={"arms": {arm.name: arm.parameters for arm in arms}, "limits": limits._asdict(),
                           "calibration": encode(load_calibration(arguments.check)) if arguments.check else ""})
    bar = Progress(BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("episodes"))
    with bar:
        task = bar.add_task("", total=len(arms) * len(samples))
        trials = run_trials(samples, arms, out, limits, arguments.workers,
                            lambda done: bar.update(task, completed=done))
    finish_manifest(out, finished=utc_now())
    return trials


def _write(out: Path, text: str, svg: str) -> None:
    write_bytes(out / TABLES, text.encode())
    write_bytes(out / DIAGRAM, svg.encode())
