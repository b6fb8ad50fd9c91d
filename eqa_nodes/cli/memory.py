"""`eqa memory`: inspects, queries, backs up and deletes from a memory file; reading works while the robot runs."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.options import FILE, FOLDER, argument, flag, group, option

if TYPE_CHECKING:
    from eqa_nodes.core.memory import MemoryStore

@dataclass(frozen=True, kw_only=True)
class MemoryFile:
    """A memory file."""

    path: Path = argument("file of the memory node (memory/NAME.sqlite)", metavar="FILE")
    now: str = option("", "date and time that words such as yesterday refer to, such as 2026-11-13T20:00; needed where "
                      "--start gave a simulator's clock a date (default: this computer's clock)", metavar="TIME",
                      rare=True)

    def opened(self, write: bool = False) -> closing[MemoryStore]:
        """Open an existing file. Raises StorageError, and ConfigError for a wrong date."""
        from eqa_nodes.core.memory import open_file
        from eqa_nodes.core.ranges import date_ns

        now_ns = date_ns(self.now, "--now") if self.now else time.time_ns()
        store = open_file(self.path, write)
        if later := store.set_now(now_ns):
            _print(f"{later} views have stamps in the future and are ignored. If a clock was wrong, delete them: eqa "
                   "memory forget FILE --when 'the future'", style="yellow")
        return closing(store)


@dataclass(frozen=True, kw_only=True)
class MemoryInfo:
    """Prints how much is remembered, and the sessions."""

    file: MemoryFile = group(MemoryFile)

    def run(self) -> int:
        """Print what is in the file."""
        from rich.table import Table

        from eqa_nodes.cli.printing import shown

        with self.file.opened() as store:
            for name, value in store.info().items():
                _print(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {shown(str(value))}")
            table = Table("session", "map", "place")
            for session, map_name, place in store.sessions():
                table.add_row(shown(session) or "(unnamed)", shown(map_name), str(place))
            _print(table)
        return 0


@dataclass(frozen=True, kw_only=True)
class MemoryObjects:
    """Prints the remembered objects."""

    file: MemoryFile = group(MemoryFile)
    about: str = option("", 'objects that fit a text, such as "red cups" (default: all)', metavar="TEXT")
    save: Path | None = option(None, "folder for the best picture of each, as ID-KIND.jpg (default: not written)",
                               metavar="DIR", writes=FOLDER)
    limit: int = option(20, "how many", metavar="N")

    def run(self) -> int:
        """Print the objects; --save writes the best picture of each."""
        from rich.table import Table

        from eqa_nodes.cli.printing import shown
        from eqa_nodes.core.memory.in_words import name_of, place_of
        from eqa_nodes.core.memory.keyframes import crop_of, file_name
        from eqa_nodes.core.memory.times import time_phrase

        with self.file.opened() as store:
            table = Table("object", "where", "x, y, z (m)", "seen", "last seen", "now")
            for o in store.objects(self.about, self.limit):
                x, y, z = o.centre
                state = "gone" if o.gone_ns else o.attributes.get("state", "")
                at = f"{x:.2f}, {y:.2f}, {z:.2f}" if o.here else "in another map"
                table.add_row(shown(name_of(o)), shown(place_of(o)), at,
                              "once" if o.times == 1 else f"{o.times} times", time_phrase(o.last_ns, store.now_ns),
                              shown(state))
                if self.save and (view := store.keyframe(o.keyframe_id)) is not None:
                    _save(self.save / file_name(o), crop_of(view.jpeg, o.bbox))
            _print(table)
        return 0


@dataclass(frozen=True, kw_only=True)
class Recall:
    """Prints the views that fit a text, and why."""

    file: MemoryFile = group(MemoryFile)
    text: str = argument('such as "keys yesterday evening near the kitchen"')
    save: Path | None = option(None, "folder for the pictures (default: not written)", metavar="DIR", writes=FOLDER)
    limit: int = option(20, "how many", metavar="N")
    near: tuple[float, ...] | None = option(None, "views taken in this circle, metres, map frame (default: anywhere)",
                                            type=float, nargs=3, metavar=("X", "Y", "RADIUS"))

    def run(self) -> int:
        """Print the views with the reasons; --save writes their pictures."""
        from rich.table import Table

        from eqa_nodes.cli.printing import shown
        from eqa_nodes.core.memory.times import time_phrase, times_in
        from eqa_nodes.core.storage.text import stored
        from eqa_nodes.core.types.questions import RecallQuery

        with self.file.opened() as store:
            table = Table("view", "score", "why", "when", "where", "shows")
            query = RecallQuery(stored(self.text), self.limit, near=_circle(self.near))
            if fault := times_in(query.text, store.now_ns).fault:
                _print(shown(fault), style="yellow")
            for view, score, why in store.recall(query):
                table.add_row(str(view.id), f"{score:.2f}", shown(why), time_phrase(view.stamp_ns, store.now_ns),
                              f"{view.pose.x:.2f}, {view.pose.y:.2f} {shown(view.region)}".strip(),
                              shown(view.caption[:60]))
                if self.save:
                    _save(self.save / f"view-{view.id}.jpg", view.jpeg)
            _print(table)
        return 0


@dataclass(frozen=True, kw_only=True)
class AskMemory:
    """Answers a question from memory alone: about the past, about habits, and about now as the newest look saw it."""

    file: MemoryFile = group(MemoryFile)
    question: str = argument('such as "When did you last see the mug?", "What changed since yesterday?" or "Where is '
                             'the mug usually?"')

    def run(self) -> int:
        """Ask and print."""
        from eqa_nodes.cli.printing import shown
        from eqa_nodes.core.answerers.common import check_question
        from eqa_nodes.core.errors import BadQuestion
        from eqa_nodes.core.memory.habit_questions import question_now
        from eqa_nodes.core.memory.recollect import about_past, past_question
        from eqa_nodes.core.memory.times import time_phrase

        with self.file.opened() as store:
            said = store.ask(check_question(self.question))
            if said is None and (fault := past_question(self.question, store.now_ns).times.fault):
                raise BadQuestion(fault)
            if said is None and about_past(self.question) and not store.objects("", 1):
                raise BadQuestion("this memory holds views but no objects, and questions about the past are answered "
                                  "from objects. A detector adds them (detector:= of a launch file, --detector); eqa "
                                  "ask --history BAG asks a model about a recording")
            if said is None and (about_past(self.question) or question_now(self.question) is not None):
                raise BadQuestion("nothing in this memory fits the question: eqa memory objects lists what it has "
                                  "seen")
            if said is None:
                raise BadQuestion("memory itself answers where things that it has seen are, were and usually are, and "
                                  "how they are, were and changed (\"What changed since yesterday?\", \"How often was "
                                  "the stove on?\"); eqa ask asks the robot other questions")
            _print(f"{shown(said.text)}  ({said.confidence:.0%} sure)" if said.known else shown(said.text))
            for proof in said.evidence:
                _print(f"  view {proof.keyframe_id}, {time_phrase(proof.stamp_ns, store.now_ns)}, at "
                       f"({proof.pose.x:.2f}, {proof.pose.y:.2f}): {shown(proof.note)}")
        return 0


@dataclass(frozen=True, kw_only=True)
class Digest:
    """Prints what happened within a time: what was moved, came, went or changed its state, with the two looks."""

    file: MemoryFile = group(MemoryFile)
    day: str = option("today", 'a time such as "yesterday", "Monday evening" or "since Friday"', metavar="TIME")
    save: Path | None = option(None, "folder for the pictures of the events (default: none)", metavar="DIR",
                               writes=FOLDER)

    def run(self) -> int:
        """Print the events, oldest first; --save writes their pictures."""
        from eqa_nodes.cli.printing import shown
        from eqa_nodes.core.errors import BadQuestion
        from eqa_nodes.core.memory.digest import events
        from eqa_nodes.core.memory.times import short_time, times_in

        with self.file.opened() as store:
            times = times_in(self.day, store.now_ns)
            if times.window is None:
                raise BadQuestion(times.fault or f"{self.day!r} is not understood as a time: say yesterday, Monday "
                                                 "evening or since Friday")
            found = events(store, *times.window[:2])
            for event in found:
                last = f" (as it was {short_time(event.before_ns, store.now_ns)})" if event.before_ns else ""
                _print(shown(f"{short_time(event.at_ns, store.now_ns)}: {event.text}{last}"))
                for view in filter(None, map(store.keyframe, event.views if self.save else ())):
                    assert self.save is not None
                    path = self.save / f"view-{view.id}.jpg"
                    _save(path, view.jpeg)
                    _print(shown(f"  {path}"))
            if not found:
                _print(f"nothing that I have seen {times.window.phrase}")
        return 0


@dataclass(frozen=True, kw_only=True)
class WatchMemory:
    """Watches for a statement to become true, and prints the watches; also while a robot writes the file."""

    file: MemoryFile = group(MemoryFile)
    statement: str = argument('what to watch for, such as "the stove is on for 30 min", "there is a box in the '
                              'entryway", "the suitcase is gone" or "the laptop is moved" (default: print the watches)',
                              nargs="?", default="")
    remove: int | None = option(None, "number of a watch to delete, with its events (default: none)", type=int,
                                metavar="N")

    def run(self) -> int:
        """Set or remove a watch, or print all of them."""
        from eqa_nodes.core.errors import ConfigError

        if self.statement and self.remove is not None:
            raise ConfigError("give a statement to watch, or --remove N, not both")
        if self.statement:
            return self._set()
        return self._print() if self.remove is None else self._remove(self.remove)

    def _set(self) -> int:
        from eqa_nodes.cli.printing import shown
        from eqa_nodes.core.memory.times import short_time
        from eqa_nodes.core.memory.watches import set_watch

        new = set_watch(self.file.path, self.statement)
        _print(shown(f"watch {new.number}: {new.statement}"))
        if new.since_ns:
            with self.file.opened() as store:
                seen = short_time(new.since_ns, store.now_ns)
            _print(f"it was so when I looked last, {seen}")
        elif not new.seen:
            _print("memory has not seen such a thing yet")
        return 0

    def _remove(self, number: int) -> int:
        from eqa_nodes.cli.printing import shown
        from eqa_nodes.core.memory.watches import remove_watch

        _print(shown(f"removed watch {number}: {remove_watch(self.file.path, number)}"))
        return 0

    def _print(self) -> int:
        from rich.table import Table

        from eqa_nodes.cli.printing import shown
        from eqa_nodes.core.memory.times import time_phrase

        with self.file.opened() as store:
            table = Table("watch", "statement", "events", "last event", "seen")
            for watch in store.watches():
                last = watch.last
                table.add_row(str(watch.number), shown(watch.statement), str(watch.events),
                              time_phrase(last.stamp_ns, store.now_ns) if last else "",
                              shown(last.text) if last else "")
            _print(table if table.row_count else "nothing is watched: give a statement, such as \"the stove is on\"")
        return 0


@dataclass(frozen=True, kw_only=True)
class Forget:
    """Deletes from memory permanently; conditions combine."""

    file: MemoryFile = group(MemoryFile)
    region: str = option("", 'views taken in this kind of room, such as "bedroom" (default: any)')
    kind: str = option("", "views that show this kind of object (default: any)")
    when: str = option("", 'views of a time, such as "yesterday", "Monday between 9 and 11 am", "in the last two '
                           'hours" or "before 1 November" (default: any)', metavar="TIME")
    everything: bool = flag("everything in memory")
    near: tuple[float, ...] | None = option(None, "views taken in this circle, metres, map frame (default: anywhere)",
                                            type=float, nargs=3, metavar=("X", "Y", "RADIUS"))

    def run(self) -> int:
        """Delete."""
        from eqa_nodes.core.memory.forgetting import ForgetSelection, within
        from eqa_nodes.core.memory.times import span_phrase

        selection = ForgetSelection(self.region, self.kind, _circle(self.near), everything=self.everything)
        with self.file.opened(write=True) as store:
            selection = within(selection, self.when, store.now_ns)
            keyframes, objects = store.forget(selection)
        span = f" {span_phrase(selection.after_ns, selection.before_ns)}" if self.when else ""
        _print(f"forgot {keyframes} views and {objects} objects{span}. Bags are separate files: delete them too")
        return 0


@dataclass(frozen=True, kw_only=True)
class Align:
    """Sets the pose of one map in another: as given, or found by what both show."""

    file: MemoryFile = group(MemoryFile)
    map: str = argument("name of the map, or of the only session in it")
    known: str = argument("name of the reference map")
    x: float | None = argument("position of the map's origin in the reference map, metres", metavar="X", nargs="?",
                               default=None)
    y: float | None = argument("position of the map's origin in the reference map, metres", metavar="Y", nargs="?",
                               default=None)
    degrees: float | None = argument("yaw of the map in the reference map, degrees counterclockwise",
                                     metavar="DEGREES", nargs="?", default=None)
    auto: bool = flag("find the pose from what the views of both maps show; nothing changes if it is not certain")

    def run(self) -> int:
        """Write it into the memory."""
        from eqa_nodes.core.errors import ConfigError

        if self.auto != (self.x is None) or (self.x is None) != (self.degrees is None):
            raise ConfigError("give the position and yaw of the map in the reference map as X Y DEGREES, or --auto to "
                              "find them from the views of both")
        return self._found() if self.auto else self._given()

    def _given(self) -> int:
        from eqa_nodes.core.types.geometry import Pose2

        assert self.x is not None and self.y is not None and self.degrees is not None
        with self.file.opened(write=True) as store:
            store.align(self.map, self.known, Pose2(self.x, self.y, math.radians(self.degrees)).transform())
        _print(f"{self.map} lies in {self.known} at ({self.x:g}, {self.y:g}) m, turned by {self.degrees:g} degrees")
        return 0

    def _found(self) -> int:
        from eqa_nodes.cli.printing import shown
        from eqa_nodes.core.errors import StorageError
        from eqa_nodes.core.memory.relocalise import describe, register_maps

        with self.file.opened(write=True) as store:
            found = register_maps(store, self.map, self.known)
            if found.refused:
                raise StorageError(f"{self.map} was not found in {self.known}: {found.refused}. Nothing was changed; "
                                   "let the robot see more of the place, or give X Y DEGREES")
            store.align(self.map, self.known, found.transform())
        _print(shown(f"{self.map} lies in {self.known} at ({found.pose.x:.2f}, {found.pose.y:.2f}) m, turned by "
                     f"{math.degrees(found.pose.yaw):.1f} degrees ({describe(found)})"))
        return 0


def _circle(near: tuple[float, ...] | None) -> tuple[float, float, float] | None:
    return None if near is None else (near[0], near[1], near[2])


def _save(path: Path, jpeg: bytes) -> None:
    from eqa_nodes.core.errors import StorageError
    from eqa_nodes.core.storage.codec import write_bytes

    try:
        write_bytes(path, jpeg)
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error}): name another folder") from error


def _print(what: object, style: str = "") -> None:
    from rich.console import Console

    Console().print(what, style=style or None)


@dataclass(frozen=True, kw_only=True)
class BackupMemory:
    """Copies the present state of a memory file, even while a robot writes it, and checks the copy."""

    path: Path = argument("file of the memory node (memory/NAME.sqlite)", metavar="FILE")
    backup: Path = argument("file of the backup, which must not exist yet", metavar="BACKUP", writes=FILE)

    def run(self) -> int:
        """Copy, and print what was copied."""
        from eqa_nodes.core.memory.backup import back_up

        done = back_up(self.path, self.backup)
        print(f"{done.path}: {done.keyframes} views, {done.bytes / 1e6:.1f} MB")
        return 0


@dataclass(frozen=True, kw_only=True)
class RestoreMemory:
    """Restores a memory file from a backup, completely or not at all. The memory node must not have the file open."""

    backup: Path = argument("file that eqa memory backup wrote", metavar="BACKUP")
    path: Path = argument("file of the memory node; its contents are first backed up beside it", metavar="FILE",
                          writes=FILE)
    discard: bool = flag("do not keep the present contents of the file")

    def run(self) -> int:
        """Restore, and print what is remembered now."""
        from eqa_nodes.core.memory.backup import free_name, restore

        before = None if self.discard else free_name(self.path.with_name(f"{self.path.name}.before-restore"))
        done = restore(self.backup, self.path, before)
        kept = f"; the previous contents are in {before}" if before is not None and before.exists() else ""
        print(f"{self.path}: {done.keyframes} views{kept}")
        return 0
