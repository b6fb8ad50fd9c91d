"""`python -m benchmarks.chaos`: inject the faults that the schedule draws into the graph, and check the invariants."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.chaos.schedule import CASES, DECK, schedule
from eqa_nodes.core.errors import EqaError
from eqa_nodes.recordings.bags.writer import free_name


def main() -> int:
    """Run the drill; 0 when every check held, 1 when one failed, 2 when it could not run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=main.__doc__)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("chaos"),
                        help="for bags, logs and the report; one that exists stays, and its neighbour is taken")
    parser.add_argument("--only", type=int, action="append", help="run this episode alone, of the same schedule")
    parser.add_argument("--kinds", default="", help=f"in turn instead of drawn, comma-separated: {', '.join(DECK)}")
    parser.add_argument("--cases", default="", help=f"ask these questions alone, comma-separated: {', '.join(CASES)}")
    arguments = parser.parse_args()
    try:
        return _run(arguments)
    except EqaError as error:
        print(f"the drill could not run: {error}", file=sys.stderr)
        return 2


def _run(arguments: argparse.Namespace) -> int:
    from benchmarks.chaos import report
    from benchmarks.chaos.drill import Drill, Outcome

    kinds, cases = (tuple(filter(None, text.split(","))) for text in (arguments.kinds, arguments.cases))
    plans = [plan for plan in schedule(arguments.episodes, arguments.seed, kinds, cases)
             if not arguments.only or plan.number in arguments.only]
    out = free_name(arguments.out.absolute())
    out.mkdir(parents=True)
    chosen = "".join(f" --{name} {text!r}" for name, text in (("kinds", arguments.kinds), ("cases", arguments.cases))
                     if text)
    command = f"python -m benchmarks.chaos --episodes {arguments.episodes} --seed {arguments.seed}{chosen}"

    def ended(outcome: Outcome) -> None:
        failed = "; ".join(p.strip().splitlines()[-1] for p in outcome.problems)
        print(f"{len(drill.outcomes)} of {len(plans)}, episode {outcome.plan.number}, "
              f"{', '.join(f.text for f in outcome.plan.faults)}: {outcome.how} {outcome.seconds:.1f} s, next "
              f"{outcome.after}{' FAILED: ' * bool(failed)}{failed}", flush=True)
        report.write(drill, out, command)  # intermediate results, in case of an interruption

    drill = Drill(out, ended)
    drill.run(plans)
    print(report.write(drill, out, command))
    print(f"written: {out / 'report.md'}")
    return 1 if drill.left or any(outcome.problems for outcome in drill.outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
