"""Options of `eqa bench perception`."""

from __future__ import annotations

import argparse
from pathlib import Path

from eqa_nodes.cli.detector import detector_options
from eqa_nodes.cli.paths import NewFile


def perception(p: argparse.ArgumentParser) -> None:
    """Declare the options of `eqa bench perception`."""
    p.description = ("Drives a tour of each scene, lets a detector look for the kinds of things that are there, and "
                     "compares what it finds with the simulator's labels: in pictures, in space, and over time.")
    p.add_argument("--scenes", nargs="+", default=["house:0"], metavar="SCENE", help="(default: house:0)")
    p.add_argument("--frames", type=int, default=40, metavar="N", help="of each tour, from its start (default: 40)")
    p.add_argument("--image", default="640x480", metavar="WxH", help="camera image in pixels (default: 640x480)")
    p.add_argument("--kinds", type=int, default=30, metavar="N", help="rows, the most frequent kinds (default: 30)")
    p.add_argument("--params", type=Path, metavar="FILE", help="ROS parameter file with a perception node")
    p.add_argument("--json", type=NewFile, metavar="FILE", help="write all rows there")
    detector_options(p)
    p.set_defaults(run="eqa_nodes.cli.perception:run")
