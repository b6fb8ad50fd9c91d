"""`eqa bag check`: what is missing or wrong in a bag, and what it can still be used for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import BagReading
from eqa_nodes.cli.options import argument, flag, group

if TYPE_CHECKING:
    from eqa_nodes.recordings.bags.check import BagReport


@dataclass(frozen=True, kw_only=True)
class Check:
    """Checks a bag of any robot."""

    bag: Path = argument("folder, .mcap or .db3 file", metavar="BAG")
    how: BagReading = group(BagReading)
    json: bool = flag("print JSON")

    def run(self) -> int:
        """Check and print; 1 when an error was found."""
        from eqa_nodes.recordings.bags.check import check_bag

        report = check_bag(self.bag, self.how.options())
        if self.json:
            print(json.dumps({"bag": report.bag, "usable": report.usable,
                              "findings": [finding._asdict() for finding in report.findings],
                              "topics": {topic: {"type": kind, "messages": count}
                                         for topic, (kind, count) in report.topics.items()},
                              "uses": {use: {"usable": not errors, "errors": errors}
                                       for use, errors in report.uses.items()}}, indent=2))
        else:
            _print(report)
        return 0 if report.usable else 1


def _print(report: BagReport) -> None:
    from rich.console import Console

    from eqa_nodes.cli.doctor import show

    console = Console(highlight=False)
    show(report.findings, console)
    console.print("\ntopics, with their numbers of messages", soft_wrap=True)
    for topic, (kind, count) in report.topics.items():
        console.print(f"{count:8} {topic} ({kind})", soft_wrap=True, markup=False)
    console.print("\ncan be used for", soft_wrap=True)
    for use, errors in report.uses.items():
        console.print(f"[{'red' if errors else 'green'}]{'no' if errors else 'yes':8}[/] {use:24}"
                      f"{'because of ' + ', '.join(errors) if errors else ''}".rstrip(), soft_wrap=True)
