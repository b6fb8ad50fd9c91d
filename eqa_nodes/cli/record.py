"""`eqa record`: topics of a running robot -> a bag, until Ctrl-C, a time or a size."""

from __future__ import annotations

import argparse
import math
import re
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from eqa_nodes.cli.options import FOLDER, argument, option
from eqa_nodes.core.errors import BadFrame, ConfigError, EqaError

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.recordings.bags.recording import BagRecording
    from eqa_nodes.recordings.bags.writer import BagTopic
    from eqa_nodes.recordings.options import RecordingConfig

ROLES = ("color", "depth", "camera_info", "odom")


def _shares_of(text: str) -> tuple[float, ...]:
    numbers = tuple(map(float, text.split(",")))
    if len(numbers) != 4:
        raise argparse.ArgumentTypeError(f"{text!r} is not four numbers with commas between")
    return numbers


@dataclass(frozen=True, kw_only=True)
class Record:
    """Records into a rosbag2 MCAP bag until Ctrl-C, in this ROS_DOMAIN_ID. Types and qualities of service are those of
    the publishers; /tf and /tf_static are always recorded.
    """

    topics: tuple[str, ...] = argument("topics to record unchanged", nargs="*", default=(), metavar="TOPIC")
    driver: str = option("", "record the camera and the odometry of this camera or robot of docs/robot.md (default: "
                         "none)", metavar="NAME")
    color: str = option("", "topic of the colour image (default: none)", metavar="TOPIC")
    depth: str = option("", "topic of the depth image, registered to the colour image (default: none)",
                        metavar="TOPIC")
    camera_info: str = option("", "topic of the intrinsics of both (default: none)", metavar="TOPIC")
    odom: str = option("", "topic of the odometry (default: none)", metavar="TOPIC")
    out: Path | None = option(None, "output folder (default: bags/<time>)", metavar="DIR", writes=FOLDER)
    seconds: float = option(0.0, "stop after this time, seconds; 0 = never (default: 0)", metavar="N")
    max_gb: float = option(0.0, "stop at this size, GB; 0 = never (default: 0)", metavar="N")
    split_mb: float = option(0.0, "begin a new file after this size, MB; 0 = never (default: 0)", metavar="N")
    split_s: float = option(0.0, "begin a new file after this time, seconds; 0 = never (default: 0)", metavar="N")
    compress: str = option("lz4", "none, lz4, zstd: all topics, lossless; jpeg, png: --color in this format, and "
                           "--depth as PNG", choices=("none", "lz4", "zstd", "jpeg", "png"))
    mask_image: tuple[tuple[float, ...], ...] = option(
        (), "black out of all images before they are written: left, top, right, bottom as shares of width and height, "
        "such as 0,0.9,1,1; may be given more than once (default: none)", type=_shares_of, action="append",
        metavar="L,T,R,B")
    mask_zones: tuple[str, ...] | None = option(None, argparse.SUPPRESS, nargs="*")  # refused with what to do instead
    mask_kinds: tuple[str, ...] | None = option(None, argparse.SUPPRESS, nargs="*")
    wait: float = option(10.0, "maximum time for the topics to appear, seconds", metavar="S")

    def run(self) -> int:
        """Record, and say what the bag can be used for; 1 when messages were dropped."""
        from rich.console import Console

        from eqa_nodes.config.profiles import profile
        from eqa_nodes.core.errors import StorageError
        from eqa_nodes.core.storage.checks import check_folder
        from eqa_nodes.recordings.options import RecordingConfig
        from eqa_nodes.wire.graph import TOPICS

        known = profile(self.driver).topics
        if self.driver:
            known = {"odom": TOPICS["odom"].name, **known}
        roles = {_absolute(topic): role for role in ROLES if (topic := getattr(self, role) or known.get(role))}
        names = list(dict.fromkeys([*roles, *map(_absolute, self.topics)]))
        if not names:
            raise ConfigError("nothing to record: name topics, --driver, or --color, --depth, --camera-info and "
                              "--odom")
        self.hidden()
        config = RecordingConfig(*compression(self.compress), split_mb=self.split_mb, split_s=self.split_s)
        folder = self.out or Path("bags") / datetime.now().strftime("%Y%m%d-%H%M%S")
        check_folder(folder.parent)
        console = Console(highlight=False)
        session = record_topics(self, folder, names, roles, config, console)
        print_line(console, f"{folder}: {sum(session.counts.values())} messages, {session.size / 1e6:.1f} MB" + "".join(
            f"; {n} x {reason}" for reason, n in sorted(session.reasons.items())))
        silent = [name for name in names if not session.counts[name]]
        if silent:
            print_line(console, f"nothing was received on {', '.join(silent)}")
        if session.failed:
            raise StorageError(session.failed)
        print_line(console, checked(folder))
        return 1 if session.reasons else 0

    def hidden(self) -> tuple[float, ...]:
        """Return the rectangles of --mask-image. Raises ConfigError for a wrong one, and for masks of the graph."""
        from eqa_nodes.core.camera.privacy import PrivacyConfig
        if self.mask_zones or self.mask_kinds:
            raise ConfigError("zones of the map and kinds of things are hidden by the recorder node "
                              "(memory.privacy.zones and memory.privacy.kinds of /**), which knows poses and labels: "
                              "eqa record has --mask-image")
        return PrivacyConfig(image=tuple(share for mask in self.mask_image for share in mask)).image


def _absolute(topic: str) -> str:
    return "/" + topic.strip("/")


_PICTURES = re.compile("Image|Video|Cloud|Packet|RGBD|Keyframe")  # in a type's name: it may show what is to be hidden
_LONG_S, _RATE_S = 60.0, 3.0  # of a recording that may fill a disk; from its begin until its rate is known
_STEP_S = 0.25  # between two looks at the time, the size and Ctrl-C


class Session:
    """What is known of a recording after its end: messages by topic, bytes, what went wrong and how often."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.counts: Mapping[str, int] = {}
        self.size, self.failed = 0, ""

    def refused(self, reason: str) -> None:
        """Count a message that is not recorded."""
        self.reasons[reason] += 1


def record_topics(options: Record, folder: Path, names: list[str], roles: Mapping[str, str],
                  config: RecordingConfig, console: Console) -> Session:
    """Record until it ends, and return what is known of it. Raises ConfigError, StorageError, NodeLost."""
    from eqa_nodes.ros.environment import ensure_ros

    ensure_ros()  # the middleware stays as the user has set it: the graph's own profile hears this machine only
    from eqa_nodes.recordings.bags.recording import BagRecording, Listener
    from eqa_nodes.recordings.bags.writer import BagTopic
    from eqa_nodes.ros.tap import Tap, as_stream

    session = Session()

    class Refused(Listener):
        """Counts what is not recorded."""

        def refused(self, reason: str) -> None:
            session.refused(reason)

    with _interrupted() as ended, Tap() as tap:
        with console.status(f"waiting for {', '.join(names)}"):
            found = tap.find(names, options.wait)
        found |= {name: as_stream(role, found[name]) for name, role in roles.items()}
        topics = {name: BagTopic(h.type, h.qos, stream=not h.past) for name, h in found.items()}
        hide = _hider(topics, options.hidden())
        images = {name: role for name, role in roles.items() if role in ("color", "depth")}
        recording = BagRecording(folder, topics, config, images, Refused(),
                                 {role: name for name, role in roles.items()})
        try:
            tap.subscribe(found, partial(_take, recording, hide, session))
            _until_the_end(options, tap, recording, ended, console)
        finally:
            recording.close()
            session.counts, session.size, session.failed = recording.counts, recording.bag.size, recording.failed
            session.reasons.update({f"{name} lost between the robot and here": n for name, n in tap.lost.items() if n})
    return session


def _take(recording: BagRecording, hide: Callable[[str, bytes], bytes], session: Session, name: str,
          data: bytes) -> None:
    try:
        recording.put(name, time.time_ns(), hide(name, data))
    except BadFrame as error:
        session.refused(f"{name} not recorded: {error}")


def _hider(topics: Mapping[str, BagTopic], image: tuple[float, ...]) -> Callable[[str, bytes], bytes]:
    """Return what blacks rectangles out of images: topic, serialized message -> message. It raises BadFrame.

    Raises ConfigError for a topic that may show what is to be hidden in another form.
    """
    from eqa_nodes.core.camera.privacy import hidden_shares
    from eqa_nodes.wire.cdr import IMAGE, decoded, without

    if not image:
        return lambda name, data: data
    for name, topic in topics.items():
        if topic.type != IMAGE and _PICTURES.search(topic.type):
            raise ConfigError(f"topic {name} of type {topic.type} cannot be masked: leave it out, or record the "
                              f"{IMAGE} that it is made of")

    def hide(name: str, data: bytes) -> bytes:
        if topics[name].type != IMAGE:
            return data
        picture = decoded(data, IMAGE)
        return without(picture, hidden_shares(picture.height, picture.width, image))

    return hide


def _until_the_end(options: Record, tap: Any, recording: BagRecording, ended: threading.Event,
                   console: Console) -> None:
    from rich.live import Live

    begin, before, shown = time.monotonic(), Counter[str](), 0.0
    to_say = not 0 < options.seconds < _LONG_S
    with Live(console=console, transient=True, auto_refresh=False) as live:
        while not ended.is_set() and not recording.failed:
            spent = time.monotonic() - begin
            if 0 < options.seconds <= spent or 0 < options.max_gb * 1e9 <= recording.bag.size:
                return
            tap.spin(min(_STEP_S, options.seconds - spent) if options.seconds else _STEP_S)
            now = time.monotonic() - begin
            if to_say and now >= _RATE_S:
                to_say = False
                print_line(console, disk_use(recording.bag.size / now, options, shutil.disk_usage(recording.bag.folder)
                                             .free))
            if now - shown >= 1.0:
                rates = ", ".join(f"{name} {(n - before[name]) / (now - shown):.1f} Hz"
                                  for name, n in sorted(tap.counts.items()))
                live.update(f"{now:.0f} s, {recording.bag.size / 1e6:.0f} MB, "
                            f"{recording.dropped.total()} dropped, {tap.lost.total()} lost on the way; "
                            f"{rates or 'nothing received yet'} (Ctrl-C ends)", refresh=True)
                before, shown = tap.counts.copy(), now


def disk_use(bytes_a_second: float, options: Record, free: int) -> str:
    """Return what a recording will take of the disk at a rate. free: bytes."""
    if not bytes_a_second:
        return f"nothing was written yet; {free / 1e9:.1f} GB are free"
    seconds = min(options.seconds or math.inf, options.max_gb * 1e9 / bytes_a_second or math.inf)
    total, rate = seconds * bytes_a_second, f"{bytes_a_second / 1e6:.1f} MB/s"
    if math.isinf(total):
        return f"{rate}: the {free / 1e9:.1f} GB that are free last for {free / bytes_a_second / 3600:.1f} hours"
    fits = "" if total < free else ": the disk will be full before; record to another one (--out), or less (--compress)"
    return f"{rate}: about {total / 1e9:.1f} GB until the end; {free / 1e9:.1f} GB are free{fits}"


@contextmanager
def _interrupted() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C or SIGTERM sets: a bag is closed, not torn."""
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def compression(name: str) -> tuple[str, str, int, str]:
    """Return compression of chunks, of colour, quality and compression of depth, for --compress."""
    return {"none": ("none", "raw", 90, "raw"), "lz4": ("lz4", "raw", 90, "raw"), "zstd": ("zstd", "raw", 90, "raw"),
            "jpeg": ("lz4", "jpeg", 90, "png"), "png": ("lz4", "png", 90, "png")}[name]


def checked(folder: Path) -> str:
    """Return in one line what `eqa doctor --bag` says: the bag itself tells which topic is which."""
    from eqa_nodes.recordings.bags.check import check_bag  # here: the robot drives while modules load

    try:
        report = check_bag(folder)
    except EqaError as error:
        return f"eqa doctor --bag: {error}"
    good = [use for use, errors in report.uses.items() if not errors]
    bad = [f"{finding.name}: {finding.found}" for finding in report.findings if finding.state == "error"]
    return (f"eqa doctor --bag: can be used for {', '.join(good) or 'nothing'}"
            + (f" ({'; '.join(bad)})" if bad else "") + f"; more by `eqa doctor --bag {folder}`")


def print_line(console: Console, line: str) -> None:
    """Print a line as it is."""
    console.print(line, soft_wrap=True, markup=False)
