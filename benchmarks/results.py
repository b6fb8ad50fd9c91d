"""The measurements, and docs/results.md: one section per name, with its command and the measured commit."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from benchmarks.timing import Figure
from eqa_nodes.bench.running.manifest import git_state

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results.md"
_HEAD = """# Results

The command above a figure printed it, at the commit that is named. `python -m benchmarks NAME ... --write` writes this
page: it replaces the sections of these names. Machines differ: of times read the ratios, each against a baseline of the
same run.
"""


class Experiment(NamedTuple):
    """A measurement. minutes: duration on two cores; commands: eqa commands, of which the last prints the figures.

    function: function of this package's module that returns the figures; "" = the commands print them.
    """

    about: str
    minutes: int
    function: str = ""
    commands: tuple[str, ...] = ()


def _run(about: str, minutes: int, name: str, options: str) -> Experiment:
    """Return the experiment of a data set's run with marks of the offline judge."""
    return Experiment(about, minutes, commands=(f"eqa bench run {options} --out runs/{name}",
                                              f"eqa bench score runs/{name}"))


def _drive(about: str, minutes: int, dataset: str, more: str = "") -> Experiment:
    return _run(about, minutes, dataset, f"--dataset {dataset} --questions 24 --policy best --image 320x240 --through "
                                         f"process{more}")


SPEED = {
    "mapping": Experiment("a camera frame in the map", 1, "mapping.figures"),
    "planning": Experiment("frontiers, paths and decisions", 1, "planning.figures"),
    "memory": Experiment("recall, opening and inserting among a million views", 20, "memory.figures"),
    "bags": Experiment("the size of a bag, and reading one", 2, "bags.figures"),
    "rendering": Experiment("a picture of the built-in house", 1, "rendering.figures"),
    "graph": Experiment("a step and an answer through the graph", 3, "graph.figures"),
    "live": Experiment("from a camera's stamp to the map", 2, "live.figures"),
    "start": Experiment("eqa ask up to its first look, and eqa demo", 3, "start.figures"),
    "relocalisation": Experiment("a new map among the known ones", 1, "surfaces.relocalisation"),
    "reconstruction": Experiment("a surface out of depth images", 1, "surfaces.reconstruction"),
    "hour": Experiment("memory of each process over an hour of driving", 5, "graph.hour")}
TRIALS = {
    "people": Experiment("questions as people type them", 1, "people.figures"),
    "decisions": Experiment("what readers decided, asked again with today's prompts", 1, "decisions.figures"),
    "weeks": Experiment("what memory holds of a fortnight of patrols", 3, "weeks.figures"),
    "recall": Experiment("100 searches in other words", 10, "recall.figures"),
    "policies": Experiment("exploration policies on the same questions", 180, commands=(
        "eqa bench explore --split test --questions 200 --out runs/policies",)),
    "parts": Experiment("what each part of the policy best is worth", 40, commands=(
        "eqa bench explore --split test --questions 80 --noise moderate --policies best --ablations --out "
        "runs/parts",)),
    "calibration": Experiment("how often answers of a stated probability are right", 40, commands=(
        "eqa bench calibrate --check label --split test --questions 80 --noise moderate --risk 0.05,0.1,0.2 --out "
        "runs/calibration",)),
    "judge": Experiment("the offline judge beside marks of a person", 1, commands=(
        "eqa bench agree --marks tests/data/judge_pairs.csv --judges offline",)),
    "simulated-model": _drive("a simulated model that judges and answers", 20, "house",
                              " --answerer vlm --backend simulated"),
    "house-multi": _drive("questions over two rooms", 10, "house-multi"),
    "house-measure": _drive("questions of sizes and distances", 10, "house-measure"),
    "house-text": _run("questions of what is written, read by OCR", 20, "house-text",
                       "--dataset house-text --questions 12 --agent label --text ocr --through process"),
    "house-floors": _drive("questions in homes of two storeys", 30, "house-floors", " --max-steps 1500"),
    "house-people": _drive("questions in houses with people", 10, "house-people"),
    "histories-uniform": _run("eight evenly spread views of a recorded tour", 5, "histories-uniform",
                              "--task em --dataset house --split train --questions 24 --frames uniform -k 8"),
    "histories-recalled": _run("the eight views of a recorded tour that memory recalls", 5, "histories-recalled",
                               "--task em --dataset house --split train --questions 24 --frames recalled -k 8"),
    "tasks": Experiment("EmbodiedEval tasks by random choice", 5, commands=(
        "eqa bench tasks --split train --questions 24 --agent random --out runs/tasks", "eqa bench score runs/tasks"))}


def measure(name: str) -> str:
    """Return the text of a section: description, commands, commit, machine, and figures."""
    what = {**SPEED, **TRIALS}[name]
    commit, dirty = git_state()
    commands = what.commands or (f"python -m benchmarks {name}",)
    where = (f"Commit {commit[:10] or 'unknown'}{' with changes' if dirty else ''}, {os.cpu_count()} cores "
             f"({platform.machine()}, Python {platform.python_version()}).")
    shown = "".join(f"    {command}\n" for command in commands)
    return f"{what.about[0].upper()}{what.about[1:]}:\n\n{shown}\n{where}\n\n{_figures(what)}"


def _figures(what: Experiment) -> str:
    if what.function:
        module, _, function = what.function.partition(".")
        return table(getattr(import_module(f"benchmarks.{module}"), function)())
    for command in what.commands:
        done = subprocess.run([sys.executable, "-m", "eqa_nodes.cli", *shlex.split(command)[1:]], cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "140"})
        if done.returncode:
            raise SystemExit(f"{command} ended with code {done.returncode}: {done.stdout[-2000:]}")
    return f"```text\n{_trimmed(done.stdout)}\n```\n"


def _trimmed(printed: str) -> str:
    return "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")


def table(figures: list[Figure]) -> str:
    """Return figures as a Markdown table."""
    rows = [("name", "median, ms", "baseline", "ratio", "note"), ("---",) * 5,
            *(tuple("" if cell is None else str(cell) for cell in figure) for figure in figures)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def write(name: str, text: str, page: Path = PAGE) -> None:
    """Replace the section of a name in the page; sections are in the order of SPEED and TRIALS."""
    old = page.read_text() if page.exists() else ""
    sections = {found[1]: found[2] for found in re.finditer(r"^## (\S+)\n\n(.*?)(?=^## |\Z)", old, re.M | re.S)}
    sections[name] = f"{text.strip()}\n\n"
    known = [one for one in (*SPEED, *TRIALS) if one in sections]
    page.write_text(f"{_HEAD}\n" + "".join(f"## {one}\n\n{sections[one]}" for one in known).rstrip() + "\n")
