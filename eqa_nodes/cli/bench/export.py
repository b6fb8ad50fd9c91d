"""`eqa bench export`: a scored run in the form of another project's results, or for a tracker of experiments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.options import FOLDER, argument, option


@dataclass(frozen=True, kw_only=True)
class Export:
    """Writes a scored run as the result folder of 3D-Mem, Pred-EQA or EXPRESS-Bench for their own scorers, or for
    TensorBoard, MLflow or Weights & Biases by their own libraries.
    """

    run_folder: Path = argument("scored run directory", metavar="RUN")
    folder: Path = argument("folder for the files", metavar="DIR", writes=FOLDER)
    to: str = option("3d-mem", "3d-mem: answers and path lengths, as Pred-EQA writes them for A-EQA, too; pred-eqa: "
                     "those of EXPRESS-Bench in its form; express: results.pkl of EXPRESS-Bench with marks and "
                     "groundings; tensorboard: event files; mlflow: a file store, or MLFLOW_TRACKING_URI; wandb: an "
                     "offline run, unless WANDB_MODE says otherwise",
                     choices=("3d-mem", "pred-eqa", "express", "tensorboard", "mlflow", "wandb"))

    def run(self) -> int:
        """Write the files and say what they do not hold, or how they are looked at."""
        from rich.console import Console

        from eqa_nodes.bench.published_writing import write_form
        from eqa_nodes.bench.trackers import TRACKERS, track

        console = Console()
        if self.to in TRACKERS:
            console.print(f"next: {track(self.run_folder, self.folder, self.to)}", markup=False, soft_wrap=True)
            return 0
        written = write_form(self.run_folder, self.folder, self.to)
        for file in written.files:
            console.print(str(file), markup=False, soft_wrap=True)
        if written.left_out:
            console.print(f"{len(written.left_out)} questions are not in them, such as {written.left_out[0]}: they "
                          "failed, or have no whole mark with a grounding", style="yellow", markup=False,
                          soft_wrap=True)
        return 0
