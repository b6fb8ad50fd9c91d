"""Demonstrations of the teacher in eqa/HouseTopo-v0 as a data set of Minari, for other ways to learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import gymnasium

from eqa_nodes.core.errors import ConfigError, MissingExtra
from eqa_nodes.learn.planner_decisions import teach
from eqa_nodes.worlds import TOPO
from eqa_nodes.worlds.topo import TopoEnv

if TYPE_CHECKING:
    from minari import MinariDataset


def record(name: str, episodes: int, questions: str | Path = "house", split: str = "train") -> MinariDataset:
    """Let the teacher drive questions in their order, and store the episodes as the Minari data set `name`.

    name: such as eqa/house-topo-v0. Raises ConfigError for a data set that exists, MissingExtra without minari.
    """
    try:
        import minari
    except ImportError as error:
        raise MissingExtra("minari", "demonstrations") from error

    if name in minari.list_local_datasets():
        raise ConfigError(f"the Minari data set {name!r} exists: choose another name, or delete it")
    made = gymnasium.make(f"eqa_nodes.worlds:{TOPO}", questions=str(questions), split=split, count=episodes,
                          disable_env_checker=True)
    world, collector = made.unwrapped, minari.DataCollector(made, record_infos=False)
    assert isinstance(world, TopoEnv)
    try:
        for number in range(episodes):
            collector.reset(seed=number, options={"question": number})
            ended = False
            while not ended:
                action = int(teach(world.episode.asked[0], world.episode.pose).argmax())
                _, _, stopped, out_of_steps, _ = collector.step(action)
                ended = stopped or out_of_steps
        return collector.create_dataset(
            name, algorithm_name="shortest way over the places of a graph",
            description="Questions in built-in houses: each action is the place over which the way to the answer is "
                        "shortest, and the last one stops within 1.5 m of a place from which it is seen.")
    finally:
        collector.close()
