"""Runs of tasks: resumed, scored, kept as files, and from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.bench.embodied.agents import ScriptedAgent
from eqa_nodes.bench.embodied.files import read_tasks, write_tasks
from eqa_nodes.bench.embodied.loop import run_task
from eqa_nodes.bench.embodied.runner import TaskRunner
from eqa_nodes.bench.embodied.tasks import FORWARD, LEFT, UP, GraphPoint, Predicate, Task, sample_of
from eqa_nodes.bench.embodied.world import Done, SimulatedWorld
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.cli import main
from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.samples import TASKS
from tests.fixtures.tasks import TASK, YES, Plain


def test_a_run_is_resumed_scored_and_kept_as_files(tmp_path: Path) -> None:
    samples = [sample_of(TASK), sample_of(replace(TASK, index=5, kind="Navigation", options=(), expert_steps=None,
                                                  predicates=(Predicate("agent_at", point=1),)))]
    script = ScriptedAgent({4: [FORWARD, "yes"], 5: [LEFT] * 24})
    runner = TaskRunner(Plain(), script, tmp_path / "trajectories", images=True)
    summary = run_benchmark(samples, runner, tmp_path, dataset="t", blind=False, task=TASKS)
    assert (summary.asked, summary.failed, summary.unexpected) == (2, 0, 0)
    assert run_benchmark(samples, runner, tmp_path, dataset="t", blind=False, task=TASKS).asked == 0
    scores = score_run(tmp_path, OfflineJudge())
    whole = scores.rows[0]
    assert (whole.metrics["succ"].mean, whole.metrics["gcs"].mean) == (0.5, 0.5)
    assert whole.metrics["task_spl"].mean == 1.0 and whole.metrics["task_spl"].n == 1 and whole.unscored == 0
    assert [q.sigma for q in scores.questions] == [5, None]
    folder = tmp_path / "trajectories" / "traj0004"
    assert sorted(p.name for p in folder.iterdir()) == ["0000.png", "0000a.json", "0001.png", "0001a.json", "0002.png",
                                                        "result.json", "task.json", "traj.json"]
    step = json.loads((folder / "0001a.json").read_text())
    assert (step["action"], step["feedback"], step["done_after_action"]) == (YES, "", 1)
    assert json.loads((folder / "traj.json").read_text()) == [json.loads((folder / f"000{n}a.json").read_text())
                                                              for n in range(2)]
    assert json.loads((folder / "task.json").read_text())["scene"]["task_instance"]["task_text"] == TASK.text


TOY = Task(0, "Navigation", "toy:room", "Go ahead.", Pose2(1.25, 2.75, 0.0), (), (Predicate("agent_at", point=1),),
           (GraphPoint(0, 1.25, 2.75), GraphPoint(1, 2.25, 2.75)), ((0, 1),), 1, (FORWARD,))


def test_the_command_does_tasks_of_files_in_any_simulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tasks(tmp_path, [TOY])
    line = ["bench", "tasks", "--dataset", "embodied-eval", "--data", str(tmp_path)]
    assert main([*line, "--agent", "oracle", "--out", str(tmp_path / "run")]) == 0
    assert "Go ahead. done (1 of 1 predicates after 1 steps)" in capsys.readouterr().out
    assert score_run(tmp_path / "run", OfflineJudge()).rows[0].metrics["succ"].mean == 1.0
    assert main(["bench", "score", str(tmp_path / "run")]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    (whole,) = (row for row in rows if row[:1] == ["all"])
    assert whole[:5] == ["all", "1", "100.00", "100.00", "100.00"]  # a single task has no interval
    assert ["Succ.", "%", "100.00"] in rows
    assert main(["bench", "table", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    assert "Table 2. EmbodiedEval" in printed and "run [" in printed and "OpenEQA" not in printed
    again = tmp_path / "again [house]"
    assert main([*line, "--write", str(again)]) == 0
    assert "again [house]" in capsys.readouterr().out  # no markup
    assert read_tasks(again) == read_tasks(tmp_path)
    write_tasks(tmp_path, [replace(TOY, scene="unity:x")])
    assert main([*line, "--out", str(tmp_path / "other")]) == 2
    assert "no simulator opens" in capsys.readouterr().err


def test_navigation_runs_in_a_simulator_that_can_only_reset() -> None:
    task = TOY
    world = SimulatedWorld(CameraModel(32, 32))
    outcome = run_task(task, world, ScriptedAgent({0: [UP, FORWARD]}))
    assert outcome.predicates == (True,) and outcome.metres == pytest.approx(1.0)
    assert outcome.frames[-1].pose == pytest.approx((2.25, 2.75, 0.0))
    assert world.handle("pick", 1) == Done(False, "nothing can be handled in this simulator")
    with pytest.raises(SimulatorError, match="does not know the positions"):
        world.position(1)
    world.close()
