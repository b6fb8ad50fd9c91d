"""`eqa demo`, `eqa bench score`, `eqa bench compare`, `eqa report`; `eqa bench run` is in bench_run.py."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from rich.console import Console, RenderableType

from eqa_nodes.bench.judges import Judge, open_judge
from eqa_nodes.bench.metrics.compare import compare
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.report.compare_tables import ComparisonTable, markdown
from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.report.tables import rich_table
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.samples import ACTIVE
from eqa_nodes.cli.bench_run import ask_questions
from eqa_nodes.cli.chain import run_folder
from eqa_nodes.cli.judge import judging
from eqa_nodes.config.graph import settings
from eqa_nodes.core.storage.codec import write_bytes, write_json
from sim_bridge.robots import DEFAULT, ROBOTS
from sim_bridge.truth import Truth

TABLE_WIDTH = 150  # columns of a table that goes to a file


def demo(arguments: argparse.Namespace) -> int:
    """Run a few questions of the built-in houses, score them and write the report."""
    out = run_folder(arguments)
    arguments.dataset, arguments.data, arguments.split, arguments.retry_failed = "house", None, "test", False
    arguments.task, arguments.dry_run, arguments.simulator = ACTIVE, False, "habitat"
    arguments.workers, arguments.engine = 1, "processes"
    code = ask_questions(arguments, out)
    _score(out, open_judge())
    _report(out)
    return code


def score(arguments: argparse.Namespace) -> int:
    """Pass 2: mark and print the table."""
    with judging(arguments) as judge:
        _score(arguments.out, judge)
    return 0


def compare_runs(arguments: argparse.Namespace) -> int:
    """Print what differs between two scored runs; write it where that was asked for."""
    found = compare(arguments.a, arguments.b, metrics=arguments.metrics, any_judge=arguments.any_judge)
    _print(ComparisonTable(found))
    if arguments.markdown:
        write_bytes(arguments.markdown, markdown(found).encode())
    if arguments.json:
        write_json(arguments.json, found)
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Write report.html."""
    _report(arguments.out)
    return 0


def _score(out: Path, judge: Judge) -> None:
    nodes = read_manifest(out).config.get("nodes")
    robot = settings("bridge", nodes).robot if isinstance(nodes, dict) else ROBOTS[DEFAULT]
    with closing(Truth(robot)) as truth:
        scores = score_run(out, judge, truth)
    _print(rich_table(scores, read_manifest(out)))


def _print(table: RenderableType) -> None:
    console = Console()
    if not console.is_terminal:
        console.width = TABLE_WIDTH
    console.print(table)


def _report(out: Path) -> None:
    Console().print(f"report: {write_report(out)}", soft_wrap=True)
