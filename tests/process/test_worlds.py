"""Worlds for learning in processes of their own."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the worlds need gymnasium: pip install 'eqa-nodes[worlds]'")

import gymnasium

from eqa_nodes.bench.datasets import open_dataset

FORWARD, LEFT = 1, 2


def test_worlds_of_equal_questions_show_the_same_in_every_process() -> None:
    samples = open_dataset("house", split="train", limit=1)
    both = gymnasium.make_vec("eqa_nodes.worlds:eqa/House-v0", num_envs=2, vectorization_mode="async",
                              vector_kwargs={"context": "spawn"}, questions=samples, image=(32, 24), color=False,
                              texts=False)
    seen, _ = both.reset(seed=4)
    moved, rewards, *_ = both.step(np.array([FORWARD, LEFT]))
    assert seen["depth"].shape == (2, 24, 32, 1) and rewards.shape == (2,)
    assert (seen["depth"][0] == seen["depth"][1]).all() and not (moved["depth"][0] == moved["depth"][1]).all()
    both.close()
