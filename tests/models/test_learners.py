"""Learners of others in eqa/HouseTopo-v0: sb3-contrib's MaskablePPO takes its actions, Minari keeps its episodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.fixtures.needs import need_training

need_training()
pytest.importorskip("gymnasium", reason="the worlds need gymnasium: pip install 'eqa-nodes[worlds]'")

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.samples import write_samples
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.learn.demonstrations import record
from eqa_nodes.worlds.topo import TopoEnv


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("questions") / "train.jsonl"
    write_samples(file, open_dataset("house", split="train", limit=2))
    return file


def test_maskable_ppo_learns_from_its_episodes(questions: Path) -> None:
    sb3 = pytest.importorskip("sb3_contrib", reason="another learner: pip install sb3-contrib")
    world = TopoEnv(questions, image=(64, 48), max_steps=60)
    learner = sb3.MaskablePPO("MultiInputPolicy", world, n_steps=16, batch_size=8, n_epochs=1, seed=0, device="cpu")
    before = {name: value.clone() for name, value in learner.policy.named_parameters()}
    learner.learn(16)
    assert any((value != before[name]).any() for name, value in learner.policy.named_parameters())
    seen, _ = world.reset(seed=0)
    action, _ = learner.predict(seen, action_masks=world.action_masks())
    assert world.action_masks()[int(action)]
    world.close()


def test_a_teachers_episodes_are_kept_as_a_data_set(questions: Path, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    minari = pytest.importorskip("minari", reason="demonstrations need minari: pip install "
                                                  "'eqa-nodes[demonstrations]'")
    pytest.importorskip("jax", reason="minari records with jax: pip install 'eqa-nodes[demonstrations]'")
    record("eqa/some-v0", 2, questions)
    kept = minari.load_dataset("eqa/some-v0")
    episodes = list(kept.iterate_episodes())
    assert kept.total_episodes == 2 and all(one.actions[-1] == 0 and one.terminations[-1] for one in episodes)
    assert episodes[0].observations["numbers"].shape[1:] == TopoEnv(questions).observation_space["numbers"].shape
    assert np.sum(episodes[0].rewards) > 1.0
    with pytest.raises(ConfigError, match="'eqa/some-v0' exists"):
        record("eqa/some-v0", 2, questions)
