"""The drill's report: faults by outcome, failed checks, and the command to repeat it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.chaos.drill import Drill, Outcome
from benchmarks.chaos.world import GRACE_S, LIMITS

_FIRST = ("same", "right", "abstained")


def write(drill: Drill, out: Path, command: str) -> str:
    """Write report.md and report.json (full data of each episode); return the text of report.md."""
    heads, rows = table_of(drill.outcomes)
    lines = ["# Fault drill", "", f"`{command}`", "", _line(heads), f"|{'---|' * len(heads)}",
             *map(_line, rows), "", *(f"- {name}: {value}" for name, value in facts(drill).items()), "",
             *_failures(drill, command)]
    text = "\n".join(lines) + "\n"
    (out / "report.md").write_text(text)
    (out / "report.json").write_text(json.dumps({
        "command": command, **facts(drill), "left": drill.left,
        "outcomes": [asdict(outcome) for outcome in drill.outcomes]}, indent=1) + "\n")
    return text


def table_of(outcomes: Sequence[Outcome]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows: one row per kind of fault (or pair), columns for the outcomes."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        counts[" + ".join(fault.kind for fault in outcome.plan.faults)][outcome.how] += 1
    ends = sorted({how for row in counts.values() for how in row}, key=lambda how: (how not in _FIRST, how))
    total = sum(counts.values(), Counter[str]())
    return ["fault", *ends, "all"], [[kind, *(str(row[how] or "") for how in ends), str(row.total())]
                                     for kind, row in (*sorted(counts.items()), ("all", total))]


def facts(drill: Drill) -> dict[str, object]:
    """Return the figures of a drill."""
    found = drill.outcomes
    return {"episodes": len(found), "graphs": drill.graphs, "restarts": sum(o.restarts for o in found),
            "longest_s": round(max((o.seconds for o in found), default=0.0), 1),
            "limit_s": LIMITS.seconds, "grace_s": GRACE_S,
            "silent_wrong": sum(o.how == "wrong" for o in found),
            "lost": sum(p.startswith("lost") for o in found for p in o.problems),
            "left_behind": len(drill.left), "next_question": dict(Counter(o.after.split(":")[0] for o in found)),
            "failed": sum(bool(o.problems) for o in found)}


def _failures(drill: Drill, command: str) -> list[str]:
    lines = [f"- {one}" for one in drill.left]
    lines += [f"- episode {o.plan.number} (seed {o.plan.seed}), {', '.join(fault.text for fault in o.plan.faults)}: "
              f"{problem.strip()}; repeat it: `{command} --only {o.plan.number}`"
              for o in drill.outcomes for problem in o.problems]
    return ["## Failed", "", *lines] if lines else ["Nothing failed."]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
