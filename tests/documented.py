"""The command lines of README.md and docs/: where they stand, and how each is tried.

A line that is neither in RUNS nor in NEEDS makes tests/unit/test_documented.py fail: add it to one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
SHELLS = ("", "bash", "sh")  # languages of blocks that hold command lines

SMALL = "--through process --image 64x48 --max-steps 3"
FEW = f"{SMALL} --questions 1"
EM = "--image 64x48 --questions 1 -k 2 --cache cache"
TRIALS = "--questions 3 --noise none --max-steps 2 --workers 1"
ONE_ARM = f"{TRIALS} --policies random --noisy random"

# What is added to a line so that it is short; options that come last win. They run in a folder that holds BAG, PATH and
# live recordings by that name, FILE (a memory), RUN, runs/a and runs/b (scored runs).
RUNS = {
    'eqa ask "Is the lamp in the bedroom on?" --scene house:7': SMALL,
    'eqa ask "Is the lamp in the bedroom on?"': SMALL,
    'eqa ask "Is there a mug in the kitchen?" --scene house:7 --policy best': SMALL,
    'eqa ask --history BAG "Where is the mug?"': "-k 2 --cache cache",
    'eqa ask --history PATH "Is there a lamp in the study?"': "-k 2 --cache cache",
    "eqa bench run --questions 50 --policy random --through isolated --out runs/a": f"{FEW} --out runs/new",
    "eqa bench run --dataset house --questions 50 --out runs/a": f"{FEW} --out runs/new",
    "eqa bench run --policy fine --questions 50": FEW,
    "eqa bench run --task em": EM,
    "eqa bench run --task em --dataset house --split train --questions 24 --frames recalled -k 8 --out runs/em-house":
        EM,
    "eqa bench run --task em --dataset house-navqa --split train --questions 24 --frames recalled --out runs/navqa": EM,
    "eqa bench run --questions 500 --dry-run --like runs/a": "--questions 2",
    "eqa bench score runs/a": "", "eqa bench score RUN": "", "eqa report runs/a": "",
    "eqa bench compare runs/a runs/b": "",
    "eqa bench compare runs/a runs/b --markdown compare.md --json compare.json": "",
    "eqa bench explore": ONE_ARM,
    "eqa bench tasks": "--questions 1 --max-steps 2",
    "eqa bench tasks --split train --questions 24 --agent random --out runs/tasks": "--questions 1 --max-steps 2",
    "eqa bench tasks --split train --questions 24 --write DIR": "--questions 1",
    "eqa generate express --scene house:3 --count 5": "--count 1",
    "eqa bag check BAG": "",
    "eqa history info PATH": "", "eqa history export PATH --to bag OUT": "", "eqa history video PATH OUT.mp4": "",
    "eqa history record house:7 OUT": "--image 64x48 --kind express",
    "eqa memory info FILE": "", 'eqa memory objects FILE --about "red cups"': "",
    'eqa memory recall FILE "keys yesterday evening near the kitchen" --save DIR': "",
    'eqa memory ask FILE "What changed since yesterday?"': "",
    "eqa doctor --bag BAG": "", "eqa graph": "", "eqa graph --format sros2 > policy.xml": "",
    "eqa graph --format sros2 --namespace /robot1 --remap color:=/front/image_raw depth:=/front/depth > policy.xml": "",
    "eqa graph --format sros2 --world robot > policy.xml": "",
}

# Lines that are parsed only, by what they need; a line fits by its words in any order.
NEEDS = {
    "a robot or a graph that runs": (
        "eqa ask --attach", "eqa console --attach", "eqa doctor --robot", "eqa record", "eqa history live:"),
    "a person: it serves a page until Ctrl-C": ("eqa console", "eqa bench human"),
    "a key": (
        "eqa ask --answerer vlm", "eqa bench run --answerer vlm", "eqa bench run --agent socratic-graph",
        "eqa bench run --agent socratic-captions", "eqa bench run --agent multi-frame",
        "eqa ask --agent socratic-voxel", "eqa replay --agent multi-frame", "eqa bench score --judge llm-match",
        "eqa bench agree --judges", "eqa bench robustness --judge-model", "eqa generate --model",
        "eqa bench tasks --agent model"),
    "data": ("eqa bench run --data DATA", "eqa ask --scenes /data", "eqa history record mesh:hm3d/00800-TEEsavR23oF",
             "eqa generate finish"),
    "a detector's weights": ("eqa ask --detector transformers", "eqa replay --detector transformers",
                             "eqa bench perception"),
    "a model's weights": ("eqa serve",),
    "a graph: tests/system/test_replay.py runs it": ("eqa replay",),
    "a function of the reader: tests/unit/test_agents.py has one": (
        "eqa bench run --agent my_package.my_module:my_em", "eqa bench run --agent my_package.my_module:my_active"),
    "minutes: tests/unit/test_bench_workers.py runs workers": ("eqa bench run --workers",),
    "minutes: a shorter form of it is in RUNS, and tests/unit/test_calibrate.py": (
        "eqa bench explore --out", "eqa bench calibrate --out", "eqa generate --out made", "eqa ask --agent ours"),
    "a memory of days and of several maps: tests/unit/test_cli_memory.py": ("eqa memory forget", "eqa memory align"),
    "a bag with such topics: tests/unit/test_bags_foreign.py": ("eqa bag check --remap",),
    "a run of a person": ("eqa bench score runs/me", "eqa report runs/me"),
    "all parts of this machine in order: tests/unit/test_doctor_machine.py": ("eqa doctor",),
}


class Line(NamedTuple):
    """A command line as it is printed, less its comment. where: page and number of the line."""

    where: str
    text: str


def blocks(page: Path) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield each block of code with its language ("" of an indented one): number and text of its lines."""
    language, block = None, list[tuple[int, str]]()
    for number, line in enumerate([*page.read_text(encoding="utf-8").splitlines(), "end"], 1):
        if line.startswith("```"):
            if language is not None:
                yield language, block
            language, block = (line[3:].strip(), []) if language is None else (None, [])
        elif language is not None:
            block.append((number, line))
        elif line.startswith("    "):
            block.append((number, line[4:]))
        elif block:
            yield "", block
            block = []


def lines() -> list[Line]:
    """Return the command lines of all pages, one for each command; a line that goes on in the next is one."""
    found = []
    for page in PAGES:
        for language, block in blocks(page):
            if language not in SHELLS:
                continue
            text, begin = "", 0
            for number, line in block:
                begin, text = begin or number, f"{text} {line.strip()}".strip()
                if text.endswith("\\"):
                    text = text[:-1].strip()
                    continue
                bare = re.split(r"(?:^|\s+)#\s", text)[0].strip()
                found += [Line(f"{page.name}:{begin}", part.strip()) for part in bare.split("&&") if part.strip()]
                text, begin = "", 0
    return found


def mentions(first: str) -> list[Line]:
    """Return what stands in single backquotes and begins with a word."""
    return [Line(f"{page.name}:{number}", found) for page in PAGES
            for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
            for found in re.findall(rf"`({first} [^`]+)`", line)]
