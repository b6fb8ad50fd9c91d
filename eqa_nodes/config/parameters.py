"""Settings dataclasses as named parameters: names are the paths in the tree.

Default, description and the time at which a change takes effect (core/settings.py), type and range (core/ranges.py)
come from the field. rclpy accepts a misspelt parameter silently; here it is an error that lists the known names.
Checking settings needs no ROS.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import Range, check_ranges, ranges_of
from eqa_nodes.core.settings import description_of, is_constant, live_of, reads

ROS_OWN = ("use_sim_time", "start_type_description_service")
Config = TypeVar("Config")


class Parameter(NamedTuple):
    """One setting. type: in words; range: None = any value; live: when a change takes effect.

    constant: it is not declared as a ROS parameter.
    """

    name: str
    default: Any
    type: str
    range: Range | None
    description: str
    live: str = ""
    constant: bool = False


def parameters_of(config: type) -> tuple[Parameter, ...]:
    """Return the parameters of a config dataclass, depth first; from shared groups only those that it reads."""
    return tuple(setting for setting in settings_of(config) if not setting.constant)


def settings_of(config: type) -> tuple[Parameter, ...]:
    """Return the parameters and the constants of a config dataclass, as `parameters_of` does."""
    return tuple(_settings(config, "", "", False))


def _settings(config: type, prefix: str, live: str, constant: bool) -> Iterator[Parameter]:
    base, hints = config(), _hints_of(config)
    for field in dataclasses.fields(config):
        default, name = getattr(base, field.name), f"{prefix}{field.name}"
        if dataclasses.is_dataclass(default):
            below = _settings(type(default), f"{name}.", live_of(field, live), constant or is_constant(field))
            yield from (p for p in below if reads(field, p.name[len(name) + 1:]))
        else:
            yield Parameter(name, default, _words(hints[field.name]), ranges_of(config).get(field.name),
                            description_of(field), live_of(field, live), constant or is_constant(field))


@cache
def _hints_of(config: Any) -> dict[str, Any]:
    return typing.get_type_hints(config)


def _words(hint: Any) -> str:
    """Return a type in words: tuples are lists in ROS."""
    return f"list of {typing.get_args(hint)[0].__name__}" if typing.get_origin(hint) is tuple else str(hint.__name__)


def leaves(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, value) for each setting of a settings object, depth first."""
    for parameter in settings_of(type(value)):
        leaf = attrgetter(parameter.name)(value)
        yield f"{prefix}{parameter.name}", list(leaf) if isinstance(leaf, tuple) else leaf


def build(config: type[Config], values: Mapping[str, Any], owner: str = "") -> Config:
    """Build the config from its defaults with `values` ({dotted name: value}) on top.

    Raises ConfigError for an unknown name (lists the known ones) and for a value of the wrong type or out of range.
    """
    depends: Callable[[Mapping[str, Any]], type[Config]] | None = getattr(config, "for_values", None)
    config = config if depends is None else depends(values)  # one setting can add others
    known = {setting.name for setting in settings_of(config)}
    for name in values:
        if name not in known and name not in ROS_OWN:
            listed = {parameter.name for parameter in parameters_of(config)}
            raise ConfigError(f"{owner}: " + unknown("parameter", name, listed))
    return typing.cast(Config, _build(config, values, "", owner))


def _build(config: Any, values: Mapping[str, Any], prefix: str, owner: str) -> Any:
    made: dict[str, Any] = {}
    base = config()
    hints = _hints_of(config)
    for field in dataclasses.fields(config):
        name, default = f"{prefix}{field.name}", getattr(base, field.name)
        if dataclasses.is_dataclass(default):
            made[field.name] = _build(type(default), values, f"{name}.", owner)
        elif name in values:
            made[field.name] = _coerced(values[name], default, hints[field.name], f"{owner}: parameter {name}")
    built = dataclasses.replace(base, **made)
    check_ranges(built, f"{owner}: {prefix}".strip(".: "))
    return built


def _coerced(value: Any, default: Any, hint: Any, what: str) -> Any:
    """Convert an integer to a float, and a list to a tuple; anything else must have the type. Raises ConfigError."""
    if isinstance(default, tuple) and isinstance(value, (list, tuple)):
        return tuple(value)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        raise ConfigError(f"{what} is {value!r}: expected {getattr(hint, '__name__', hint)}, such as {default!r}")
    return value
