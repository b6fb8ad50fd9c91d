"""`python -m benchmarks [NAME ...]`: measure speed, memory and answers; `--write` writes docs/results.md."""

from __future__ import annotations

import argparse

from benchmarks.results import SPEED, TRIALS, measure, write


def main() -> None:
    """Run the named measurements and print their tables."""
    every = {**SPEED, **TRIALS}
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed, memory and answers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"speed and memory (default: all of these): "
                        f"{', '.join(SPEED)}; answers, minutes to hours: {', '.join(TRIALS)}; all: everything")
    parser.add_argument("--write", action="store_true", help="replace the sections of these names in docs/results.md")
    arguments = parser.parse_args()
    names = [*every] if arguments.names == ["all"] else arguments.names or [*SPEED]
    if unknown := set(names) - every.keys():
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}: known are {', '.join(every)} and all")
    for name in names:
        print(f"{name}: {every[name].about}, about {every[name].minutes} min ...", flush=True)
        text = measure(name)
        print(text, flush=True)
        if arguments.write:
            write(name, text)


if __name__ == "__main__":
    main()
