"""ROS parameter files: read, checked, and written. /** is the section of what all nodes share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

from eqa_nodes.config.renamed import Parameters, renewed
from eqa_nodes.config.shared import SHARED, graph_settings
from eqa_nodes.core.errors import ConfigError


def read_file(path: Path) -> Parameters:
    """Return {node: {dotted name: value}} of a ROS parameter file, SHARED beside the nodes.

    Names and types are checked, and renamed parameters are accepted. Raises ConfigError naming the file and what is
    wrong in it.
    """
    found: Parameters = {}
    for key, body in _document(path).items():
        if not isinstance(body, dict) or set(body) != {"ros__parameters"}:
            raise ConfigError(f"{path}: {key!r} must hold one key, ros__parameters")
        found.setdefault(_node_of(key), {}).update(_flat(body["ros__parameters"] or {}, ""))
    result = renewed(found, str(path))
    graph_settings(result, f"{path}: ")
    return result


class _Strict(yaml.SafeLoader):
    """YAML as rcl reads it: without aliases. A key that stands twice is an error, which would lose the first value."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()
            raise ComposerError(None, None, f"the alias *{event.anchor} is not read by ROS: write the value out",
                                event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set[str]()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise ConstructorError(None, None, f"the key {name!r} stands here twice: remove one", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def _document(path: Path) -> Mapping[Any, Any]:
    """Return what a file of YAML holds. Raises ConfigError in one line."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is a folder, pipe or device: name a plain file of parameters")
        loader = _Strict(path.read_text(encoding="utf-8"))
        document = loader.get_single_data() or {}
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: save it as UTF-8") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deep: parameters are names and values") from error
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from error
    if not isinstance(document, Mapping):
        raise ConfigError(f"{path} holds a {type(document).__name__}, not nodes with their ros__parameters")
    return document


def _node_of(key: object) -> str:
    name = str(key).strip("/").split("/")[-1]
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
