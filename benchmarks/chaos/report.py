"""The drill's report: faults by outcome, what failed, and how to repeat it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.chaos.drill import Drill, Outcome
from benchmarks.chaos.fleet import Drilled
from benchmarks.chaos.schedule import Plan
from benchmarks.chaos.world import GRACE_S, LIMITS

_FIRST = ("same", "right", "abstained")


def table_of(outcomes: Sequence[Outcome]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows: a kind of fault (or a pair) a row, how questions ended in columns."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        counts[kinds(outcome.plan)][outcome.how] += 1
    ends = sorted({how for row in counts.values() for how in row}, key=lambda how: (how not in _FIRST, how))
    rows = [[kind, *(str(row[how] or "") for how in ends), str(row.total())] for kind, row in sorted(counts.items())]
    total = sum(counts.values(), Counter[str]())
    return ["fault", *ends, "all"], [*rows, ["all", *(str(total[how]) for how in ends), str(total.total())]]


def kinds(plan: Plan) -> str:
    """Return the faults of an episode by kind."""
    return " + ".join(fault.kind for fault in plan.faults)


def facts(drill: Drill) -> dict[str, object]:
    """Return the figures of a drill."""
    found = drill.outcomes
    return {"episodes": len(found), "graphs": drill.graphs, "restarts": sum(o.restarts for o in found),
            "longest_s": round(max((o.seconds for o in found), default=0.0), 1),
            "limit_s": LIMITS.seconds, "grace_s": GRACE_S,
            "silent_wrong": sum(o.how == "wrong" for o in found),
            "lost": sum(p.startswith("lost") for o in found for p in o.problems),
            "left_behind": len(drill.left), "next_question": Counter(o.after.split(":")[0] for o in found),
            "failed": sum(bool(o.problems) for o in found)}


def operation(drills: Sequence[Drilled]) -> list[str]:
    """Return the lines of the drills of operation: figures, and what did not hold."""
    lines = [f"- {d.name} ({d.seconds:.0f} s): {'; '.join(d.notes) or 'held'}" for d in drills]
    lines += [f"- {d.name} FAILED: {problem.strip()}; repeat it: `python -m benchmarks.chaos --episodes 0 --drills "
              f"{d.name}`" for d in drills for problem in d.problems]
    return lines


def write(drill: Drill, out: Path, command: str, where: str, drills: Sequence[Drilled] = ()) -> None:
    """Write report.md and report.json."""
    heads, rows = table_of(drill.outcomes)
    lines = ["# Fault drill", "", f"`{command}`; {where}.", "", _line(heads), f"|{'---|' * len(heads)}",
             *map(_line, rows), "", *(f"- {name}: {_plain(value)}" for name, value in facts(drill).items()), ""]
    lines += _failures(drill.outcomes, command, drill.left)
    lines += ["## Operation", "", *operation(drills), ""]
    lines += ["## Episodes", "", _line(["n", "graph", "question", "faults", "end", "s", "restarts", "next", "notes"]),
              "|---|---|---|---|---|---|---|---|---|", *(_line(_row(o)) for o in drill.outcomes)]
    (out / "report.md").write_text("\n".join(lines) + "\n")
    (out / "report.json").write_text(json.dumps({
        "command": command, "where": where, **facts(drill), "left": drill.left, "drills": [asdict(d) for d in drills],
        "outcomes": [{**asdict(o), "plan": o.plan.as_json()} for o in drill.outcomes]}, indent=1) + "\n")


def show(drill: Drill, console: Console, command: str) -> None:
    """Print the table, the figures and what failed."""
    heads, rows = table_of(drill.outcomes)
    table = Table(*heads)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print(", ".join(f"{name} {_plain(value)}" for name, value in facts(drill).items()), highlight=False)
    for line in _failures(drill.outcomes, command, drill.left):
        console.print(line, markup=False, highlight=False)


def _failures(outcomes: Sequence[Outcome], command: str, left: Sequence[str]) -> list[str]:
    lines = [f"- {one}" for one in left]
    for o in outcomes:
        for problem in o.problems:
            lines.append(f"- episode {o.plan.number} (seed {o.plan.seed}), {_faults(o.plan)}: {problem.strip()}; "
                         f"repeat it: `{command} --only {o.plan.number}`")
    return ["## Failed", "", *lines, ""] if lines else ["Nothing failed.", ""]


def _row(o: Outcome) -> list[str]:
    end = f"{o.how} {o.text!r}" if o.text else o.how
    notes = "; ".join(filter(None, (o.message, *o.notes, *(p.splitlines()[-1] for p in o.problems))))
    return [str(o.plan.number), o.plan.world, o.plan.case, _faults(o.plan), end, f"{o.seconds:.1f}", str(o.restarts),
            o.after, notes]


def _faults(plan: Plan) -> str:
    return ", ".join(fault.text for fault in plan.faults)


def _plain(value: object) -> str:
    return ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.split()).replace('|', '/') for cell in cells)} |"
