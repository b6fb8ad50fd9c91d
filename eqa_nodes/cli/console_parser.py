"""The part of the command line that is the web console: `eqa console`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from eqa_nodes.cli.paths import NewFolder


def attached_options(p: argparse.ArgumentParser) -> None:
    """Declare where a graph that runs is found (--remap apart), and where it may drive for a question."""
    p.add_argument("--namespace", default="", metavar="NS", help="with --attach: of that graph's nodes")
    p.add_argument("--area", default="", metavar="CORNERS",
                   help="no goal outside is driven to: x,y of each corner in metres of the map frame, as in "
                        "\"0,0 4,0 4,3\"")


def console(p: argparse.ArgumentParser, chain_options: Callable[[argparse.ArgumentParser], None]) -> None:
    """Declare the options of `eqa console`."""
    p.description = ("Shows a page on which to ask the robot, to watch what it does and why, to read answers with "
                     "their pictures, and to replay past episodes. Ctrl-C ends it.")
    p.add_argument("--scene", help="where (default: house:3; with --attach: the episode that runs goes on)")
    p.add_argument("--attach", action="store_true",
                   help="show the graph that runs in this ROS_DOMAIN_ID (a robot's, say)")
    p.add_argument("--keep-memory", action="store_true",
                   help="with --attach and --scene: what that graph remembers stays when the episode begins")
    attached_options(p)
    p.add_argument("--remap", nargs="+", action="extend", default=[], metavar="KEY:=NAME",
                   help="with --attach: topics and services that are others there, as in color:=/front/image_raw")
    p.add_argument("--map-frame", default="", metavar="FRAME", help="with --attach: the robot's (default: map)")
    p.add_argument("--base-frame", default="", metavar="FRAME", help="with --attach: the robot's (default: base_link)")
    p.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR",
                   help="run directory, or a folder of some, for the replay of past episodes (default: runs)")
    p.add_argument("--out", type=NewFolder, help="run directory of what is asked here (default: runs/<time>)")
    page = p.add_argument_group("the page")
    page.add_argument("--host", default="127.0.0.1",
                      help="address to listen on; any but this machine's own asks for a token (default: %(default)s)")
    page.add_argument("--port", type=int, default=8090, help="0 = a free one (default: %(default)s)")
    page.add_argument("--dead-man", type=float, default=0.0, metavar="SECONDS",
                      help="while a question of the page waits or runs: stop the robot when no open page has been "
                           "heard of for so long; 0 = never (default: %(default)g)")
    page.add_argument("--token", action="store_true", help="ask for a token on this machine's own address too")
    chain_options(p)
    p.set_defaults(run="eqa_nodes.cli.console:console")
