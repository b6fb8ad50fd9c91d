"""Drills of what operators of many robots rely on: each breaks one thing and reports what did not hold."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from eqa_nodes.core.errors import ConfigError, unknown

# Name of a drill -> its module, whose function `drill` carries it out.
DRILLS = ("memory", "endpoint", "clock", "services")


@dataclass
class Drilled:
    """What one drill did: notes are figures, problems are checks that failed."""

    name: str
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def check(self, held: bool, problem: str) -> None:
        """Note a problem where a check does not hold."""
        if not held:
            self.problems.append(problem)

    def refused(self, error: type[Exception], says: str, act: Callable[[], object]) -> None:
        """Note a problem where an act is not refused with this error and these words."""
        try:
            act()
        except error as refusal:
            self.check(says in str(refusal), f"the refusal {str(refusal)!r} does not say {says!r}")
        else:
            self.problems.append(f"what must be refused ({says!r}) was done")


def run(names: Sequence[str], folder: Path, seed: int, ended: Callable[[Drilled], None]) -> list[Drilled]:
    """Carry out drills, each in a folder of its own. Raises ConfigError for an unknown one."""
    for name in names:
        if name not in DRILLS:
            raise ConfigError(unknown("drill", name, DRILLS))
    done = []
    for name in names:
        drilled, began = Drilled(name), time.monotonic()
        own = folder / f"drill-{name}"
        own.mkdir(parents=True)
        try:
            import_module(f"{__name__}.{name}").drill(drilled, own, seed)
        except Exception:  # what breaks a drill is a finding too
            drilled.problems.append(f"the drill broke off: {traceback.format_exc()}")
        drilled.seconds = time.monotonic() - began
        done.append(drilled)
        ended(drilled)
    return done
