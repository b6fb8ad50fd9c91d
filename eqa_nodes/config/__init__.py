"""The configuration: settings of every node, parameter files, and what may change while a node runs.

nodes.py has the settings of each node; a field says its default, its description and when a change counts. What nodes
share stands once, in the section SHARED. `merged` puts files and options together. Names are imported when they are
used, so that the command line starts without them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eqa_nodes.config.files import read_file, write_file
    from eqa_nodes.config.graph import GraphParameters, merged, of_robot, of_world
    from eqa_nodes.config.parameters import Parameter, parameters_of
    from eqa_nodes.config.renamed import Parameters
    from eqa_nodes.config.shared import SHARED, settings
    from eqa_nodes.config.whole import SETTINGS

__all__ = ["SETTINGS", "SHARED", "GraphParameters", "Parameter", "Parameters", "merged", "of_robot", "of_world",
           "parameters_of", "read_file", "settings", "write_file"]
_MODULES = {"read_file": "files", "write_file": "files", "GraphParameters": "graph", "merged": "graph",
            "of_robot": "graph", "of_world": "graph", "SETTINGS": "whole", "Parameter": "parameters",
            "parameters_of": "parameters", "Parameters": "renamed", "SHARED": "shared", "settings": "shared"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
