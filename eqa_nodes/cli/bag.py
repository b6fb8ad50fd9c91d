"""`eqa bag check`: what is missing or wrong in a bag, and what it can still be used for."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.console import Console

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.doctor.findings import show
from eqa_nodes.recordings.check import BagReport, check_bag
from eqa_nodes.recordings.history import BagOptions


def check(arguments: argparse.Namespace) -> int:
    """Check and print; 1 when an error was found."""
    options = BagOptions(remapping(arguments.remap), arguments.map_frame, arguments.base_frame, arguments.tolerance)
    report = check_bag(arguments.bag, arguments.namespace, options)
    if arguments.json:
        print(json.dumps({"bag": report.bag, "usable": report.usable,
                          "findings": [finding._asdict() for finding in report.findings],
                          "uses": {use: {"usable": not errors, "errors": errors}
                                   for use, errors in report.uses.items()}}, indent=2))
    else:
        _print(report)
    return 0 if report.usable else 1


def remapping(words: Sequence[str]) -> dict[str, str]:
    """Return role -> topic of words like depth:=/camera/depth/image, or with = alone. Raises ConfigError."""
    parts = [word.partition(":=" if ":=" in word else "=") for word in words]
    for word, part in zip(words, parts, strict=True):
        if not all(part):
            raise ConfigError(f"{word!r} is no remapping: write role:=/topic, as in depth:=/camera/depth/image")
    return {role: topic for role, _, topic in parts}


def _print(report: BagReport) -> None:
    console = Console(highlight=False)
    show(report.findings, console)
    console.print("\ncan be used for", soft_wrap=True)
    for use, errors in report.uses.items():
        console.print(f"[{'red' if errors else 'green'}]{'no' if errors else 'yes':8}[/] {use:24}"
                      f"{'because of ' + ', '.join(errors) if errors else ''}".rstrip(), soft_wrap=True)
