"""What the commands that run many short episodes in process share: the chain of the label answerer, and the bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from eqa_nodes.bench.running.manifest import begin_manifest, finish_manifest, utc_now
from eqa_nodes.bench.running.trials import Arm, Trial, noise_of, run_trials
from eqa_nodes.config.graph import SHARED, GraphParameters, Parameters, merged, of_robot
from eqa_nodes.config.named_agents import stopping_parameters
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.components import ANSWERERS
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import Sample

IMAGE = (160, 120)  # pixels; labels need no more
SEEN = (320, 240)  # what a detector looks at
MODEL_RANGE_M = 12.0  # of labels, for a simulated model with its own limit of sight


def asks_model(answerer: str) -> bool:
    """Say whether an answerer needs a model: these commands ask the simulated one then, without noise."""
    return ANSWERERS.traits(answerer).asks_model


def who_answers(answerer: str) -> str:
    """Return who answers, for manifests and tables."""
    return f"{answerer} over the simulated model" if asks_model(answerer) else answerer


def chain_of(answerer: str, noise: str, limits: Path | None, *overrides: Parameters,
             detector: str = "") -> GraphParameters:
    """Return the parameters of a chain with an answerer: labels under a noise preset or of a detector, or the simulated
    model."""
    return model_chain(answerer, limits, *overrides) if asks_model(answerer) else label_chain(
        noise, *overrides, detector=detector)


def label_chain(noise: str, *overrides: Parameters, detector: str = "") -> GraphParameters:
    """Return the parameters of a chain with the label answerer under a noise preset, a small image without colours.

    detector: what finds the objects instead, in a coloured image.
    """
    robot = RobotModel()
    width, height = SEEN if detector else IMAGE
    camera = replace(robot.camera, width=width, height=height, color=bool(detector))
    looks: Parameters = {SHARED: {"labels_from": "detector"}, "perception": {"detector.name": detector}}
    return merged(None, of_robot(replace(robot, camera=camera)), {
        "answerer": {"answerer": "label"}, "memory": {"labels": True, **noise_of(noise)}},
        looks if detector else {}, stopping_parameters("label", bool(detector)), *overrides)


def model_chain(answerer: str, limits: Path | None, *overrides: Parameters) -> GraphParameters:
    """Return the parameters of a chain in which the simulated model is asked through the real prompts.

    Labels reach as far as that model may see, and no caption tells what they say. limits: a file of its own limits.
    """
    asked = {"answerer": answerer, "model.backend": "simulated", "model.model": str(limits.resolve()) if limits else ""}
    own = AgentConfig()
    return merged(None, label_chain("none"), {
        "answerer": asked, "agent": {"agent.calibration": own.calibration, "agent.enough": own.enough},
        "memory": {"memory.perception.max_range_m": MODEL_RANGE_M, "memory.perception.caption_items": 0}},
        stopping_parameters(answerer), *overrides)


def run_with_bar(samples: Sequence[Sample], arms: Sequence[Arm], out: Path, max_steps: int, workers: int, *,
                 seed: int = 0, model: str = "label", config: Mapping[str, object] | None = None) -> list[Trial]:
    """Run what is missing, with a bar. A directory that holds trials of other settings is refused (ConfigError)."""
    out.mkdir(parents=True, exist_ok=True)
    limits = Limits(steps=max_steps)
    begin_manifest(out, "house", samples, seed=seed, model=model, config={
        "arms": {arm.name: arm.parameters for arm in arms}, "limits": limits.as_json(), **(config or {})})
    with Progress(BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("episodes")) as bar:
        task = bar.add_task("", total=len(arms) * len(samples))
        trials = run_trials(samples, arms, out, limits, workers, lambda done: bar.update(task, completed=done))
    finish_manifest(out, finished=utc_now())
    return trials
