"""`python -m benchmarks [NAME ...]`: run the benchmarks and print the table; `--write` keeps it in docs/speed.md."""

from __future__ import annotations

import argparse
import os
import platform
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

NAMES = ("mapping", "decisions", "memory", "relocalise", "histories", "render", "scans", "reconstruction", "localise",
         "recording", "harness", "measure", "graph", "live", "answer", "shutdown", "soak", "demo")
# Long, and no matter of speed: run only when named.
PROOFS = ("scan-to-scene", "recall", "questions", "drivers", "people", "phrasings", "text", "voice", "local")
COLUMNS = ("name", "median_ms", "baseline", "ratio", "note")
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "speed.md"


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and memory.")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"which: {', '.join(NAMES)} (default: all of these); {', '.join(PROOFS)}")
    parser.add_argument("--write", action="store_true", help="keep the table in docs/speed.md")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {*NAMES, *PROOFS}
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}: known are {', '.join((*NAMES, *PROOFS))}")
    rows = []
    for name in arguments.names or NAMES:
        print(f"{name} ...", flush=True)
        rows += import_module(f"benchmarks.bench_{name.replace('-', '_')}").rows()
    _print(rows)
    if arguments.write:
        _write(rows)


def _print(rows: list[dict[str, object]]) -> None:
    table = Table(*COLUMNS)
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in COLUMNS))
    Console(width=160).print(table)


def _write(rows: list[dict[str, object]]) -> None:
    lines = ["# Speed and memory", "",
             f"Written by `make bench ARGS=--write` on {os.cpu_count()} cores ({platform.machine()}, Python "
             f"{platform.python_version()}). Machines differ: read the ratios, each against a baseline of the same "
             "run.", "",
             f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(str(row.get(column, '')) for column in COLUMNS)} |" for row in rows]
    DOCUMENT.write_text("\n".join(lines) + "\n")
    print(f"written: {DOCUMENT}")


if __name__ == "__main__":
    main()
