"""`eqa memory`: what a memory file holds, looked up, asked and let go of; the robot may be running while one looks."""

from __future__ import annotations

import math
import time
from argparse import Namespace
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from eqa_nodes.cli.printing import shown
from eqa_nodes.core.answerers.common import check_question
from eqa_nodes.core.errors import BadQuestion, StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.changes import name_of, place_of
from eqa_nodes.core.memory.crops import crop_of, file_name
from eqa_nodes.core.memory.forgetting import ForgetSelection, within
from eqa_nodes.core.memory.recollect import about_past
from eqa_nodes.core.memory.times import told
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.storage.text import stored
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.remembered import RecallQuery

console = Console()


def info(args: Namespace) -> int:
    """Print what is in the file."""
    with _opened(args) as store:
        for name, value in store.info().items():
            console.print(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {shown(str(value))}")
        table = Table("session", "map", "place")
        for session, map_name, place in store.sessions():
            table.add_row(shown(session) or "(unnamed)", shown(map_name), str(place))
        console.print(table)
    return 0


def objects(args: Namespace) -> int:
    """Print the things that are remembered; --save writes the best picture of each."""
    with _opened(args) as store:
        table = Table("thing", "where", "x, y, z (m)", "seen", "last seen", "now")
        for o in store.objects(args.about or "", args.limit):
            x, y, z = o.centre
            state = "gone" if o.gone_ns else o.attributes.get("state", "")
            at = f"{x:.2f}, {y:.2f}, {z:.2f}" if o.here else "in another map"
            table.add_row(shown(name_of(o)), shown(place_of(o)), at, "once" if o.times == 1 else f"{o.times} times",
                          told(o.last_ns, store.newest_ns), shown(state))
            if args.save and (view := store.keyframe(o.keyframe_id)) is not None:
                _save(args.save / file_name(o), crop_of(view.jpeg, o.bbox))
        console.print(table)
    return 0


def recall(args: Namespace) -> int:
    """Print the views that a text means, with the reasons; --save writes their pictures."""
    with _opened(args) as store:
        near = tuple(args.near) if args.near else None
        table = Table("view", "score", "why", "when", "where", "shows")
        for view, score, why in store.recall(RecallQuery(stored(args.text), args.limit, near=near)):
            table.add_row(str(view.id), f"{score:.2f}", shown(why), told(view.stamp_ns, store.newest_ns),
                          f"{view.pose.x:.2f}, {view.pose.y:.2f} {shown(view.region)}".strip(),
                          shown(view.caption[:60]))
            if args.save:
                _save(args.save / f"view-{view.id}.jpg", view.jpeg)
        console.print(table)
    return 0


def ask(args: Namespace) -> int:
    """Print what memory itself says about the past."""
    with _opened(args) as store:
        said = store.recollect(check_question(args.question))
        if said is None and about_past(args.question):
            raise BadQuestion("nothing that this memory holds fits the question: eqa memory objects lists what it has "
                              "seen")
        if said is None:
            raise BadQuestion("memory itself answers \"When did you last see ...?\", \"Where did I leave ...?\" and "
                              "\"What changed since ...?\", about things that it has seen; eqa ask asks the robot")
        console.print(f"{shown(said.text)}  ({said.confidence:.0%} sure)")
        for proof in said.evidence:
            console.print(f"  view {proof.keyframe_id}, {told(proof.stamp_ns, store.newest_ns)}, at "
                          f"({proof.pose.x:.2f}, {proof.pose.y:.2f}): {shown(proof.note)}")
    return 0


def forget(args: Namespace) -> int:
    """Delete for good."""
    near = tuple(args.near) if args.near else None
    selection = ForgetSelection(args.region or "", args.kind or "", near, everything=args.everything)
    with _opened(args, write=True) as store:
        keyframes, things = store.forget(within(selection, args.when or "", store.newest_ns))
    console.print(f"forgot {keyframes} views and {things} things. Bags are files of their own: delete those as well")
    return 0


def align(args: Namespace) -> int:
    """Say where one map lies in another."""
    x, y, degrees = args.x, args.y, args.degrees
    with _opened(args, write=True) as store:
        store.align(args.map, args.known, Pose2(x, y, math.radians(degrees)).transform())
    console.print(f"{args.map} lies in {args.known} at ({x:g}, {y:g}) m, turned by {degrees:g} degrees")
    return 0


def _save(path: Path, jpeg: bytes) -> None:
    try:
        write_bytes(path, jpeg)
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error}): name another folder") from error


def _opened(args: Namespace, write: bool = False) -> closing[MemoryStore]:
    """Open the file; one that is not there is not made. Raises StorageError."""
    if not args.file.is_file():
        raise StorageError(f"there is no memory {args.file}: name the file that the memory node wrote")
    store = MemoryStore(args.file, write=write)
    later = store.set_now(time.time_ns())
    if later:
        console.print(f"{later} views are stamped after now, and are not believed: if a clock was wrong, eqa memory "
                      "forget FILE --when 'the future'", style="yellow")
    return closing(store)
