"""`eqa graph`: the graph as a table or a policy of SROS 2; all parameters; a check of parameter files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqa_nodes.cli.options import option
from eqa_nodes.recordings.options import renamed
from eqa_nodes.wire.graph import ACTIONS, NODES, SERVICES, TOPICS, TRANSFORMS, NodeSpec

if TYPE_CHECKING:
    from eqa_nodes.config.parameters import Parameter


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Shows the graph, or checks a parameter file."""

    format: str = option("table", "parameters: all of them, as a page; sros2: least-privilege policies for "
                         "ros2 security (docs/security.md)", choices=("table", "sros2", "parameters"))
    namespace: str = option("/", "for sros2: namespace of the nodes", metavar="NS")
    remap: tuple[str, ...] = option((), "for sros2: names that differ on the robot, such as color:=/front/image_raw "
                                    "(default: none)", metavar="KEY:=NAME")
    world: str = option("", "for sros2: only the nodes that run there, with the access they need (default: all)",
                        choices=("sim", "robot", "replay"))
    check: Path | None = option(None, "ROS parameter file to check against the graph (default: none)", metavar="FILE")

    def run(self) -> int:
        """Print the graph, or check a parameter file. Raises ConfigError for an invalid file."""
        if self.check:
            from eqa_nodes.config.graph import merged

            values = merged(self.check)
            print(f"{self.check}: {sum(map(len, values.values()))} parameters in {len(values)} sections, all known")
            return 0
        if self.format == "sros2":
            from eqa_nodes.ros.sros2 import policy

            print(policy(self.namespace, renamed(self.remap), self.world), end="")
            return 0
        if self.format == "parameters":
            print(parameters_page())
        else:
            _table()
        return 0


def subscribed(spec: NodeSpec) -> tuple[str, ...]:
    """Return all topics that a node subscribes to, the parts of observations included."""
    return spec.subscribes + spec.frames + (TRANSFORMS if spec.frames else ())


def _table() -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    nodes = Table("node", "publishes", "subscribes", "serves", "calls", title="nodes", show_lines=True)
    for name, spec in NODES.items():
        columns = (spec.publishes, subscribed(spec), spec.serves, spec.calls)
        nodes.add_row(name, *(", ".join(names) for names in columns))
    wires = Table("key", "name", "type", "quality of service", title="topics, services and actions")
    for key, topic in TOPICS.items():
        wires.add_row(key, topic.name, topic.type, topic.qos)
    for key, port in {**SERVICES, **ACTIONS}.items():
        wires.add_row(key, port.name, port.type, "")
    console.print(nodes)
    console.print(wires)


_PAGE = """# Parameters

This page is the output of `eqa graph --format parameters`, which reads the settings in the code. `ros2 param describe`
shows the same for a running node. Set them in a file of ROS parameters (`eqa graph --check FILE` checks one), or while
the node runs:

    ros2 param set /agent agent.enough 0.8

- *live* says when a change takes effect. A parameter without it is read-only: set it when the node starts, because the
  node builds something from it, or several nodes must agree on it (privacy, observers, driver, the robot's body).
- A change is checked like a file, together with all other values of the node. A rejected change names the reason. Set
  values that only fit together with one call of the service `set_parameters_atomically`.
- A running question, drive, episode or bag is not affected. Changes are in the node's log and on `/parameter_events`.
- `ros2 param set` needs 1.0, not 1, where a parameter is a float. A file may hold either.
- Settings that several nodes share are in the section `/**` of a file. Each node declares those that it uses.
- Constants of the settings classes (`eqa_nodes/config/nodes.py` names them), such as the numbers of a paper, are not
  parameters. A file may set them by their names, and so may Python.
"""


def parameters_page() -> str:
    """Return the page of all parameters, which `eqa graph --format parameters` prints and the site shows."""
    from eqa_nodes.config.graph import SHARED, shared_names
    from eqa_nodes.config.nodes import SETTINGS
    from eqa_nodes.config.parameters import parameters_of

    tables = {name: list(parameters_of(config)) for name, config in SETTINGS.items()}
    users: dict[str, list[str]] = {}
    for node, parameters in tables.items():
        for parameter in parameters:
            users.setdefault(parameter.name, []).append(node)
    shared = {p.name: p for parameters in tables.values() for p in parameters if p.name in shared_names()}
    lines = [_PAGE, f"## {SHARED}: shared by nodes\n",
             *_rows(sorted(shared.values(), key=lambda p: p.name.split(".")[:-1]), users)]
    for node, parameters in tables.items():
        lines += [f"\n## {node}\n", *_rows([p for p in parameters if p.name not in shared])]
    return "\n".join(lines)


def _rows(parameters: Sequence[Parameter], users: Mapping[str, Sequence[str]] | None = None) -> Iterator[str]:
    """Yield the lines of a table. users: the nodes that declare a parameter, by its name; None = without that column.
    """
    columns = ["parameter", "default", "type", "live", *(["nodes"] if users else []), ""]
    yield f"| {' | '.join(columns)} |".replace("  ", " ")
    yield "|" + "---|" * len(columns)
    for p in parameters:
        kind = p.type + (f", {p.range}" if p.range else "")
        who = f" {_nodes(users[p.name])} |" if users else ""
        yield f"| `{p.name}` | {_default(p.default)} | {kind} | {p.live} |{who} {_escaped(p.description)} |"


def _nodes(names: Sequence[str]) -> str:
    return "all" if len(names) == len(NODES) else ", ".join(names)


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value[:3])) + (f" and {len(value) - 3} more" if len(value) > 3 else "") or "none"
    return f"`{json.dumps(value)}`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
