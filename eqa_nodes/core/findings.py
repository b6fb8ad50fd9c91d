"""Findings of the checks of `eqa doctor`: one line each, with its remedy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Finding(NamedTuple):
    """One line. state: ok | warning | error; found: the observation with the measured value; remedy: what to do."""

    name: str
    state: str
    found: str
    remedy: str = ""


def failed(findings: Iterable[Finding], strict: bool = False) -> bool:
    """Return whether any finding is an error or, if strict, a warning."""
    return any(finding.state == "error" or (strict and finding.state == "warning") for finding in findings)
