"""Settings dataclasses as named parameters: names are the paths of the tree, all else of one comes from its field.

Its default, its type, its range (core/ranges.py) and the comment beside it, which describes it (descriptions.py).

rclpy accepts a misspelt parameter silently; here it is an error that lists the known names. No ROS is needed to check a
file.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml

from eqa_nodes.config.descriptions import descriptions
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import Range, check_ranges, ranges_of

ROS_OWN = ("use_sim_time", "start_type_description_service")
Config = TypeVar("Config")


class Parameter(NamedTuple):
    """One setting: dotted name, default, type in words, range (None = any value), and what it is."""

    name: str
    default: Any
    type: str
    range: Range | None
    description: str


def parameters_of(config: type, prefix: str = "") -> Iterator[Parameter]:
    """Yield the parameters of a config dataclass, depth first."""
    base, hints = config(), typing.get_type_hints(config)
    for field in dataclasses.fields(config):
        default = getattr(base, field.name)
        if dataclasses.is_dataclass(default):
            yield from parameters_of(type(default), f"{prefix}{field.name}.")
        else:
            yield Parameter(f"{prefix}{field.name}", default, _words(hints[field.name]),
                            ranges_of(config).get(field.name), descriptions(config).get(field.name, ""))


def _words(hint: Any) -> str:
    """Return a type in words: tuples are lists on the wire."""
    return f"list of {typing.get_args(hint)[0].__name__}" if typing.get_origin(hint) is tuple else str(hint.__name__)


def defaults_of(config: type) -> dict[str, Any]:
    """Return {dotted name: default} of a config dataclass, depth first."""
    return dict(leaves(config(), ""))


def leaves(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, value) of a settings object, depth first."""
    for field in dataclasses.fields(value):
        child = getattr(value, field.name)
        if dataclasses.is_dataclass(child):
            yield from leaves(child, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", list(child) if isinstance(child, tuple) else child


def build(config: type[Config], values: Mapping[str, Any], owner: str = "") -> Config:
    """Return the config with `values` ({dotted name: value}) over its defaults.

    Raises ConfigError for an unknown name (lists the known) and for a value of the wrong type or outside its range.
    """
    depends: Callable[[Mapping[str, Any]], type[Config]] | None = getattr(config, "for_values", None)
    config = config if depends is None else depends(values)  # one setting can bring others
    known = defaults_of(config)
    for name in values:
        if name not in known and name not in ROS_OWN:
            raise ConfigError(f"{owner}: " + unknown("parameter", name, known))
    return _build(config, values, "", owner)


def _build(config: type[Any], values: Mapping[str, Any], prefix: str, owner: str) -> Any:
    made: dict[str, Any] = {}
    base = config()
    hints = typing.get_type_hints(config)
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
    """An integer will do for a float, a list for a tuple; nothing else is converted."""
    if isinstance(default, tuple) and isinstance(value, (list, tuple)):
        return tuple(value)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        raise ConfigError(f"{what} is {value!r}: expected {getattr(hint, '__name__', hint)}, such as {default!r}")
    return value


def read_file(path: Path, configs: Mapping[str, type]) -> dict[str, dict[str, Any]]:
    """Return {node: {dotted name: value}} of a ROS parameter file; every node and name is checked against `configs`.

    Raises ConfigError naming the file and what is wrong in it.
    """
    try:
        document = yaml.safe_load(path.read_text()) or {}
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from error
    result: dict[str, dict[str, Any]] = {}
    for key, body in document.items():
        if not isinstance(body, dict) or set(body) != {"ros__parameters"}:
            raise ConfigError(f"{path}: {key!r} must hold one key, ros__parameters")
        name = key.strip("/").split("/")[-1]
        values = dict(_flat(body["ros__parameters"] or {}, ""))
        if name == "**":
            for own in configs:
                result.setdefault(own, {}).update(values)
            continue
        if name not in configs:
            raise ConfigError(f"{path}: " + unknown("node", name, configs))
        result.setdefault(name, {}).update(values)
    for name, values in result.items():
        build(configs[name], {k: v for k, v in values.items() if k not in ROS_OWN}, f"{path}: {name}")
    return result


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def write_file(path: Path, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Write {node: {dotted name: value}} as a ROS parameter file."""
    body = {f"/**/{node}": {"ros__parameters": {name: _copied(value) for name, value in own.items()}}
            for node, own in values.items() if own}
    path.write_text(yaml.safe_dump(body, sort_keys=True))


def _copied(value: Any) -> Any:
    """YAML writes what comes twice as an alias, which rcl does not read."""
    return list(value) if isinstance(value, (list, tuple)) else value
