"""Tasks made from the built-in houses: their own plan does them, they are the same every time, and chance does not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.embodied.agents import RandomAgent, ScriptedAgent
from eqa_nodes.bench.embodied.files import read_tasks, write_tasks
from eqa_nodes.bench.embodied.loop import MAX_STEPS, run_task
from eqa_nodes.bench.embodied.tasks import ANSWER, Task, sample_of
from eqa_nodes.bench.embodied.world import CAMERA, SimulatedWorld
from eqa_nodes.bench.house.graph import LONGEST_M, HouseView, Planner, Stage, graph_of
from eqa_nodes.bench.house.tasks import ANSWERS, FAMILIES, house_tasks, tasks_of
from eqa_nodes.bench.samples import check_runnable, check_samples
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.people.residents import Residents
from sim_bridge.house.world import chores_world, world

SEED = 11  # a train house


@cache
def made() -> tuple[Task, ...]:
    return tuple(house_tasks([SEED], len(FAMILIES)))


def test_a_house_gives_a_task_of_each_family() -> None:
    assert [task.kind for task in made()] == list(FAMILIES)
    assert all(task.expert_steps == len(task.expert) <= MAX_STEPS for task in made())
    questions = [task for task in made() if task.kind.endswith("QA")]
    assert all(len(task.options) == ANSWERS and {o.type for o in task.options} == {ANSWER} for task in questions)
    samples = [sample_of(task) for task in made()]
    check_samples(samples)
    check_runnable(samples)
    with pytest.raises(ConfigError, match="unknown split 'val': known are test, train"):
        open_dataset("house-tasks", split="val", limit=1, task="tasks")


def test_the_plan_does_them_and_chance_does_not(tmp_path: Path) -> None:
    write_tasks(tmp_path, made())
    simulated = SimulatedWorld(replace(CAMERA, width=224, height=224, color=False))
    planned = [run_task(task, simulated, ScriptedAgent()) for task in read_tasks(tmp_path)]
    assert all(all(outcome.predicates) for outcome in planned)
    by_chance = [run_task(task, simulated, RandomAgent(), seed=5) for task in made()]
    assert sum(all(outcome.predicates) for outcome in by_chance) <= 2
    simulated.close()


def test_what_people_say_is_the_feedback() -> None:
    simulated = SimulatedWorld(replace(CAMERA, width=160, height=160, color=False))
    outcome = run_task(made()[-1], simulated, ScriptedAgent())
    simulated.close()
    said = [log.feedback for log in outcome.steps if log.interaction]
    assert outcome.done and said[-1].startswith("success: ") and said[-1].endswith('"')


def test_tasks_are_the_same_every_time() -> None:
    assert [task.index for task in made()] == list(range(len(FAMILIES)))
    again = next(tasks_of(SEED, families=FAMILIES[:1]))
    assert again == made()[0]


def test_the_graph_is_joined_and_free() -> None:
    for seed in (3, 11):
        place = world(seed)
        graph = graph_of(HouseView(place), place.house.start)
        where = {p.id: (p.x, p.y) for p in graph.points}
        assert len(graph.points) >= len(place.house.rooms) / 2 and set(where) >= {i for e in graph.edges for i in e}
        assert all(place.free(x, y) for x, y in where.values())
        assert all(0 < place.geodesic(where[a], where[b]) <= LONGEST_M + 1e-6 for a, b in graph.edges)
        reached, left = {0}, set(graph.edges)
        while grown := {e for e in left if set(e) & reached}:
            reached |= {i for e in grown for i in e}
            left -= grown
        assert reached == set(where)


def test_the_graph_leaves_out_places_where_people_are() -> None:
    place = chores_world(SEED)
    people = Residents(place, 8, 0.18)
    graph = graph_of(HouseView(place, people), place.house.start)
    assert not any(people.at(p.x, p.y, 0.18) for p in graph.points[1:])


def test_a_start_is_as_far_away_as_asked_for_and_the_shortest_plan_is_found() -> None:
    place = world(SEED)
    start = place.house.start
    task = graph_of(HouseView(place), start).of(Task(0, "Navigation", f"house:{SEED}", "", start, (), (), (), ()))
    planner, point = Planner(HouseView(place), task), task.points[-1].id
    goal = [Stage(planner.at(point), "wave")]
    for steps in (1, 4, 9):
        begin = planner.begin(goal, steps, draw=lambda at: 0)
        assert begin is not None
        plan = planner.plan(begin, goal)
        assert plan is not None and len(plan.texts) == steps and plan.texts[-1] == "wave" and plan.at.point == point
        again = Planner(HouseView(place), replace(task, start=planner.graph.pose(begin)))
        repeated = again.plan(again.graph.start, [Stage(again.at(point), "wave")])
        assert repeated is not None and len(repeated.texts) == steps
    assert planner.begin([Stage(frozenset())], 3, draw=lambda at: 0) is None
    assert isinstance(planner.graph.pose(planner.graph.start), Pose2)
