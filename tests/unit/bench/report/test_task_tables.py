"""Tables and report of tasks: by family, by required steps, and EmbodiedEval's own table."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from eqa_nodes.bench.embodied.runner import TaskRunner
from eqa_nodes.bench.embodied.tasks import sample_of
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import read_scores, score_run
from eqa_nodes.bench.report.leaderboard import write_leaderboard
from eqa_nodes.bench.report.page import tiles_of, write_report
from eqa_nodes.bench.report.paper_tables import paper_tables, read_runs
from eqa_nodes.bench.report.tables import footnotes, score_table
from eqa_nodes.bench.report.task_tables import HEADINGS, task_cells
from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.types.samples import TASKS
from tests.fixtures.tasks import KINDS, Plain, Wild, any_task


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tasks")
    samples = [sample_of(any_task(index)) for index in range(30)]
    run_benchmark(samples, TaskRunner(Plain(), Wild(), strict=True), out, dataset="embodied-eval", blind=False,
                  task=TASKS)
    score_run(out, OfflineJudge())
    return out


def test_each_family_has_a_row_below_that_of_all(run: Path) -> None:
    cells = task_cells(read_scores(run))
    assert [row[:2] for row in cells] == [["all", "30"], *([kind, "6"] for kind in sorted(KINDS))]
    assert all(len(row) == len(HEADINGS) for row in cells)
    console = Console(width=150, record=True, file=io.StringIO())
    console.print(score_table(read_scores(run), read_manifest(run), 150))
    printed = console.export_text()
    assert "required steps" in printed and "C %" not in printed and "blind" not in printed
    assert footnotes(read_scores(run))[0].startswith("Succ.: all predicates true")


def test_the_report_shows_what_tasks_have(run: Path) -> None:
    scores = read_scores(run)
    assert [tile.label for tile in tiles_of(scores)][:3] == [
        "Succ., all predicates true %", "GcS, share of predicates %", "SPL, by steps %"]
    text = write_report(run).read_text()
    assert "Succ., all predicates true %" in text and "C, correctness %" not in text
    assert 'data-status="unscored"' not in text  # what is done or not needs no mark
    assert 'data-mark="done"' in text and 'data-mark="undone"' in text
    pages = "".join(page.read_text() for page in (run / "report").glob("*.html"))
    assert ">unscored<" not in pages and "take it as a guess" not in pages and "% sure" not in pages
    assert "predicates are true." in pages and "<dt>confidence</dt>" not in pages
    first = load_trace(next((run / "episodes").glob("*/trace.zip")))
    assert len(first.moments) == len(first.decisions) + 1 and first.view == first.moments[-1].view


def test_the_published_table_has_a_row_for_the_run(run: Path) -> None:
    (table,) = paper_tables(read_runs([f"mine={run}"]))
    assert (table.number, len(table.headings)) == ("2", 13)
    own = table.rows[-1]
    assert own.name == "mine" and own.own and all(cell.n in (6, 30) for cell in own.cells)
    gpt = next(row for row in table.rows if row.name == "GPT-4o")
    assert [cell.text for cell in gpt.cells][:4] == ["35.79", "32.69", "31.03", "42.53"]


def test_the_leaderboard_ranks_tasks_by_success(run: Path, tmp_path: Path) -> None:
    (board,) = write_leaderboard([run], tmp_path / "board.html")
    assert [measure.heading for measure in board.measures][:4] == ["Succ. %", "GcS %", "SPL %", "steps"]
    assert all(cell.mean != "–" for cell in board.rows[0].cells)
    assert "Succ. %" in (tmp_path / "board.html").read_text()
