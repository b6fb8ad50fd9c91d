"""ROS parameter files: read, checked, and written. /** is the section of what all nodes share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from eqa_nodes.config.renamed import Parameters, renewed
from eqa_nodes.config.shared import SHARED, graph_settings
from eqa_nodes.core.errors import ConfigError


def read_file(path: Path) -> Parameters:
    """Return {node: {dotted name: value}} of a ROS parameter file, SHARED beside the nodes.

    Names and types are checked, and renamed parameters are accepted. Raises ConfigError naming the file and what is
    wrong in it.
    """
    try:
        document = yaml.safe_load(path.read_text()) or {}
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from error
    found: Parameters = {}
    for key, body in document.items():
        if not isinstance(body, dict) or set(body) != {"ros__parameters"}:
            raise ConfigError(f"{path}: {key!r} must hold one key, ros__parameters")
        found.setdefault(_node_of(key), {}).update(_flat(body["ros__parameters"] or {}, ""))
    result = renewed(found, str(path))
    graph_settings(result, f"{path}: ")
    return result


def _node_of(key: str) -> str:
    name = key.strip("/").split("/")[-1]
    return SHARED if name == "**" else name


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def write_file(path: Path, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Write {node: {dotted name: value}} as a ROS parameter file."""
    body = {SHARED if node == SHARED else f"/**/{node}": {
                "ros__parameters": {name: _copied(value) for name, value in own.items()}}
            for node, own in values.items() if own}
    path.write_text(yaml.safe_dump(body, sort_keys=True))


def _copied(value: Any) -> Any:
    """YAML writes what comes twice as an alias, which rcl does not read."""
    return list(value) if isinstance(value, (list, tuple)) else value
