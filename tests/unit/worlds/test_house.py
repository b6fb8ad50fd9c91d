"""Questions as Gymnasium environments: the interface's own checks, rewards by the scorer's truth, and named errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the worlds need gymnasium: pip install 'eqa-nodes[worlds]'")

import gymnasium
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.samples import write_samples
from eqa_nodes.core.errors import ConfigError, UnknownScene
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.worlds.house import STOP, HouseEnv
from eqa_nodes.worlds.questions import SLACK, STOPPED

FORWARD, LEFT = 1, 2


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    found = open_dataset("house", split="train", limit=3)
    return [replace(one, scene=found[0].scene, start=found[0].start, target=found[0].target, viewpoints=())
            for one in found]  # one house, so that it is built once


@pytest.fixture
def world(samples: list[Sample]) -> Iterator[HouseEnv]:
    made = HouseEnv(samples, image=(32, 24), color=False, max_steps=12)
    yield made
    made.close()


def test_it_is_registered_and_passes_the_checks_of_the_interface(samples: list[Sample]) -> None:
    made = gymnasium.make("eqa_nodes.worlds:eqa/House-v0", questions=samples, image=(32, 24), labels=True,
                          render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*A Box observation space")  # poses and depth have no bounds
        check_env(made.unwrapped)
    seen, info = made.reset(seed=3)
    picture = made.render()
    assert isinstance(picture, np.ndarray) and (picture == seen["rgb"]).all()
    assert {int(i) for i in np.unique(seen["labels"])} <= {0, *info["kinds"]} and "sofa" in info["kinds"].values()
    assert seen["question"] == info["question"] in [one.question for one in samples]
    made.close()


def test_the_same_seed_gives_the_same_episodes(samples: list[Sample], world: HouseEnv) -> None:
    def episodes(made: HouseEnv) -> list[Any]:
        found: list[Any] = []
        for n in range(3):
            seen, info = made.reset(seed=5) if n == 0 else made.reset()
            found.append((info["id"], seen["rgb"].tobytes(), seen["depth"].tobytes()))
            for action in (FORWARD, LEFT, FORWARD):
                seen, reward, *_ = made.step(action)
                found.append((reward, seen["pose"].tobytes(), seen["depth"].tobytes()))
        return found

    other = HouseEnv(samples, image=(32, 24), color=False)
    assert episodes(world) == episodes(other)
    assert len({one[0] for one in episodes(world) if isinstance(one[0], str)}) > 1
    other.close()


def test_rewards_are_progress_less_a_cost_and_a_stop_is_paid_by_spl(samples: list[Sample], world: HouseEnv) -> None:
    _, info = world.reset(options={"question": 0})
    first, total, stopped, cut = info["distance_m"], 0.0, False, False
    for _ in range(4):
        *_, reward, stopped, cut, info = world.step(FORWARD)
        total += reward
    assert not stopped and not cut and info["steps"] == 4
    assert total == pytest.approx(first - info["distance_m"] - 4 * SLACK) and info["metres"] > 0
    *_, reward, stopped, cut, info = world.step(STOP)
    assert stopped and not cut and info["success"] == (info["distance_m"] <= 3.0)
    assert reward == pytest.approx(STOPPED * info["spl"] - SLACK)

    near = HouseEnv([replace(samples[0], target=samples[0].start[:2], reference_metres=0.0)], image=(32, 24))
    near.reset()
    *_, reward, stopped, cut, info = near.step(STOP)
    assert stopped and info["success"] and info["spl"] == 1.0 and reward == pytest.approx(STOPPED - SLACK)
    near.close()


def test_the_pose_is_relative_to_the_start(world: HouseEnv) -> None:
    seen, _ = world.reset(options={"question": 1})
    assert seen["pose"].tolist() == [0.0, 0.0, 0.0]
    seen, *_ = world.step(LEFT)
    assert seen["pose"][:2].tolist() == [0.0, 0.0] and seen["pose"][2] == pytest.approx(math.radians(30), abs=1e-4)


def test_the_limit_of_actions_truncates(world: HouseEnv) -> None:
    world.reset(seed=1)
    ends = [world.step(LEFT)[2:4] for _ in range(12)]
    assert ends == [(False, False)] * 11 + [(False, True)]


def test_what_cannot_be_done_is_named(samples: list[Sample], world: HouseEnv) -> None:
    with pytest.raises(ResetNeeded, match="call reset"):
        world.step(FORWARD)
    world.reset(seed=0)
    for action in (6, -1):
        with pytest.raises(InvalidAction, match=f"the action is {action}: it must be 0 .stop. to 5"):
            world.step(action)
    world.step(STOP)
    with pytest.raises(ResetNeeded, match="has ended"):
        world.step(FORWARD)
    with pytest.raises(ConfigError, match="there is no question 3: choose one from 0 to 2"):
        world.reset(options={"question": 3})
    nowhere = HouseEnv([replace(samples[0], scene="house:2000")], image=(32, 24))
    with pytest.raises(UnknownScene, match="house:2000"):
        nowhere.reset()


@pytest.mark.parametrize(("settings", "why"), [
    ({"max_steps": 0}, "max_steps is 0"), ({"count": 0}, "count 0"),
    ({"render_mode": "human"}, "render_mode is 'human'"),
    ({"robot": "r2d2"}, "unknown robot 'r2d2'"), ({"questions": "nowhere"}, "unknown data set 'nowhere'"),
    ({"questions": ()}, "has no question with a scene")])
def test_settings_are_checked(samples: list[Sample], settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        HouseEnv(**{"questions": samples, **settings})


def test_questions_come_from_a_file(samples: list[Sample], tmp_path: Path) -> None:
    write_samples(tmp_path / "samples.jsonl", samples)
    made = HouseEnv(tmp_path / "samples.jsonl", image=(32, 24), color=False, texts=False, count=2)
    _, info = made.reset(options={"question": 1})
    assert info["id"] == samples[1].id and set(made.observation_space.spaces) == {"rgb", "depth", "pose"}
    with pytest.raises(ConfigError, match="no question 2"):
        made.reset(options={"question": 2})
    made.close()
