"""Findings of checks: one line each with its remedy, for `eqa doctor` and `eqa bag check`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Finding(NamedTuple):
    """One line: state is ok | warning | error; found: with the measured figure; remedy: what to do."""

    name: str
    state: str
    found: str
    remedy: str = ""


def failed(findings: Iterable[Finding], strict: bool = False) -> bool:
    """Return whether there is an error among them; strict: or a warning."""
    return any(finding.state == "error" or (strict and finding.state == "warning") for finding in findings)
