"""`eqa record`: topics of a running robot -> a bag, until Ctrl-C, a time or a size."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from eqa_nodes.cli.options import FOLDER, argument, option

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

        from eqa_nodes.cli.paths import check_folder
        from eqa_nodes.cli.recording import checked, compression, print_line, record_topics
        from eqa_nodes.config.profiles import profile
        from eqa_nodes.core.errors import ConfigError, StorageError
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
            print_line(console, f"nothing came on {', '.join(silent)}")
        if session.failed:
            raise StorageError(session.failed)
        print_line(console, checked(folder))
        return 1 if session.reasons else 0

    def hidden(self) -> tuple[float, ...]:
        """Return the rectangles of --mask-image. Raises ConfigError for a wrong one, and for masks of the graph."""
        from eqa_nodes.core.camera.privacy import PrivacyConfig
        from eqa_nodes.core.errors import ConfigError

        if self.mask_zones or self.mask_kinds:
            raise ConfigError("zones of the map and kinds of things are hidden by the recorder node "
                              "(memory.privacy.zones and memory.privacy.kinds of /**), which knows poses and labels: "
                              "eqa record has --mask-image")
        return PrivacyConfig(image=tuple(share for mask in self.mask_image for share in mask)).image


def _absolute(topic: str) -> str:
    return "/" + topic.strip("/")
