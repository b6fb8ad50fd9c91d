"""The part of the command line that is about scenes and robots: where scans lie, what opens them, who drives."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from sim_bridge.habitat.devices import PYTHON
from sim_bridge.scans import SCENES_VARIABLE

PLACES = ("house:7; habitat:PLACE or mesh:PLACE, a scan: DATASET/ID of the folder of scans (hm3d/00800-TEEsavR23oF) or "
          "the path of a file (docs/scenes.md)")
_VARIABLES = {"scans": SCENES_VARIABLE, "habitat_python": PYTHON}


def scene_options(p: argparse.ArgumentParser, simulator: str = "") -> None:
    """Declare where scans lie and who opens them. simulator: the one that opens those of a data set by default."""
    group = p.add_argument_group("scans")
    group.add_argument("--scenes", dest="scans", type=Path, metavar="DIR",
                       help="folder of scanned scenes, as their downloaders leave it (default: EQA_SCENES)")
    group.add_argument("--habitat-python", type=Path, metavar="PATH",
                       help="a Python that has habitat_sim (default: EQA_HABITAT_PYTHON)")
    if simulator:
        group.add_argument("--simulator", choices=("habitat", "mesh"), default=simulator,
                           help="what opens the scans of a data set: habitat, or mesh, which needs no Habitat "
                                "(default: %(default)s)")


def robot_options(p: argparse._ActionsContainer, default: str = "default") -> None:
    """Declare the robot and its image."""
    p.add_argument("--robot", default="", metavar="NAME",
                   help="body, camera and steps: default, openeqa, express, hm-eqa, exploraqa, embodied-eval (default: "
                        f"{default})")
    p.add_argument("--image", default="", metavar="WxH", help="camera image in pixels (default: the robot's)")


def set_environment(arguments: argparse.Namespace) -> None:
    """Let this process and its children know where scans and Habitat's Python are, where the options say so."""
    for option, variable in _VARIABLES.items():
        if (path := getattr(arguments, option, None)) is not None:
            path = path.expanduser()
            command = option == "habitat_python" and path.name == str(path)  # of the PATH
            os.environ[variable] = str(path if command else path.absolute())
