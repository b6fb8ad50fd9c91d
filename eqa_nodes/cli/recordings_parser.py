"""The part of the command line that is about recordings and memory: `eqa history | memory | replay | record | bag`."""

from __future__ import annotations

import argparse
from pathlib import Path

from eqa_nodes.cli.detector import detector_options
from eqa_nodes.cli.model import model_options
from eqa_nodes.cli.paths import NewFile, NewFolder
from eqa_nodes.cli.scenes_parser import PLACES, scene_options

SOURCES = "bag, OpenEQA frames folder, .sens file, ScanNet or Redwood folder"
FORMATS = "bag, openeqa, sens, scannet, redwood (default: find out)"


def history(p: argparse.ArgumentParser) -> None:
    """Declare the options of `eqa history`."""
    verbs = p.add_subparsers(dest="history_verb", required=True, metavar="info|export|video|record")
    info = verbs.add_parser("info", help="print frames, size, rate, path length and extent")
    export = verbs.add_parser("export", help="write it in another form")
    video = verbs.add_parser("video", help="write it as a video with an inset of the way so far")
    record = verbs.add_parser("record", help="make one in a simulator")
    for verb in (info, export, video):
        verb.add_argument("path", type=Path, metavar="PATH", help=f"{SOURCES}; live: or live:/NAMESPACE is what the "
                          "robot of this ROS_DOMAIN_ID sees")
        verb.add_argument("--seconds", type=float, default=0.0, metavar="S",
                          help="of a live history (default: until the camera is quiet)")
        verb.add_argument("--format", default="", help=FORMATS)
        bag_options(verb)
    video.add_argument("out", type=NewFile, metavar="OUT.mp4", help="file that is made")
    record.add_argument("scene", metavar="SCENE", help=PLACES)
    record.add_argument("--kind", default="openeqa",
                        help="openeqa: more than 10 m of curved way, a look round every metre, 1920x1080; express: 10 "
                             "to 100 atomic actions, 512x512; exploraqa: from 5 m on, 512x512 (default: openeqa)")
    record.add_argument("--seed", type=int, default=0, help="decides where it begins and ends (default: 0)")
    record.add_argument("--image", default="", metavar="WxH", help="camera image in pixels (default: of the kind)")
    record.add_argument("--min-metres", type=float, metavar="M", help="least length of the way (default: of the kind)")
    scene_options(record)
    for verb in (export, record):
        verb.add_argument("--to", default="openeqa", help="openeqa, bag (default: openeqa)")
        verb.add_argument("out", type=NewFolder, metavar="OUT", help="folder that is made")
    record.set_defaults(run="eqa_nodes.cli.history:record")
    info.set_defaults(run="eqa_nodes.cli.history:info")
    video.set_defaults(run="eqa_nodes.cli.history:video")
    export.set_defaults(run="eqa_nodes.cli.history:export")


def memory(p: argparse.ArgumentParser) -> None:
    """Declare the options of `eqa memory`."""
    verbs = p.add_subparsers(dest="memory", required=True, metavar="info|objects|recall|ask|forget|align")
    info = verbs.add_parser("info", help="print how much is remembered, and the sessions")
    things = verbs.add_parser("objects", help="print the things that are remembered")
    recall = verbs.add_parser("recall", help="print the views that a text means, and why")
    ask = verbs.add_parser("ask", help='ask memory itself: "When did you last see ...?", "What changed since ...?"')
    forget = verbs.add_parser("forget", help="delete for good; conditions combine")
    align = verbs.add_parser("align", help="say where one map lies in another")
    for verb in (info, things, recall, ask, forget, align):
        verb.add_argument("file", type=Path, metavar="FILE", help="as the memory node wrote it (memory/NAME.sqlite)")
        verb.set_defaults(run=f"eqa_nodes.cli.memory:{verb.prog.split()[-1]}")
    things.add_argument("--about", metavar="TEXT", help='such as "red cups"')
    things.add_argument("--save", type=NewFolder, metavar="DIR",
                        help="write the best picture of each there, as ID-KIND.jpg")
    recall.add_argument("text", help='such as "keys yesterday evening near the kitchen"')
    recall.add_argument("--save", type=NewFolder, metavar="DIR", help="write their pictures there")
    for verb in (things, recall):
        verb.add_argument("--limit", type=int, default=20, metavar="N", help="how many (default: 20)")
    ask.add_argument("question")
    forget.add_argument("--region", help='kind of room, such as "bedroom"')
    forget.add_argument("--kind", help="of a thing: the views that show it")
    forget.add_argument("--when", metavar="TIME", help='such as "yesterday" or "in the last two hours"')
    forget.add_argument("--everything", action="store_true")
    for verb in (recall, forget):
        verb.add_argument("--near", nargs=3, type=float, metavar=("X", "Y", "RADIUS"), help="metres, map frame")
    align.add_argument("map", help="name of a map, or of the session that is alone in it")
    align.add_argument("known", help="name of the map that it lies in")
    for name, unit in (("x", "metres"), ("y", "metres"), ("degrees", "counterclockwise")):
        align.add_argument(name, type=float, metavar=name.upper(), help=f"of its origin in that one, {unit}")


def replay(p: argparse.ArgumentParser) -> None:
    """Declare the options of `eqa replay`."""
    p.description = ("Starts the graph with a replay in the robot's place, shows it the history and asks the questions "
                     "at the end. Nothing can be driven: answers come from what was recorded.")
    p.add_argument("source", type=Path, metavar="SOURCE",
                   help="bag, OpenEQA frames folder, .sens file, ScanNet or Redwood folder")
    pace = p.add_mutually_exclusive_group()
    pace.add_argument("--rate", type=float, default=0.0, metavar="R", help="times real time, by the recorded stamps")
    pace.add_argument("--lock-step", dest="rate", action="store_const", const=0.0,
                      help="as fast as the nodes take the frames in, none is lost (default)")
    p.add_argument("--ask", nargs="+", action="extend", default=[], metavar="QUESTION", help="in plain English")
    p.add_argument("--record", action="store_true", help="record what is shown and what the graph makes of it")
    p.add_argument("--agent", default="", metavar="NAME", help="who answers, by one name (docs/agents.md)")
    p.add_argument("--answerer",
                   help="label: rules over the history's labels, privileged, no model; vlm: a model, see below; its "
                        "key comes from EQA_VLM_API_KEY (default: the agent's, else label)")
    p.add_argument("--params", type=Path, metavar="FILE", help="ROS parameter file; the options above win over it")
    p.add_argument("--out", type=NewFolder, help="run directory (default: runs/<time>)")
    detector_options(p)
    model_options(p)
    p.set_defaults(run="eqa_nodes.cli.replay:replay")


def record(p: argparse.ArgumentParser) -> None:
    """Declare the options of `eqa record`."""
    p.description = ("Records into a rosbag2 MCAP bag until Ctrl-C, in this ROS_DOMAIN_ID. Types and qualities of "
                     "service are the publishers'; /tf and /tf_static are always recorded.")
    p.add_argument("topics", nargs="*", metavar="TOPIC", help="recorded as they are")
    for role, what in (("color", "colour image"), ("depth", "depth image, registered to it"),
                       ("camera-info", "intrinsics of both"), ("odom", "odometry")):
        p.add_argument(f"--{role}", default="", metavar="TOPIC", help=what)
    p.add_argument("--out", type=NewFolder, metavar="DIR", help="folder that is made (default: bags/<time>)")
    p.add_argument("--seconds", type=float, default=0.0, metavar="N", help="end after so long (default: 0 = never)")
    p.add_argument("--max-gb", type=float, default=0.0, metavar="N", help="end at this size (default: 0 = never)")
    p.add_argument("--split-mb", type=float, default=0.0, metavar="N", help="a new file after so much")
    p.add_argument("--split-s", type=float, default=0.0, metavar="N", help="a new file after so many seconds")
    p.add_argument("--compress", choices=("none", "lz4", "zstd", "jpeg", "png"), default="lz4",
                   help="none, lz4, zstd: all alike, exactly; jpeg, png: --color so, and --depth as PNG (default: lz4)")
    p.add_argument("--mask-image", type=_shares, action="append", default=[], metavar="L,T,R,B",
                   help="black out of all images before they are written: left, top, right, bottom as shares of width "
                        "and height, such as 0,0.9,1,1; may be given more than once")
    for masks in ("--mask-zones", "--mask-kinds"):  # refused with what to do instead
        p.add_argument(masks, nargs="*", help=argparse.SUPPRESS)
    p.add_argument("--wait", type=float, default=10.0, metavar="S", help="for the topics to appear (default: 10)")
    p.set_defaults(run="eqa_nodes.cli.record:record")


def _shares(text: str) -> tuple[float, ...]:
    numbers = tuple(map(float, text.split(",")))
    if len(numbers) != 4:
        raise argparse.ArgumentTypeError(f"{text!r} is not four numbers with commas between")
    return numbers


def bag(p: argparse.ArgumentParser) -> None:
    """Declare the options of `eqa bag`."""
    verbs = p.add_subparsers(dest="bag_verb", required=True, metavar="check")
    check = verbs.add_parser("check", help="what is missing or wrong in a bag, and what it can still be used for",
                             epilog="exit codes: 0 usable, 1 errors found, 2 cannot be opened")
    check.add_argument("bag", type=Path, metavar="BAG", help="folder, .mcap or .db3 file; of any robot")
    bag_options(check)
    check.add_argument("--namespace", default="", help="of the robot that is meant, where there are several")
    check.add_argument("--json", action="store_true", help="print JSON")
    check.set_defaults(run="eqa_nodes.cli.bag:check")


def bag_options(p: argparse._ActionsContainer) -> None:
    """Declare how a bag of any robot is to be read."""
    p.add_argument("--remap", nargs="+", action="extend", default=[], metavar="ROLE:=TOPIC",
                   help="of a bag or a robot: color, depth, camera_info, tf, tf_static, odom (default: found); of a "
                        "graph that runs: any topic or service of it")
    p.add_argument("--map-frame", default="", metavar="FRAME", help="of a bag (default: map, odom or world)")
    p.add_argument("--base-frame", default="", metavar="FRAME",
                   help="of a bag (default: base_link, base_footprint or base)")
    p.add_argument("--tolerance", type=float, default=0.02, metavar="S",
                   help="of a bag: between color and depth of one moment (default: 0.02)")


def views_options(p: argparse._ActionsContainer) -> None:
    """Declare which views of a history answer."""
    p.add_argument("--frames",
                   help="which of its views answer: uniform in time, recalled by the words of the question, kept by a "
                        "memory for all that they show, objects: the best views of things that memory knows, told in "
                        "words, none (default: the agent's, else uniform)")
    p.add_argument("-k", type=int, metavar="K", help="how many of them (default: the agent's, else 50)")
    p.add_argument("--cache", type=NewFolder, metavar="DIR",
                   help="keeps what was made of histories (default: EQA_CACHE, else ~/.cache/eqa)")
