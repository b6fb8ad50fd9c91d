"""The part of the command line that checks: `eqa doctor`."""

from __future__ import annotations

import argparse
from pathlib import Path

from eqa_nodes.cli.model import model_options
from eqa_nodes.cli.recordings_parser import bag_options


def doctor(p: argparse.ArgumentParser) -> None:
    """Declare the options of `eqa doctor`."""
    p.description = ("Without --robot and --bag it checks this machine and the model, which is asked about a picture "
                     "of one pixel.")
    p.epilog = "exit codes: 0 ok or warnings, 1 an error (with --strict a warning too), 2 wrong use or a named error"
    what = p.add_mutually_exclusive_group()
    what.add_argument("--robot", action="store_true", help="a robot or simulator that runs in this ROS_DOMAIN_ID")
    what.add_argument("--bag", type=Path, metavar="BAG", help="a recording: folder, .mcap or .db3 file; of any robot")
    p.add_argument("--namespace", default="", help="of the robot")
    p.add_argument("--seconds", type=float, default=5.0, metavar="S", help="to listen to a robot for (default: 5)")
    p.add_argument("--wait", type=float, default=10.0, metavar="S", help="for its topics to appear (default: 10)")
    p.add_argument("--strict", action="store_true", help="a warning is a failure too")
    p.add_argument("--json", action="store_true", help="print JSON")
    p.add_argument("--params", type=Path, metavar="FILE",
                   help="with --robot: the graph's ROS parameter file, which says what camera it takes (default: raw, "
                        "straight, aligned images, with stamps that differ by 20 ms at most) and names the frames")
    bag_options(p)
    model_options(p)
    p.set_defaults(run="eqa_nodes.cli.doctor:doctor")
