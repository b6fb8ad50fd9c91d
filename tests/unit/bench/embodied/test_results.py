"""Result files: what EmbodiedEval's scorer reads in them, and that it finds the same totals as the run's own score."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.embodied.results import step_records, write_result
from eqa_nodes.bench.embodied.runner import TaskRunner
from eqa_nodes.bench.embodied.tasks import FORWARD, RIGHT, Task, sample_of
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.metrics.task_totals import TaskTotals, by_required_steps, task_totals
from eqa_nodes.bench.published import read_published, write_run
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.types.samples import TASKS
from tests.fixtures.tasks import TASK, YES, Plain, Wild, any_task, do

EPISODES = 150


def carried_out(out: Path, count: int, strict: bool) -> list[Task]:
    """Carry out synthetic tasks with a wild agent; return them."""
    tasks = [any_task(index) for index in range(count)]
    runner = TaskRunner(Plain(), Wild(), out / "results", strict=strict)
    run_benchmark([sample_of(task) for task in tasks], runner, out, dataset="embodied-eval", blind=False, task=TASKS)
    return tasks


def read_as_published(results: Path, tasks: list[Task]) -> dict[str, dict[str, float]]:
    """Return the totals by family, and of all, as EmbodiedEval defines them over the files alone."""
    families: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for task in tasks:
        folder = results / f"traj{task.index:04d}"
        steps = json.loads((folder / "traj.json").read_text())
        goals = json.loads((folder / "task.json").read_text())["scene"]["task_instance"]["predicates"]
        last, said = steps[-1], [step["feedback"] for step in steps if step.get("feedback")]
        reached = [last["done_after_action"]] if len(goals) == 1 else last["predicates_done"]
        done, need = last["done_after_action"] == 1, task.expert_steps or 0
        families[task.kind].append({
            "succ": done, "gcs": reached.count(1) / len(reached), "spl": done * need / max(need, len(steps)),
            "said": len(said), "good": sum(text != "failed" for text in said), "no_match": last["action_choice"] == -1,
            "out_of_range": last["action_choice"] == -2})
    found = {}
    for kind, rows in families.items():
        share = {name: round(sum(row[name] for row in rows) / len(rows) * 100, 2) for name in rows[0]}
        said = sum(row["said"] for row in rows)
        found[kind] = {**share, "accuracy": round(sum(row["good"] for row in rows) / said * 100, 2) if said else 0.0}
    whole = {name: sum(found[kind][name] * len(families[kind]) for kind in sorted(found)) / len(tasks)
             for name in ("succ", "gcs", "spl", "accuracy", "no_match", "out_of_range")}
    every = sum(row["said"] for rows in families.values() for row in rows)
    return {**found, "all": {**whole, "said": round(every / len(tasks) * 100, 2)}}


def as_dict(totals: TaskTotals) -> dict[str, float]:
    return {"succ": totals.succ, "gcs": totals.gcs, "spl": totals.spl or 0.0, "said": totals.interaction_rate,
            "accuracy": totals.interaction_accuracy, "no_match": totals.no_match, "out_of_range": totals.out_of_range}


@pytest.mark.parametrize("strict", [True, False])
def test_the_totals_are_those_of_the_files(tmp_path: Path, strict: bool) -> None:
    tasks = carried_out(tmp_path, EPISODES, strict)
    scores = score_run(tmp_path, OfflineJudge())
    totals = {each.family: each for each in task_totals(scores.questions)}
    published = read_as_published(tmp_path / "results", tasks)
    assert totals.keys() == published.keys() and len(totals) == 6
    for family, values in published.items():
        ours = as_dict(totals[family])
        assert ours == {name: values[name] for name in ours}, family
    whole = totals["all"]
    assert 0 < whole.succ < 100 and 0 < whole.interaction_accuracy < 100 and whole.interaction_rate > 0
    assert (whole.no_match > 10 and whole.out_of_range > 10) is strict


def test_the_files_are_read_back_as_they_were_scored(tmp_path: Path) -> None:
    tasks = carried_out(tmp_path / "run", 40, True)
    scores = score_run(tmp_path / "run", OfflineJudge())
    found = read_published(tmp_path / "run" / "results")
    write_run(tmp_path / "again", "embodied-eval", [sample_of(task) for task in tasks], found, {}, "results")
    assert task_totals(score_run(tmp_path / "again", OfflineJudge()).questions) == task_totals(scores.questions)


def test_steps_have_the_form_of_the_evaluator(tmp_path: Path) -> None:
    outcome = do([FORWARD, "pick up the mug", "fly", "no"])
    folder = write_result(tmp_path, TASK, outcome)
    steps = json.loads((folder / "traj.json").read_text())
    assert [step["options"][step["action_choice"]] for step in steps if step["action_choice"] > 0] == [
        FORWARD, "pick up the mug", 'answer "no"']
    assert steps[0]["options"][:2] == ["idle", FORWARD] and steps[0]["action_choice"] == 1
    assert [step["feedback"] for step in steps] == ["", "success", "", ""]
    assert (steps[2]["action_choice"], steps[2]["action_error"], steps[2]["action"]) == (-1, "no option match", None)
    assert [step["done_after_action"] for step in steps] == [0, 0, 0, -1]
    task = json.loads((folder / "task.json").read_text())["scene"]["task_instance"]
    assert task["options"][0]["option_text"] == task["predicates"][0]["right_answer_content"] == YES
    assert json.loads((folder / "result.json").read_text()) == {"result": "failed", "steps_taken": 4}


def test_a_failed_interaction_says_only_that() -> None:
    (step, *_) = step_records(do(["take it"], any_task(3)))
    assert step["feedback"] == "failed" and step["info_after_action"] == {"reason": "it is out of reach"}


def test_an_unusable_reply_ends_the_task_by_the_strict_rule() -> None:
    assert len(do([RIGHT, "fly", FORWARD, "yes"], strict=True).steps) == 2
    assert do([RIGHT, "fly", FORWARD, "yes"], strict=True).counts.ended_by == "no option match"


def test_success_is_counted_by_required_steps(tmp_path: Path) -> None:
    carried_out(tmp_path, 60, False)
    questions = score_run(tmp_path, OfflineJudge()).questions
    bins = by_required_steps(questions)
    assert [(b.first, b.last) for b in bins] == [(1, 4), (5, 8), (9, 12), (13, 16), (17, 20), (21, 24)]
    assert sum(b.tasks for b in bins) == 60 and sum(b.done for b in bins) == round(
        0.6 * task_totals(questions)[-1].succ)
