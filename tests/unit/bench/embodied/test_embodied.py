"""Tasks as EmbodiedEval sets them: files, graph, predicates, the loop, agents, and a run from end to end."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.embodied.agents import ModelAgent, ModelAgentSettings, RandomAgent, ScriptedAgent, make_agent
from eqa_nodes.bench.embodied.files import read_tasks, record_of, write_tasks
from eqa_nodes.bench.embodied.graph import NavigationGraph
from eqa_nodes.bench.embodied.loop import TaskOutcome, run_task
from eqa_nodes.bench.embodied.runner import TaskRunner
from eqa_nodes.bench.embodied.tasks import (
    DOWN,
    FORWARD,
    LEFT,
    RIGHT,
    UP,
    GraphPoint,
    Predicate,
    Task,
    check_doable,
    sample_of,
    task_in,
)
from eqa_nodes.bench.embodied.world import Done, SimulatedWorld
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.bench.samples import opened_by
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.samples import TASKS
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.junk_records import FUZZ, JUNK, refusal
from tests.fixtures.tasks import NO, TASK, YES, Plain, do


def test_files_round_trip(tmp_path: Path) -> None:
    other = replace(TASK, index=5, kind="Navigation", options=(), predicates=(Predicate("agent_at", point=3),),
                    expert_steps=None, expert=(), start=Pose2(1.0, -2.0, 2.5))
    write_tasks(tmp_path, [TASK, other])
    back = read_tasks(tmp_path)
    assert json.loads((tmp_path / "tasks" / "tasks.json").read_text()) == [
        {"index": 4, "task_file": "AttrQA/0004.json"}, {"index": 5, "task_file": "Navigation/0005.json"}]
    assert [replace(b, start=t.start) for b, t in zip(back, [TASK, other], strict=True)] == [TASK, other]
    assert [b.start for b in back] == [pytest.approx(t.start) for t in (TASK, other)]
    record = json.loads((tmp_path / "tasks" / "AttrQA" / "0004.json").read_text())
    assert {"scene_path", "task_text", "agent_position", "agent_rotation", "options", "predicates"} <= record.keys()
    assert record["predicates"][0] == {"predicate_type": "choose", "right_answer_content": "yes"}
    samples = open_dataset("embodied-eval", folder=tmp_path, task=TASKS)
    assert [(s.id, s.category, s.answer, s.choices, s.reference_steps) for s in samples] == [
        ("0004", "AttrQA", "yes", ("yes", "no"), 2), ("0005", "Navigation", "", (), None)]
    assert task_in(samples[0]) == back[0]


def test_a_scene_file_is_a_scan_that_unity_has_mirrored(tmp_path: Path) -> None:
    going = replace(TASK, kind="Navigation", scene="mesh:scenes/HSSD/x.glb", options=(), expert=(),
                    predicates=(Predicate("agent_at", point=3),), start=Pose2(1.0, -2.0, 2.5), start_height_m=3.0,
                    points=tuple(p._replace(z=3.0) for p in TASK.points))
    write_tasks(tmp_path, [going])
    record = json.loads((tmp_path / "tasks" / "Navigation" / "0004.json").read_text())
    assert record["scene_path"] == "scenes/HSSD/x.glb"
    # The importer turns glTF's x, y, z into Unity's -x, y, z, and the map's x is glTF's -z, its y glTF's -x.
    assert record["agent_position"] == [-2.0, 3.0, -1.0]
    (back,) = read_tasks(tmp_path)
    assert replace(back, start=going.start) == going and back.start == pytest.approx(going.start)
    sample = sample_of(back)
    assert (sample.scene, sample.start_height_m) == ("mesh:scenes/HSSD/x.glb", 3.0)
    (other,) = opened_by("habitat", [sample])
    assert task_in(other).scene == "habitat:scenes/HSSD/x.glb"
    check_doable(sample)
    taking = replace(going, predicates=(Predicate("grab", object=9), Predicate("agent_at", point=3)))
    with pytest.raises(ConfigError, match="needs grab, and in the scan 'mesh:scenes/HSSD/x.glb' nothing can be"):
        check_doable(sample_of(taking))
    for outside in ("../x.glb", "/x.glb", "scenes/../../x.glb"):
        record["scene_path"] = outside
        (tmp_path / "tasks" / "Navigation" / "0004.json").write_text(json.dumps(record))
        with pytest.raises(ConfigError, match="must lie in the data folder"):
            read_tasks(tmp_path)


@pytest.mark.parametrize(("changes", "why"), [
    ({"task_text": " "}, "'task_text' must be a text"), ({"predicates": []}, "'predicates' is empty"),
    ({"predicates": [{"predicate_type": "fly"}]}, r"predicates\[0\].*unknown predicate 'fly': known are agent_at"),
    ({"predicates": [{"predicate_type": "choose", "right_answer_content": "maybe"}]}, "one of the options: 'maybe'"),
    ({"predicates": [{"predicate_type": "agent_at", "point": 99}]}, "not a point of the navigation graph: 99"),
    ({"predicates": [{"predicate_type": "grab"}]}, "'object' is missing"),
    ({"options": [{"option_type": "Answer", "option_text": "a"}] * 2}, "has a text twice: 'a'"),
    ({"options": [{"option_type": "Interaction", "option_text": "a", "action": "juggle", "object": 1}]}, "'juggle'"),
    ({"navigation_graph": {"points": [], "edges": []}}, "needs points"),
    ({"navigation_graph": {"points": [{"id": 0, "position": [0, 0, 0]}], "edges": [[0, 1]]}}, "needs edges"),
    ({"agent_position": [0, 0]}, "'agent_position' must be 3 finite numbers"), ({"expert_steps": -1}, "expert_steps")])
def test_broken_tasks_are_named(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    write_tasks(tmp_path, [TASK])
    file = tmp_path / "tasks" / "AttrQA" / "0004.json"
    file.write_text(json.dumps({**record_of(TASK), **changes}))
    with pytest.raises(ConfigError, match=why) as caught:
        read_tasks(tmp_path)
    assert "AttrQA/0004.json" in str(caught.value) or "navigation_graph" in str(caught.value)


@given(st.dictionaries(st.sampled_from([*record_of(TASK), "expert", "expert_steps"]), JUNK, min_size=1, max_size=3))
@FUZZ
def test_junk_in_tasks_is_named(tmp_path: Path, changes: dict[str, Any]) -> None:
    write_tasks(tmp_path, [TASK])
    (tmp_path / "tasks" / "AttrQA" / "0004.json").write_text(json.dumps({**record_of(TASK), **changes}))
    why = refusal(lambda: [sample_of(task) for task in read_tasks(tmp_path)])
    assert not why or "task AttrQA/0004.json" in why or "navigation_graph" in why


@pytest.mark.parametrize("name", ["../secret.json", "/etc/passwd"])
def test_a_task_file_lies_beside_the_list(tmp_path: Path, name: str) -> None:
    (tmp_path / "tasks.json").write_text(json.dumps([{"index": 0, "task_file": name}]))
    with pytest.raises(ConfigError, match="must lie beside tasks.json"):
        read_tasks(tmp_path)


def test_moves_face_the_neighbours() -> None:
    graph = NavigationGraph(TASK)
    at = graph.start
    assert (at.point, graph.faced(at)) == (0, 1)
    assert list(graph.moves(at)) == [FORWARD, LEFT, RIGHT, UP, DOWN]
    left = graph.moves(at)[LEFT]
    assert left.yaw == pytest.approx(math.pi / 2) and graph.faced(left) == 3
    right = graph.moves(at)[RIGHT]
    assert right.yaw == pytest.approx(-math.pi / 2) and FORWARD not in graph.moves(right)
    assert graph.moves(left)[FORWARD].point == 3
    up = graph.moves(at)[UP]
    assert up.look_deg == 30.0 and UP not in graph.moves(up) and graph.moves(up)[DOWN].look_deg == 0.0


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=2, max_size=8, unique=True), st.floats(-3, 3))
@settings(max_examples=50, deadline=None)
def test_turning_one_way_faces_every_neighbour(places: list[tuple[float, float]], yaw: float) -> None:
    task = replace(TASK, points=tuple(GraphPoint(i, x, y) for i, (x, y) in enumerate(places)),
                   edges=tuple((0, i) for i in range(1, len(places))), start=Pose2(*places[0], yaw))
    graph = NavigationGraph(task)
    at, turned = graph.start._replace(point=0), 0.0
    bearings = [math.atan2(y - places[0][1], x - places[0][0]) for x, y in places[1:]]
    faced = []
    while turned < 2 * math.pi + 0.1:
        to = graph.moves(at)[LEFT]
        turned += wrap(to.yaw - at.yaw) % (2 * math.pi)
        at = to
        faced.append(at.yaw)
    assert all(any(abs(wrap(b - f)) <= math.radians(1.0) + 1e-9 for f in faced) for b in bearings)


def test_a_task_is_done_when_all_predicates_hold() -> None:
    outcome = do([FORWARD, "yes"])
    assert outcome.predicates == (True, True) and outcome.answer == "yes" and outcome.metres == 2.0
    assert [log.done_after_action for log in outcome.steps] == [0, 1]
    assert len(outcome.poses) == len(outcome.frames) == 3
    assert outcome.poses[-1] == pytest.approx((2.0, 0.0, 0.0))


def test_an_answer_is_final() -> None:
    assert [log.done_after_action for log in do(["no", FORWARD, "yes"]).steps] == [-1]
    early = do(["yes", FORWARD], max_steps=3)  # right, but it has not been where it should: the task goes on
    assert [log.done_after_action for log in early.steps] == [0, 0, 0]
    assert [log.predicates_done for log in early.steps] == [(1, 0), (0, 1), (0, 1)]  # right only when it is given
    assert do(["yes", FORWARD, "yes"]).done


@pytest.mark.parametrize(("script", "done"), [
    ([FORWARD, "yes"], (1, 1)), ([FORWARD, "no"], (-1,)), ([FORWARD], (0, 1)), (["no"], (-1,)), (["yes"], (1, 0))])
def test_predicates_end_with_the_first_that_can_no_longer_be(script: list[str], done: tuple[int, ...]) -> None:
    outcome = do(script, max_steps=2)
    assert outcome.steps[-1].predicates_done == outcome.predicates_done == done
    assert outcome.predicates == tuple(value == 1 for value in done)


def test_steps_end_a_task_and_wasted_ones_count() -> None:
    outcome = do([LEFT, "fly", RIGHT], max_steps=5)
    assert len(outcome.steps) == 5 and not all(outcome.predicates)
    assert [log.unusable for log in outcome.steps] == ["", "'fly' is not on the menu", "", "the script has ended",
                                                           "the script has ended"]
    assert outcome.steps[1].feedback.startswith("failed") and outcome.steps[1].action_choice == -1
    assert outcome.steps[-1].options == (YES, NO)  # of a question, the last step offers nothing but answers


def test_what_is_in_the_way_stops_the_agent() -> None:
    outcome = do([FORWARD], world=Plain(shut=True), max_steps=2)
    assert outcome.steps[0].feedback == "failed: something is in the way" and outcome.poses[0] == outcome.poses[1]


def test_handling_is_told_to_the_predicates() -> None:
    task = replace(TASK, kind="ObjectInteraction", predicates=(Predicate("grab", object=9),
                                                               Predicate("grab_once", object=9)))
    assert all(do(["pick up the mug"], task).predicates)


def replies(*said: str | Exception) -> tuple[ScriptedBackend, TaskOutcome]:
    backend = ScriptedBackend(list(said))
    return backend, run_task(TASK, Plain(), ModelAgent(backend, ModelAgentSettings(max_images=2)))


def test_a_model_picks_by_number() -> None:
    backend, outcome = replies('{"thought": "ahead", "option": 1}', 'Sure: {"option": 6}')
    assert [log.action for log in outcome.steps] == [FORWARD, YES]
    assert outcome.steps[0].thought == "ahead" and all(outcome.predicates)
    text = "\n".join(part for part in backend.requests[1][1].parts if isinstance(part, str))
    assert '1. "move forward" -> success' in text and '[6] answer "yes"' in text
    assert '"Is the lamp on? Come back."' in text
    assert sum(isinstance(part, bytes) for part in backend.requests[1][1].parts) == 2  # before, and now


@pytest.mark.parametrize("said", ['"6"', "6.0", '"[6]"', '"[6] yes"', '"6."', '"yes"', '" Yes "'])
def test_an_option_is_read_as_models_write_it(said: str) -> None:
    backend, outcome = replies('{"option": 1}', f'{{"option": {said}}}')
    assert [log.action for log in outcome.steps] == [FORWARD, YES]
    assert len(backend.requests) == 2


@pytest.mark.parametrize("said", ['"6 or 7"', "6.5", '"[6] no"', "true", '"0"', "null", '"sixth"', "[6]", '"-6"',
                                  "NaN"])
def test_what_names_no_option_is_asked_once_more(said: str) -> None:
    backend, outcome = replies('{"option": 1}', f'{{"option": {said}}}', '{"option": 6}')
    assert [log.action for log in outcome.steps] == [FORWARD, YES]
    assert len(backend.requests) == 3


def test_off_the_menu_is_asked_once_more_and_then_wasted() -> None:
    backend, outcome = replies('{"option": 99}', '{"option": 1}', "gibberish", '{"option": 0}', '{"option": 6}')
    assert [log.action for log in outcome.steps] == [FORWARD, "", YES]
    assert "no option match" in outcome.steps[1].unusable and "from 1 to" in outcome.steps[1].unusable
    assert len(backend.requests) == 5


def test_chance_is_the_same_for_the_same_seed() -> None:
    runs = [[log.action for log in run_task(TASK, Plain(), RandomAgent(), seed).steps] for seed in (1, 1, 2, 3, 4)]
    assert runs[0] == runs[1] and len({tuple(run) for run in runs}) > 1


def test_the_oracle_needs_a_plan() -> None:
    with pytest.raises(ConfigError, match="task 4 has no script"):
        run_task(replace(TASK, expert=()), Plain(), make_agent("oracle"))


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
    assert main([*line, "--write", str(tmp_path / "again")]) == 0
    assert read_tasks(tmp_path / "again") == read_tasks(tmp_path)
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
