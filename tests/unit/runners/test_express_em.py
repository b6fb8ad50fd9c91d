"""EXPRESS-Bench's trajectories as episode histories: rendered where they were driven, floor(L / 10) views of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.errors import ConfigError, UnknownScene
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import position_to_habitat, rotation_to_habitat
from eqa_nodes.core.types.samples import EM, Sample
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.recordings.history_views import RandomViews, ViewSelection, check_selection
from eqa_nodes.runners import answerers
from eqa_nodes.runners.history import HistoryRunner
from eqa_nodes.runners.opening import selection_of
from eqa_nodes.runners.sources import benchmark_sources
from eqa_nodes.tours.rendered import RenderedHistory
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup

SCENE = "house:3"


def published(steps: int, **changes: object) -> dict[str, Any]:
    """Return a record as EXPRESS-Bench writes it, of a drive through a built-in house."""
    simulator = open_simulator(SCENE)
    poses = [simulator.reset(EpisodeSetup(SCENE)).frame.pose]
    actions = [Action.TURN_LEFT if i % 3 else Action.MOVE_FORWARD for i in range(steps)]
    poses += [simulator.act(action).frame.pose for action in actions]
    simulator.close()
    points = [position_to_habitat((p.x, p.y, 0.0)) for p in poses]
    turns = [rotation_to_habitat(p.yaw) for p in poses]
    return {"episode_id": 0, "trajectory_id": 0, "scene_id": SCENE, "episode_path": "0000-x", "type": "state",
            "question": "Is the lamp on?", "answer": "Yes, it is on.", "start_position": points[0],
            "start_rotation": turns[0], "goal_position": points[-1], "goal_rotation": turns[-1],
            "geodesic_distance": 2.0, "step_length": steps,
            "actions": {f"step_{i}": {"action": a.name.lower(), "position": points[i + 1], "rotation": turns[i + 1]}
                        for i, a in enumerate(actions)}, **changes}


def samples(tmp_path: Path, *records: dict[str, Any], seed: int = 0) -> list[Sample]:
    (tmp_path / "express-bench.json").write_text(json.dumps(records))
    return open_dataset("express", folder=tmp_path, task=EM, seed=seed)


def test_a_trajectory_is_replayed_in_its_scene(tmp_path: Path) -> None:
    record = published(12)
    sample, = samples(tmp_path, record)
    source = benchmark_sources(RunConfig(agent="blind-priors", image="48x36"), None)(sample)
    history = source.open()
    assert isinstance(history, RenderedHistory) and source.name == "0000-x"
    frames = list(history)
    assert len(frames) == 12 and frames[0].rgb.shape == (36, 48, 3)
    ends = [position_to_habitat((*f.map_from_base.xyz[:2], 0.0)) for f in frames]
    assert ends == [pytest.approx(step["position"], abs=1e-5) for step in record["actions"].values()]
    assert frames[0].base_from_camera.xyz[2] == 1.5
    usual = benchmark_sources(RunConfig(agent="blind-priors"), None)(sample).open()
    assert isinstance(usual, RenderedHistory)
    assert (usual.path.robot.camera.width, usual.path.robot.camera.height) == (512, 512)


def test_rendered_frames_in_the_folder_of_histories_come_first(tmp_path: Path) -> None:
    from PIL import Image

    sample, = samples(tmp_path, published(10))
    folder = tmp_path / "h" / "express-v1" / "0000-x"
    folder.mkdir(parents=True)
    Image.new("RGB", (8, 6)).save(folder / "0.png")
    assert len(benchmark_sources(RunConfig(agent="blind-priors"), tmp_path / "h")(sample).open()) == 1


@pytest.mark.parametrize(("steps", "views"), [(10, 1), (19, 1), (54, 5), (100, 10)])
def test_so_many_views_as_the_paper_shows(steps: int, views: int, tmp_path: Path) -> None:
    record = published(1)
    step = record["actions"]["step_0"]
    record["actions"] = {f"step_{i}": step for i in range(steps)}
    sample, = samples(tmp_path, record, seed=4)
    assert (sample.metadata["views"], sample.seed) == (views, 4)
    assert selection_of(RunConfig(agent="express-socratic")) == ViewSelection("random", 0)


def test_the_draw_is_without_repetition_and_the_seeds() -> None:
    stamps = list(range(50))
    draws = [RandomViews.choose(stamps, ViewSelection("random", 5, seed=seed)) for seed in range(200)]
    assert all(len(set(d)) == 5 and d == sorted(d) for d in draws)
    assert RandomViews.choose(stamps, ViewSelection("random", 5, seed=3)) == draws[3]
    assert len(set(map(tuple, draws))) > 190
    counts = np.bincount([i for d in draws for i in d], minlength=50)
    assert counts.min() > 4 and counts.max() < 45  # 20 expected of each
    assert RandomViews.choose(stamps[:3], ViewSelection("random", 5)) == [0, 1, 2]
    check_selection(ViewSelection("random", 0))
    with pytest.raises(ConfigError, match="at least one frame"):
        check_selection(ViewSelection("uniform", 0))


def test_the_captioner_is_told_the_question_and_the_model_not_the_pictures(tmp_path: Path,
                                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    twice = samples(tmp_path, published(22), published(22, episode_id=1, question="Is the door shut?"))
    reply = json.dumps({"answer": "yes", "confidence": 0.8, "images": [1], "abstain": False})
    backend = ScriptedBackend(["a lamp", "a door", reply, "a lamp that is on", "a shut door", reply])
    monkeypatch.setattr(answerers, "open_model", lambda config: backend)
    config = RunConfig(agent="express-socratic", image="48x36")
    runner = HistoryRunner(benchmark_sources(config, None), AnswererSettings(answerer=config.named.answerer),
                           selection_of(config), tmp_path / "cache")
    answers = [runner.run(sample).answer for sample in twice]
    runner.close()
    assert [a.text for a in answers] == ["yes", "yes"] and [a.receipt.calls for a in answers] == [3, 3]
    told = [[part for message in request for part in message.parts if isinstance(part, str)]
            for request in backend.requests]
    assert all(json.dumps("Is the lamp on?") in words for words in told[:2])
    assert all(json.dumps("Is the door shut?") in words for words in told[3:5])
    assert not any(isinstance(p, bytes) for i in (2, 5) for m in backend.requests[i] for p in m.parts)
    frames = [e.frame for a in answers for e in a.evidence]
    assert len(frames) == 2 and len(set(frames)) == 1  # one draw for a trajectory


@pytest.mark.parametrize(("changes", "complaint"), [
    ({"actions": None}, "express-bench.json has as EXPRESS-Bench publishes it"), ({"actions": []}, "slim file"),
    ({"actions": {}}, "at least one step"), ({"actions": {"step_0": {"position": [0, 0, 0]}}}, "step_0.*rotation"),
    ({"actions": {"step_0": 5}}, "step_0")])
def test_a_file_without_trajectories_says_which_to_give(changes: dict[str, object], complaint: str,
                                                        tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=complaint):
        samples(tmp_path, published(1, **changes))


def test_a_rotation_that_is_none_and_a_scene_that_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQA_SCENES", str(tmp_path))
    record = published(1)
    record["actions"]["step_0"]["rotation"] = [2, 0, 0, 0]
    sample, = samples(tmp_path, record)
    find = benchmark_sources(RunConfig(agent="blind-priors"), None)
    with pytest.raises(ConfigError, match="unit quaternion"):
        find(sample)
    away, = samples(tmp_path, published(1, scene_id="hm3d/train/00006-HkseAnWCgqk"))
    with pytest.raises(UnknownScene, match="00006-HkseAnWCgqk"):
        find(away)
