"""A scored run for TensorBoard, MLflow or Weights & Biases, written by their own libraries into files on this machine.

All three get the same: the settings as parameters, every metric of all questions and of each category with its 95 %
interval, the mark and costs of each question at its number, and the files that the scores come from.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.bench.metrics.compare import ScoredRun
from eqa_nodes.bench.metrics.scores import SCORES
from eqa_nodes.bench.metrics.values import value_of
from eqa_nodes.bench.report.page import REPORT
from eqa_nodes.bench.running.manifest import MANIFEST, agent_of, commit_of, policy_of, settings_of
from eqa_nodes.core.errors import MissingExtra, StorageError

PROJECT = "eqa"
OF_QUESTIONS = ("openeqa_c", "steps", "metres", "seconds", "calls", "tokens")
FILES = (MANIFEST, SCORES, REPORT)
_LONGEST = 500  # characters of a parameter; MLflow takes 6,000, and the page of a run shows fewer


class Tracked(NamedTuple):
    """What a tracker gets. name: of the run; parameters: name -> text; metrics: "C/openeqa_c" -> number.

    questions: for each question in order its values by metric; files: that exist.
    """

    name: str
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    questions: tuple[Mapping[str, float], ...]
    files: tuple[Path, ...]


def tracked(run: Path) -> Tracked:
    """Return what there is to track of a scored run. Raises StorageError for one that is not scored."""
    scored = ScoredRun(run)
    manifest, scores = scored.manifest, scored.scores
    named = {"agent": agent_of(manifest), "policy": policy_of(manifest), "asked": manifest.asked,
             "commit": commit_of(manifest), "dataset": manifest.dataset, "dataset_sha256": manifest.dataset_sha256,
             "task": manifest.task, "seed": str(manifest.seed), "judge": scores.judge,
             "judge_sha256": scores.judge_sha256, "privileged": ", ".join(scores.privileged)}
    parameters = {name: value[:_LONGEST] for name, value in {**settings_of(manifest), **named}.items() if value}
    metrics = {f"{row.name}/{name}{end}": float(number) for row in scores.rows for name, value in row.metrics.items()
               for end, number in (("", value.mean), ("_low", value.low), ("_high", value.high)) if number is not None}
    questions = tuple({name: number for name in OF_QUESTIONS if (number := value_of(question, name)) is not None}
                      for question in scores.questions)
    return Tracked(run.resolve().name, parameters, {name: n for name, n in metrics.items() if math.isfinite(n)},
                   questions, tuple(run / name for name in FILES if (run / name).exists()))


def to_tensorboard(what: Tracked, folder: Path) -> str:
    """Write event files, with the settings for the HParams page; return how they are looked at."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        raise MissingExtra("tensorboard", "tensorboard") from error
    writer = EventFileWriter(str(folder / what.name))

    def add(summary: Summary, step: int) -> None:
        writer.add_event(Event(summary=summary, step=step))

    add(hparams_pb(dict(what.parameters), trial_id=what.name), 0)
    for name, number in what.metrics.items():
        add(Summary(value=[Summary.Value(tag=name, simple_value=number)]), 0)
    for step, values in enumerate(what.questions, 1):
        add(Summary(value=[Summary.Value(tag=f"questions/{name}", simple_value=number)
                           for name, number in values.items()]), step)
    writer.close()
    return f"tensorboard --logdir {folder}"


def to_mlflow(what: Tracked, folder: Path) -> str:
    """Write a run of MLflow into its file store, or to MLFLOW_TRACKING_URI; return how it is looked at."""
    try:
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        raise MissingExtra("mlflow", "mlflow") from error
    from mlflow.entities import Metric, Param
    from mlflow.exceptions import MlflowException

    address = os.environ.get("MLFLOW_TRACKING_URI") or (folder.resolve() / "mlruns").as_uri()
    try:
        with _environment(MLFLOW_ALLOW_FILE_STORE="true"):  # newer versions ask for this where no database is used
            client = MlflowClient(address)
            found = client.get_experiment_by_name(PROJECT)
            experiment = found.experiment_id if found else client.create_experiment(PROJECT)
            run = client.create_run(experiment, run_name=what.name).info.run_id
            named = [Metric(_plain(name), number, 0, 0) for name, number in what.metrics.items()]
            named += [Metric(f"questions/{name}", number, 0, step) for step, values in enumerate(what.questions, 1)
                      for name, number in values.items()]
            for begin in range(0, len(named), 500):  # as many as a server takes at once
                client.log_batch(run, metrics=named[begin:begin + 500])
            parameters = [Param(_plain(name), value) for name, value in what.parameters.items()]
            for begin in range(0, len(parameters), 100):
                client.log_batch(run, params=parameters[begin:begin + 100])
            for file in what.files:
                client.log_artifact(run, str(file))
            client.set_terminated(run)
    except MlflowException as error:
        raise StorageError(f"MLflow at {address}: {error}") from error
    return f"MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri {address}"


def to_wandb(what: Tracked, folder: Path) -> str:
    """Write an offline run of Weights & Biases, or to the server where WANDB_MODE says so; return what uploads it."""
    try:
        import wandb
    except ImportError as error:
        raise MissingExtra("wandb", "wandb") from error
    mode = os.environ.get("WANDB_MODE") or "offline"
    with _environment(WANDB_SILENT="true"):
        run = wandb.init(project=PROJECT, name=what.name, dir=str(folder), mode=mode, config=dict(what.parameters),
                         settings=wandb.Settings(console="off"))
        for step, values in enumerate(what.questions, 1):
            run.log({f"questions/{name}": number for name, number in values.items()}, step=step)
        run.summary.update(dict(what.metrics))
        kept = wandb.Artifact(f"{what.name}-scores", type="scores")
        for file in what.files:
            kept.add_file(str(file))
        run.log_artifact(kept)
        path = Path(run.dir).parent
        run.finish()
    return f"wandb sync {path}" if mode == "offline" else f"written to the project {PROJECT}"


TRACKERS: dict[str, Callable[[Tracked, Path], str]] = {
    "tensorboard": to_tensorboard, "mlflow": to_mlflow, "wandb": to_wandb}


def track(run: Path, folder: Path, tracker: str) -> str:
    """Write a scored run for a tracker (TRACKERS) into a folder, and return the command that shows it.

    Raises StorageError for a run that is not scored, MissingExtra where the tracker's library is missing.
    """
    what = tracked(run)
    folder.mkdir(parents=True, exist_ok=True)
    return TRACKERS[tracker](what, folder)


def _plain(name: str) -> str:
    """Return a name that MLflow takes: letters, digits, and _ - . : / and blanks."""
    return "".join(letter if letter.isalnum() or letter in "_-. /:" else "_" for letter in name).strip("/")


@contextmanager
def _environment(**settings: str) -> Iterator[None]:
    """Set variables that are not set, for a while: libraries read them, and nothing else should."""
    ours = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
