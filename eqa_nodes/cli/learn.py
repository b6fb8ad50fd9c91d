"""`eqa learn`: train the networks that the stack ships with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqa_nodes.cli.options import FOLDER, option

if TYPE_CHECKING:
    from eqa_nodes.core.types.samples import Sample
    from eqa_nodes.learn.perceiver_run import CurvePoint, PerceiverRun
    from eqa_nodes.learn.planner_training import ImitationRun
    from eqa_nodes.learn.training import TrainingConfig

_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, kw_only=True)
class LearnPerceiver:
    """Trains the perceiver, the small network that finds objects in colour and depth images, from nothing: draws views
    of labelled scenes, trains on them, and writes weights that --detector-model takes. The same command continues an
    interrupted run.
    """

    out: Path = option(Path("runs/perceiver"), "folder of the run: views, checkpoint, curves and weights",
                       metavar="DIR", writes=FOLDER)
    scenes: str = option("house:0-499", "scenes to train on, comma-separated: names, house:FIRST-LAST, or a folder of "
                         ".glb files with labels", metavar="SCENES")
    validation: str = option("house:900-907", "scenes that the accuracy is measured on, given in the same way",
                             metavar="SCENES")
    steps: int = option(13000, "number of steps", metavar="N")
    batch: int = option(16, "number of views in a step", metavar="N")
    views: int = option(80, "number of views of a scene", metavar="N")
    seed: int = option(0, "seed of weights, views and order", metavar="N")
    start: str = option("", "folder of weights to begin with, or package: those of the package. Half of the steps are "
                        "then in full size, and the learning rate is a third (default: random weights)",
                   metavar="WEIGHTS")
    device: str = option("cpu", "device that trains: cpu, cuda, mps", metavar="DEVICE")
    workers: int = option(2, "number of processes that draw views", metavar="N")

    def run(self) -> int:
        """Draw, train, write the weights; print what was measured."""
        _need("torch", "onnx")
        from rich.console import Console

        from eqa_nodes.learn.perceiver_run import draw_all, finish

        console, run = Console(highlight=False), self._run()
        failed = draw_all(run, lambda scene, done, of: console.print(f"views {done}/{of}  {scene}", markup=False)
                          if done % 10 == 0 or done == of else None)
        for scene, reason in failed.items():
            console.print(f"not used: {scene}: {reason}", markup=False)
        try:
            _show(run, console)
        except KeyboardInterrupt:
            console.print("interrupted: the same command continues from the last checkpoint")
            raise
        folder = finish(run)
        console.print((folder / "report.md").read_text(), markup=False)
        console.print(f"written: {folder}; use it with --detector perceiver --detector-model {folder}", markup=False)
        return 0

    def _run(self) -> PerceiverRun:
        from eqa_nodes.learn.perceiver_run import PerceiverRun, scenes_of
        from eqa_nodes.learn.views import ViewsConfig

        cameras = max(1, self.views // 20)
        return PerceiverRun(self.out, scenes_of(self.scenes), scenes_of(self.validation),
                            ViewsConfig(cameras, max(1, self.views // cameras), self.seed),
                            _training(self.steps, self.batch, self.seed, bool(self.start)), self.device, self.workers,
                            self.start)


@dataclass(frozen=True, kw_only=True)
class LearnAqNav:
    """Trains the planner of the policy aqnav. Stage 1, imitation: a teacher that knows the shortest way labels the
    decisions that it and the planner meet by turns. Stage 2: imitation and PPO, rewarded by right answers and by stops
    where the answer is seen. Stage 3: which places' views the answerer gets; the rest of the planner stays. Writes
    aqnav.npz, which explorer.params.aqnav.planner takes. The same command continues an interrupted run.
    """

    out: Path = option(Path("runs/aqnav"), "folder of the run: decisions, checkpoint, curves and planners",
                       metavar="DIR", writes=FOLDER)
    stage: int = option(1, "1 imitation, 2 rewards, 3 keyframes", choices=(1, 2, 3))
    start: Path | None = option(None, "planner (.npz) to begin with (default: random weights; from stage 2 on the "
                                "planner of the package)", metavar="FILE")
    planner: str = option("graph", "kind of a planner with random weights; one of --start keeps its own. graph sees "
                          "all places, local those within 3 m, gru reads the visited ones as a sequence",
                          choices=("graph", "local", "gru"))
    answers: float = option(0.25, "share of right answers, 0 to 1, in the reward of stage 2 and in what is best",
                            metavar="SHARE")
    questions: str = option("1200", "questions to train on: how many of the houses 0 to 899, or a file of samples",
                            metavar="N|FILE")
    validation: str = option("60", "questions to validate with: how many of the houses 900 to 999, or a file",
                             metavar="N|FILE")
    rounds: int = option(6, "number of rounds: each gathers episodes, and trains on all that were gathered",
                         metavar="N")
    episodes: int = option(350, "number of episodes of a round", metavar="N")
    batches: int = option(700, "number of batches of a round, of 32 decisions", metavar="N")
    seed: int = option(0, "seed of weights, questions, episodes and order", metavar="N")
    workers: int = option(2, "number of processes that drive episodes", metavar="N")

    def run(self) -> int:
        """Train; print a line for each round; the curves also go to TensorBoard where it is installed."""
        _need("torch", "gymnasium")
        from rich.console import Console

        console = Console(highlight=False)
        with console.status("choosing questions"):
            samples, validation = self._asked(self.questions, False), self._asked(self.validation, True)
        run = self._run(samples, validation)
        console.print(f"{len(samples)} questions to train on, {len(validation)} to validate with", markup=False)
        board, history = _board(self.out / "tensorboard"), [one.loss for one in run.results]
        try:
            for one in run.rounds():
                history.append(one.loss)
                if board is not None:
                    for name, value in one._asdict().items():
                        board.add_scalar(f"aqnav/{name}", value, one.round)
                line = (f"round {one.round + 1}/{self.rounds}  {one.seconds:5.0f} s  {one.decisions:>6} decisions  "
                        f"loss {one.loss:.3f} {_curve(history)}  agreed {100 * one.agreed:.0f} %  validation: "
                        f"SPL {one.spl:.2f}, success {100 * one.success:.0f} %, right {100 * one.right:.0f} %, "
                        f"{one.steps:.0f} steps")
                console.print(line, markup=False, soft_wrap=True)
        except KeyboardInterrupt:
            console.print("interrupted: the same command continues after the last round")
            raise
        if board is not None:
            board.close()
        console.print(f"written: {run.best_file}; use it with --policy aqnav and the parameter "
                      "params.aqnav.planner of the explorer", markup=False)
        return 0

    def _run(self, samples: list[Sample], validation: list[Sample]) -> ImitationRun:
        from eqa_nodes.core.policies.planner import WEIGHTS
        from eqa_nodes.learn.planner_keyframes import KeyframeRun
        from eqa_nodes.learn.planner_reward import REWARD_RATE, RewardRun
        from eqa_nodes.learn.planner_training import ImitationConfig, ImitationRun

        config = ImitationConfig(self.rounds, self.episodes, self.batches, seed=self.seed, planner=self.planner)
        if self.stage == 1:
            return ImitationRun(self.out, samples, validation, config, self.workers, start=self.start)
        kind, rate = (RewardRun, REWARD_RATE) if self.stage == 2 else (KeyframeRun, config.rate)
        return kind(self.out, samples, validation, replace(config, rate=rate, answers=self.answers), self.workers,
                    self.start or WEIGHTS)

    def _asked(self, chosen: str, held_out: bool) -> list[Sample]:
        from eqa_nodes.bench.datasets import open_dataset
        from eqa_nodes.bench.samples import read_samples

        found = read_samples(Path(chosen)) if not chosen.isdigit() else open_dataset(
            "house", split="validation" if held_out else "train", limit=int(chosen), seed=self.seed)
        return [sample for sample in found if sample.needs_exploration]


def _need(*names: str) -> None:
    """Raise MissingExtra if a library that training needs is not installed."""
    import importlib.util

    from eqa_nodes.core.errors import MissingExtra

    for name in names:
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(name, "learn")


def _training(steps: int, batch: int, seed: int, begun: bool) -> TrainingConfig:
    from eqa_nodes.learn.training import TrainingConfig

    usual = TrainingConfig(steps, batch, seed=seed)
    return replace(usual, small=0.5, rate=usual.rate / 3) if begun else usual


def _show(run: PerceiverRun, console: Any) -> None:
    """Train, and print the curves; they also go to TensorBoard where it is installed."""
    from eqa_nodes.learn.perceiver_run import train

    board, history = _board(run.folder / "tensorboard"), list[float]()
    for point in train(run):
        history.append(point.losses["pixels"])
        if board is not None:
            _add(board, point)
        line = (f"step {point.step:>6}/{run.training.steps}  {point.seconds:6.0f} s  "
                f"loss {point.losses['pixels']:.3f} {_curve(history)}  kind {point.losses['kind']:.2f}  "
                f"state {point.losses['state']:.2f}")
        if point.validation:
            line += "  right: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in point.validation.items())
        console.print(line, markup=False, soft_wrap=True)
    if board is not None:
        board.close()


def _board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder))


def _add(board: Any, point: CurvePoint) -> None:
    for group, values in (("loss", point.losses), ("right", point.validation)):
        for name, value in values.items():
            board.add_scalar(f"{group}/{name}", value, point.step)


def _curve(values: list[float], width: int = 24) -> str:
    """Return a curve of the last values in one line of text."""
    shown = values[-width:]
    low, high = min(shown), max(shown)
    return "".join(_BARS[round((value - low) / (high - low or 1.0) * (len(_BARS) - 1))] for value in shown)
