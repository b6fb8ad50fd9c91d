"""Compiles the kernels of this installation once: `python -m eqa_nodes.runners.kernels`, which set-up runs.

It asks one short question in a scene of each built-in simulator, so that every kernel is compiled for its real
argument types. numba caches the result next to the package, or in the user's cache if the package is not writable.
Kernels that only a robot or a benchmark needs are compiled at their first call.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.runners.in_process import InProcessRunner
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup

STEPS = 20  # limit of each question: enough to look round, map, plan a path and drive along it
IMAGE = "64x48"
# Sizes and centres of boxes in metres, y up as in a GLB file: a floor, four walls and a table.
ROOM = (((6, 0.2, 6), (0, -0.1, 0)), ((6, 2.5, 0.2), (0, 1.25, 3)), ((6, 2.5, 0.2), (0, 1.25, -3)),
        ((0.2, 2.5, 6), (3, 1.25, 0)), ((0.2, 2.5, 6), (-3, 1.25, 0)), ((1.0, 0.7, 1.0), (1.5, 0.35, 1.5)))
HOUSE, QUESTION = "house:0", "Where is the unicorn?"  # it does not exist, so the robot explores


def compile_kernels(say: Callable[[str], object] = print) -> bool:
    """Compile the kernels for a question in each simulator; return whether all succeeded. say: called once for each."""
    with TemporaryDirectory(prefix="eqa-") as folder:
        todo = {"toy": partial(_ask, "toy:room", Path(folder)), "house": partial(_ask, HOUSE, Path(folder)),
                "mesh": partial(_ask_in_scan, Path(folder))}
        done = [_done(name, work, say) for name, work in todo.items()]
    return all(done)


def _done(name: str, work: Callable[[], None], say: Callable[[str], object]) -> bool:
    begin = time.monotonic()
    try:
        work()
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] in ("eqa_nodes", "sim_bridge"):
            raise
        say(f"{name}: left out, {error.name} is not installed (pip install 'eqa-nodes[house]')")
        return False
    say(f"{name}: its kernels are compiled ({time.monotonic() - begin:.0f} s)")
    return True


def _ask(scene: str, folder: Path) -> None:
    config = RunConfig(folder=folder / scene.partition(":")[0], image=IMAGE)
    with closing(InProcessRunner(config.parameters, Limits(steps=STEPS))) as runner:
        runner.run(Sample("kernels", QUESTION, "", scene=scene))
    with closing(open_simulator(scene)) as simulator:  # kernels that only the scorer uses
        x, y, _ = simulator.reset(EpisodeSetup(scene, robot=config.robot_body)).frame.pose
        simulator.geodesic((x, y), (x + 0.5, y))


def _ask_in_scan(folder: Path) -> None:
    import trimesh

    boxes = [trimesh.creation.box(size, trimesh.transformations.translation_matrix(centre)) for size, centre in ROOM]
    scan = folder / "room.glb"
    trimesh.util.concatenate(boxes).export(scan)
    _ask(f"mesh:{scan}", folder)


if __name__ == "__main__":
    logging.getLogger("eqa_nodes.core.kernels").setLevel(logging.ERROR)  # its notice names this very command
    sys.exit(0 if compile_kernels() else 1)
