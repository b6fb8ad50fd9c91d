"""`eqa graph`: the graph as a table, DOT for Graphviz, JSON or a policy of SROS 2; a check of parameter files."""

from __future__ import annotations

import argparse
import json

from rich.console import Console
from rich.table import Table

from eqa_nodes.commands.bag import remapping
from eqa_nodes.graph import ACTIONS, NODES, SERVICES, TOPICS, TRANSFORMS, NodeSpec
from eqa_nodes.settings import merged
from eqa_nodes.sros2 import policy


def graph(arguments: argparse.Namespace) -> int:
    """Print the graph, or check a parameter file; a wrong file is a named error."""
    if arguments.check:
        values = merged(arguments.check)
        print(f"{arguments.check}: {sum(map(len, values.values()))} parameters of {len(values)} nodes, all known")
        return 0
    if arguments.format == "sros2":
        print(policy(arguments.namespace, remapping(arguments.remap)), end="")
        return 0
    {"table": _table, "dot": _dot, "json": _json}[arguments.format]()
    return 0


def heard(spec: NodeSpec) -> tuple[str, ...]:
    """Return all topics that a node subscribes to, the parts of observations included."""
    return spec.subscribes + spec.frames + (TRANSFORMS if spec.frames else ())


def _table() -> None:
    console = Console()
    nodes = Table("node", "publishes", "hears", "serves", "calls", title="nodes", show_lines=True)
    for name, spec in NODES.items():
        nodes.add_row(name, *(", ".join(names) for names in (spec.publishes, heard(spec), spec.serves, spec.calls)))
    wires = Table("key", "name", "type", "quality of service", title="topics, services and actions")
    for key, topic in TOPICS.items():
        wires.add_row(key, topic.name, topic.type, topic.qos)
    for key, port in {**SERVICES, **ACTIONS}.items():
        wires.add_row(key, port.name, port.type, "")
    console.print(nodes)
    console.print(wires)


def _dot() -> None:
    print("digraph eqa {\n  rankdir=LR; node [shape=box, style=rounded];")
    for source, spec in NODES.items():
        for target, other in NODES.items():
            shared = [key for key in spec.publishes if key in heard(other)]
            if shared:
                print(f'  {source} -> {target} [label="{", ".join(shared)}"];')
            calls = [key for key in spec.calls if key in other.serves]
            if calls:
                print(f'  {source} -> {target} [style=dashed, label="{", ".join(calls)}"];')
    print("}")


def _json() -> None:
    print(json.dumps({"nodes": {name: spec._asdict() for name, spec in NODES.items()},
                      "topics": {key: topic._asdict() for key, topic in TOPICS.items()},
                      "services": {key: port._asdict() for key, port in SERVICES.items()},
                      "actions": {key: port._asdict() for key, port in ACTIONS.items()}}, indent=2))
