"""Tasks made from the built-in houses: their own plan does them, they are the same every time, and chance does not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.embodied.agents import RandomAgent, ScriptedAgent
from eqa_nodes.bench.embodied.files import read_tasks, write_tasks
from eqa_nodes.bench.embodied.loop import run_task
from eqa_nodes.bench.embodied.tasks import Task, sample_of
from eqa_nodes.bench.embodied.world import CAMERA, SimulatedWorld
from eqa_nodes.bench.house.graph import LONGEST_M, graph_of
from eqa_nodes.bench.house.tasks import ANSWERS, MOST_STEPS, tasks_of
from eqa_nodes.bench.samples import check_runnable, check_samples
from eqa_nodes.core.errors import ConfigError
from sim_bridge.house.world import world

SEED = 11  # a train house


@cache
def made() -> tuple[Task, ...]:
    return tuple(replace(task, index=i) for i, task in enumerate(tasks_of(SEED)))


def test_a_house_gives_a_task_of_each_kind_it_can() -> None:
    assert [task.kind for task in made()] == ["AttrQA", "SpatialQA", "Navigation", "ObjectInteraction"]
    assert all(task.expert_steps == len(task.expert) <= MOST_STEPS for task in made())
    questions = [task for task in made() if task.kind.endswith("QA")]
    assert all(len(task.options) == ANSWERS for task in questions)
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


def test_the_graph_is_joined_and_free() -> None:
    for seed in (3, 11):
        place = world(seed)
        graph = graph_of(place, place.house.start)
        where = {p.id: (p.x, p.y) for p in graph.points}
        assert len(graph.points) >= len(place.house.rooms) / 2 and set(where) >= {i for e in graph.edges for i in e}
        assert all(place.free(x, y) for x, y in where.values())
        assert all(0 < place.geodesic(where[a], where[b]) <= LONGEST_M + 1e-6 for a, b in graph.edges)
        reached, left = {0}, set(graph.edges)
        while grown := {e for e in left if set(e) & reached}:
            reached |= {i for e in grown for i in e}
            left -= grown
        assert reached == set(where)
