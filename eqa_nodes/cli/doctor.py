"""`eqa doctor`: what works, and the remedy where something does not: of this machine, of a live robot, or in a bag."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import BagReading, DetectorOptions, ModelOptions
from eqa_nodes.cli.options import flag, group, option

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.config.nodes import NodeSettings
    from eqa_nodes.core.findings import Finding
    from eqa_nodes.doctor.detector import DetectorTrial
    from eqa_nodes.recordings.bags.check import BagReport


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """Checks this machine and the model, which gets one small request. --robot checks a running robot instead. --bag
    checks a recording, and prints its topics and what it can be used for.
    """

    robot: bool = flag("check a robot or simulator that runs in this ROS_DOMAIN_ID", alone="what")
    bag: Path | None = option(None, "check a recording of any robot: folder, .mcap or .db3 file (default: none)",
                              alone="what", metavar="BAG")
    seconds: float = option(5.0, "how long to listen to the robot, seconds", metavar="S")
    wait: float = option(10.0, "maximum time for its topics to appear, seconds", metavar="S")
    strict: bool = flag("treat warnings as failures")
    json: bool = flag("print JSON")
    params: Path | None = option(
        None, "with --robot: the graph's ROS parameter file, which describes its camera and names the frames (default: "
        "raw, rectified, aligned images with stamps that differ by at most 20 ms)", metavar="FILE")
    driver: str = option("", "with --robot: camera or robot of docs/robot.md, as driver:= of robot.launch.py (default: "
                         "none)", metavar="NAME")
    boxes: Path | None = option(None, "with --detector: picture (.png, .jpg) to draw what it found in one image "
                                "(default: none)", metavar="FILE")
    how: BagReading = group(BagReading)
    model: ModelOptions = group(ModelOptions, "the answerer's model")
    detector: DetectorOptions = group(DetectorOptions, "a detector, tried on one image of --robot or --bag")

    def run(self) -> int:
        """Check and print; 1 when something that a run needs is missing, with --strict also after a warning."""
        from rich.console import Console

        from eqa_nodes.core.findings import failed

        console = Console(highlight=False)
        self._check_options()
        if self.bag:
            from eqa_nodes.doctor.judge import judge_bag

            report = judge_bag(self.bag, self.how.options())
            report = report._replace(findings=(*report.findings, *self._of_detector(self.bag)))
            findings = list(report.findings)
            _print_bag(report, console, self.json)
        else:
            findings = self._of_robot() if self.robot else self._of_machine()
            if self.json:
                print(json.dumps([finding._asdict() for finding in findings], indent=2))
            else:
                show(findings, console)
        return 1 if failed(findings, self.strict) else 0

    def _check_options(self) -> None:
        from eqa_nodes.core.errors import ConfigError

        if self.params and not self.robot:
            raise ConfigError("--params describes the camera of a robot's graph: it needs --robot")
        if self.driver and not self.robot:
            raise ConfigError("--driver describes a running robot: it needs --robot")
        if self.boxes and not self.detector.detector:
            raise ConfigError("--boxes draws what a detector finds: name one with --detector")
        if self.detector.detector and not (self.robot or self.bag):
            raise ConfigError("--detector is tried on an image of a robot or a recording: add --robot or --bag")
        if self.seconds <= 0:
            raise ConfigError(f"--seconds is {self.seconds:g}: it must be above 0")

    def _trial(self) -> DetectorTrial | None:
        if not self.detector.detector:
            return None
        from eqa_nodes.doctor.detector import DetectorTrial

        return DetectorTrial(self.detector.config(), self.boxes)

    def _of_detector(self, path: Path) -> list[Finding]:
        """Try the detector on the last image of a recording."""
        trial, options = self._trial(), self.how.options()
        if trial is None:
            return []
        from eqa_nodes.doctor.detector import detector_findings
        from eqa_nodes.recordings.bags.reader import open_bag

        with open_bag(path, options.namespace, options.remap) as bag:
            return detector_findings(trial, bag)

    def _of_machine(self) -> list[Finding]:
        from eqa_nodes.doctor.machine import judge_model, machine_findings

        return [*machine_findings(), *judge_model(self.model.config())]

    def _of_robot(self) -> list[Finding]:
        from rich.console import Console

        from eqa_nodes.config.profiles import profile
        from eqa_nodes.ros.environment import ensure_ros

        ensure_ros()
        from eqa_nodes.doctor.robot import Listening, robot_findings

        node, options = node_of(self.params, self.driver), self.how.options()
        options = options._replace(remap={**profile(self.driver).topics, **options.remap})
        if self.params or self.driver:
            options = options._replace(map_frame=options.map_frame or node.tf.map_frame,
                                       base_frame=options.base_frame or node.tf.base_frame)
        how = Listening(self.how.namespace, options.remap, self.seconds, self.wait, options, node.camera,
                        self._trial())
        with Console(stderr=True).status(f"listening for {self.seconds:g} s"):
            return robot_findings(how)


def node_of(params: Path | None, driver: str = "") -> NodeSettings:
    """Return what the nodes of a robot's graph have in common, with this parameter file and driver as launch has them.

    Raises ConfigError.
    """
    from eqa_nodes.config.profiles import profile
    from eqa_nodes.config.run import ROBOT, RunConfig

    config = RunConfig(world=ROBOT, params=params).with_overrides(profile(driver).parameters(params))
    node: NodeSettings = config.settings.mapper.node
    return node


def _print_bag(report: BagReport, console: Console, as_json: bool) -> None:
    """Print the findings about a bag, its topics, and what it can be used for."""
    if as_json:
        uses = {use: {"usable": not errors, "errors": errors} for use, errors in report.uses.items()}
        topics = {topic: {"type": kind, "messages": count} for topic, (kind, count) in report.topics.items()}
        print(json.dumps({"bag": report.bag, "usable": report.usable, "topics": topics, "uses": uses,
                          "findings": [finding._asdict() for finding in report.findings]}, indent=2))
        return
    show(report.findings, console)
    console.print("\ntopics, with their numbers of messages", soft_wrap=True)
    for topic, (kind, count) in report.topics.items():
        console.print(f"{count:8} {topic} ({kind})", soft_wrap=True, markup=False)
    console.print("\ncan be used for", soft_wrap=True)
    for use, errors in report.uses.items():
        console.print(f"[{'red' if errors else 'green'}]{'no' if errors else 'yes':8}[/] {use:24}"
                      f"{'because of ' + ', '.join(errors) if errors else ''}".rstrip(), soft_wrap=True)


def show(findings: Iterable[Finding], console: Console) -> None:
    """Print findings, remedies below them."""
    from rich.markup import escape

    colours = {"ok": "green", "warning": "yellow", "error": "red"}
    for finding in findings:
        console.print(f"[{colours[finding.state]}]{finding.state:8}[/] {finding.name:16} {escape(finding.found)}",
                      soft_wrap=True)
        if finding.remedy:
            console.print(f"{'':26}{escape(finding.remedy)}", style="dim", soft_wrap=True)
