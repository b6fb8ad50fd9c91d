"""`eqa learn`: train the networks that the stack ships with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqa_nodes.cli.options import FOLDER, option

if TYPE_CHECKING:
    from eqa_nodes.learn.perceiver_run import CurvePoint, PerceiverRun
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
        import importlib.util

        from eqa_nodes.core.errors import MissingExtra

        for name in ("torch", "onnx"):
            if importlib.util.find_spec(name) is None:
                raise MissingExtra(name, "learn")
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
