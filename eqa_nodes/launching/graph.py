"""All nodes in one process, for composed:=true: the program `graph` of the launch files, which ends upon SIGINT."""

from __future__ import annotations

import argparse
import sys

from eqa_nodes.ros.process import node_class, run, until_signal


def main() -> int:
    """Run the nodes that --nodes names; what follows --ros-args is for all of them. Returns 2 for a wrong setting."""
    parser = argparse.ArgumentParser(prog="graph", description=main.__doc__)
    parser.add_argument("--nodes", required=True, help="comma-separated names")
    arguments, _ = parser.parse_known_args()
    return run([node_class(name) for name in arguments.nodes.split(",")], until_signal())


if __name__ == "__main__":
    sys.exit(main())
