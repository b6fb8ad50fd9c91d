"""Tables of scored runs on the terminal."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from rich.console import Console, RenderableType

from eqa_nodes.bench.judges.base import Judge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.metrics.values import LEAVE_OUT
from eqa_nodes.bench.report.tables import rich_table
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.config.graph import settings
from eqa_nodes.config.nodes import BridgeSettings
from sim_bridge.registry import Truth
from sim_bridge.robots import DEFAULT, ROBOTS

WIDTH = 150  # columns of a table that goes to a file


def wide_console() -> Console:
    """Return a console that gives tables room where they go to a file."""
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    return console


def print_table(table: RenderableType) -> None:
    """Print a table."""
    wide_console().print(table)


def print_scores(out: Path, judge: Judge, failed: str = LEAVE_OUT, blind: Judge | None = None,
                 confidence: Judge | None = None) -> None:
    """Score a run and print its table. failed, blind, confidence: as in score_run."""
    nodes = read_manifest(out).config.get("nodes")
    robot = settings(BridgeSettings, nodes).robot if isinstance(nodes, dict) else ROBOTS[DEFAULT]
    with closing(Truth(robot)) as truth:
        scores = score_run(out, judge, truth, failed=failed, blind=blind, confidence=confidence)
    print_table(rich_table(scores, read_manifest(out)))
