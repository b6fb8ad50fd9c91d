"""Questions as graphs of places: the interface's own checks, masks, rewards by the scorer's truth, and named errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the worlds need gymnasium: pip install 'eqa-nodes[worlds]'")

import gymnasium
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.worlds.questions import SLACK, STOPPED
from eqa_nodes.worlds.topo import TopoEnv

STOP = 0


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    found = open_dataset("house", split="train", limit=2)
    return [replace(one, scene=found[0].scene, start=found[0].start, target=found[0].target, viewpoints=())
            for one in found]  # one house, so that it is built once


@pytest.fixture(scope="module")
def world(samples: list[Sample]) -> Iterator[TopoEnv]:
    made = TopoEnv(samples, image=(64, 48))
    yield made
    made.close()


def nearest(world: TopoEnv) -> int:
    """Return the node over which the way to the answer is shortest."""
    asked = world.episode.asked[0]
    return asked.graph.first + int(np.argmin(asked.to_go()))


def test_it_is_registered_and_passes_the_checks_of_the_interface(samples: list[Sample]) -> None:
    made = gymnasium.make("eqa_nodes.worlds:eqa/HouseTopo-v0", questions=samples, image=(64, 48)).unwrapped
    assert isinstance(made, TopoEnv)
    made.action_space = gymnasium.spaces.Discrete(1)  # the checks draw actions without asking for the mask
    check_env(made, skip_render_check=True)
    made.close()


def test_an_episode_that_goes_where_the_way_is_shortest_ends_near_the_answer(world: TopoEnv) -> None:
    seen, info = world.reset(seed=0)
    begun, rewards, moves = info["distance_m"], 0.0, 0
    assert world.observation_space.contains(seen) and begun > 3.0
    while info["distance_m"] > 1.5:
        seen, reward, stopped, ended, info = world.step(nearest(world))
        rewards, moves = rewards + reward, moves + 1
        assert not (stopped or ended) and world.observation_space.contains(seen)
    driven = begun - info["distance_m"] - SLACK * info["steps"]
    steps = info["steps"]
    _, last, stopped, _, info = world.step(STOP)
    assert stopped and info["success"] and info["moves"] == moves > 0 and info["steps"] == steps
    assert last == pytest.approx(STOPPED * info["spl"] - SLACK) and info["spl"] > 0.5
    assert 0 <= rewards - driven <= SLACK * 13  # the look round at the start costs nothing of the reward
    with pytest.raises(ResetNeeded, match="call reset"):
        world.step(STOP)


def test_the_mask_names_the_nodes_that_can_be_chosen_and_others_are_refused(world: TopoEnv) -> None:
    seen, _ = world.reset(seed=1)
    mask = world.action_masks()
    visited = seen["numbers"][:, 1] > 0
    assert mask[STOP] and mask.sum() > 2 and visited.any() and not mask[visited].any()
    assert not mask[np.abs(seen["numbers"]).sum(axis=1) == 0].any()
    for wrong in (int(np.flatnonzero(~mask)[0]), -1, 64):
        with pytest.raises(InvalidAction, match="action_masks"):
            world.step(wrong)


def test_the_same_seed_gives_the_same_episode(samples: list[Sample], world: TopoEnv) -> None:
    def episode(made: TopoEnv) -> list[Any]:
        seen, info = made.reset(seed=5)
        after, reward, *_ = made.step(int(np.flatnonzero(made.action_masks())[1]))
        return [seen, after, reward, info["id"]]

    other = TopoEnv(samples, image=(64, 48))
    for a, b in zip(episode(world), episode(other), strict=True):
        if isinstance(a, dict):
            assert all((a[name] == b[name]).all() for name in a)
        else:
            assert a == b
    other.close()


def test_steps_that_are_used_up_truncate_the_episode(samples: list[Sample]) -> None:
    made = TopoEnv(samples, image=(64, 48), max_steps=14)
    made.reset(seed=0)
    _, _, stopped, ended, info = made.step(nearest(made))
    assert ended and not stopped and info["steps"] == 14 and info["spl"] == 0.0 and not info["success"]
    made.close()


def test_what_cannot_be_asked_is_refused(samples: list[Sample], world: TopoEnv) -> None:
    with pytest.raises(ConfigError, match="there is no question 9: choose one from 0 to 1"):
        world.reset(options={"question": 9})
    with pytest.raises(ConfigError, match="no question with a scene"):
        TopoEnv([replace(samples[0], target=None)])
    with pytest.raises(ResetNeeded, match="no episode was begun"):
        TopoEnv(samples).action_masks()
