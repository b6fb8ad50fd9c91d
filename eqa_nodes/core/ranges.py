"""Ranges of settings, declared in their types: `risk: Share = 0.0`. config/parameters.py checks every value.

Dates are settings too; `date_ns` reads them.
"""

from __future__ import annotations

import math
import typing
from datetime import datetime
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeAlias

from eqa_nodes.core.errors import ConfigError

_YEARS = (2002, 2037)  # stamps of other years are seconds of a simulator, or exceed the 32 bits of ROS


class Range(NamedTuple):
    """Range of allowed values; above: `low` itself is excluded."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False

    def holds(self, value: float) -> bool:
        """Return whether a value lies inside; False for infinite values and NaN."""
        return math.isfinite(value) and self.low <= value <= self.high and not (self.above and value == self.low)

    def __str__(self) -> str:
        if (self.low, self.high) == (-math.inf, math.inf):
            return "a finite number"
        if self.high == math.inf:
            return f"above {self.low:g}" if self.above else f"{self.low:g} or more"
        return f"above {self.low:g}, up to {self.high:g}" if self.above else f"{self.low:g} to {self.high:g}"


Finite: TypeAlias = Annotated[float, Range()]
Seed: TypeAlias = Annotated[int, Range(-1e9, 1e9)]  # range that every model accepts
Share: TypeAlias = Annotated[float, Range(0.0, 1.0)]
Part: TypeAlias = Annotated[float, Range(0.0, 1.0, above=True)]
Positive: TypeAlias = Annotated[float, Range(0.0, above=True)]
NotNegative: TypeAlias = Annotated[float, Range(0.0)]
Degrees: TypeAlias = Annotated[float, Range(0.0, 180.0)]
Count: TypeAlias = Annotated[int, Range(0)]
Counted: TypeAlias = Annotated[int, Range(1)]
Percent: TypeAlias = Annotated[int, Range(1, 100)]


@cache
def ranges_of(config: type) -> dict[str, Range]:
    """Return {field: range} for the fields of a settings dataclass that have a range."""
    hints = typing.get_type_hints(config, include_extras=True)
    return {name: extra for name, hint in hints.items() for extra in getattr(hint, "__metadata__", ())
            if isinstance(extra, Range)}


def check_ranges(config: Any, owner: str) -> None:
    """Raise ConfigError for the first value of a settings object outside its range."""
    for name, allowed in ranges_of(config.__class__).items():
        value = getattr(config, name)
        if not allowed.holds(value):
            raise ConfigError(f"{owner}.{name} is {value}: it must be {allowed}")


def date_ns(text: str, what: str) -> int:
    """Return the stamp of a date and time, ns: ISO 8601, in local time unless it names a zone.

    what: names it in the error. Raises ConfigError for a text that is not one, a local time that clocks skip, and a
    year whose stamps are not calendar times (until 2001) or do not fit into a ROS message (from 2038).
    """
    write = "write it as 2026-11-12T08:30 in local time, or with a zone as 2026-11-12T08:30+01:00"
    try:
        moment = datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in "Zz" else text)
        if not _YEARS[0] <= moment.year <= _YEARS[1]:
            raise ConfigError(f"{what} is {text!r}: choose a year from {_YEARS[0]} to {_YEARS[1]}")
        seconds = moment.timestamp()
    except ValueError as error:
        raise ConfigError(f"{what} is {text!r}, which is no date and time of the calendar: {write}") from error
    if moment.tzinfo is None and datetime.fromtimestamp(seconds) != moment:
        raise ConfigError(f"{what} is {text!r}, which local clocks skip when summer time begins: name another hour, or "
                          "give the zone")
    return round(seconds * 1e6) * 1000
