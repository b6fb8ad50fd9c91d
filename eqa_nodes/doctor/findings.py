"""Findings of checks: one line each with its remedy, for `eqa doctor` and `eqa bag check`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


class Finding(NamedTuple):
    """One line: state is ok | warning | error; found: with the measured figure; remedy: what to do."""

    name: str
    state: str
    found: str
    remedy: str = ""


def show(findings: Iterable[Finding], console: Console) -> None:
    """Print findings, remedies below them."""
    for finding in findings:
        console.print(f"[{_COLOURS[finding.state]}]{finding.state:8}[/] {finding.name:16} {escape(finding.found)}",
                      soft_wrap=True)
        if finding.remedy:
            console.print(f"{'':26}{escape(finding.remedy)}", style="dim", soft_wrap=True)


def failed(findings: Iterable[Finding], strict: bool = False) -> bool:
    """Return whether there is an error among them; strict: or a warning."""
    return any(finding.state == "error" or (strict and finding.state == "warning") for finding in findings)
