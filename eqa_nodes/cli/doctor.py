"""`eqa doctor`: what works, and the remedy where something does not: of this machine, of a live robot, or in a bag."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from eqa_nodes.cli.bag import remapping
from eqa_nodes.cli.model import model_of
from eqa_nodes.config.graph import merged, of_world, settings
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.doctor.findings import Finding, failed, show
from eqa_nodes.recordings.history import BagOptions


def doctor(arguments: argparse.Namespace) -> int:
    """Check and print; 1 when something that a run needs is missing, with --strict also after a warning."""
    findings = _findings(arguments)
    if arguments.json:
        print(json.dumps([finding._asdict() for finding in findings], indent=2))
    else:
        show(findings, Console(highlight=False))
    return 1 if failed(findings, arguments.strict) else 0


def _findings(arguments: argparse.Namespace) -> list[Finding]:
    options = BagOptions(remapping(arguments.remap), arguments.map_frame, arguments.base_frame, arguments.tolerance)
    if arguments.params and not arguments.robot:
        raise ConfigError("--params says what camera the graph of a robot takes: it needs --robot")
    if arguments.bag:
        from eqa_nodes.doctor.judge import bag_findings

        return bag_findings(arguments.bag, arguments.namespace, options)
    if arguments.robot:
        return _robot(arguments, options)
    from eqa_nodes.doctor.machine import machine_findings
    from eqa_nodes.doctor.model import judge_model

    return [*machine_findings(), *judge_model(model_of(arguments))]


def node_of(params: Path | None) -> Any:
    """Return what the nodes of a robot's graph have in common, with this parameter file as launch takes it."""
    return settings("mapper", merged(None, of_world("robot"), merged(params))).node


def _robot(arguments: argparse.Namespace, options: BagOptions) -> list[Finding]:
    from eqa_nodes.ros.environment import ensure_ros

    if arguments.seconds <= 0:
        raise ConfigError(f"--seconds is {arguments.seconds:g}: listen for some time")
    ensure_ros()
    from eqa_nodes.doctor.robot import Listening, robot_findings

    node = node_of(arguments.params)
    if arguments.params:
        options = options._replace(map_frame=options.map_frame or node.tf.map_frame,
                                   base_frame=options.base_frame or node.tf.base_frame)
    how = Listening(arguments.namespace, options.remap, arguments.seconds, arguments.wait, options, node.camera)
    with Console(stderr=True).status(f"listening for {arguments.seconds:g} s"):
        return robot_findings(how)
