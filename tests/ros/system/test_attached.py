"""`eqa bench run --attach`: a graph that somebody else started gives the results of the chain in process."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import EpisodeResult, run_benchmark
from eqa_nodes.bench.samples import Sample
from eqa_nodes.cli import main
from eqa_nodes.config.run import PROCESS, RunConfig
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.ros.environment import free_domain
from eqa_nodes.ros.runner import RunningGraph
from eqa_nodes.runners import attached
from eqa_nodes.runners.attached import AttachedRunner, attached_config
from eqa_nodes.runners.opening import open_runner

LIMITS = Limits(steps=40)
OWN = RunConfig(policy="frontier", image="160x120", limits=LIMITS)
SAMPLES = [Sample("plant", "Where is the plant?", "on the floor", scene="toy:flat", seed=3),
           Sample("again", "Where is the plant?", "on the floor", scene="toy:flat", seed=5)]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A graph in a domain that clients of this process find in their environment; its folder."""
    folder = tmp_path_factory.mktemp("graph")
    before = os.environ.get("ROS_DOMAIN_ID")
    with RunningGraph(folder, replace(OWN, folder=folder).parameters) as running:
        os.environ["ROS_DOMAIN_ID"] = running.environment["ROS_DOMAIN_ID"]
        yield folder
    if before is None:
        del os.environ["ROS_DOMAIN_ID"]
    else:
        os.environ["ROS_DOMAIN_ID"] = before


def course(result: EpisodeResult) -> tuple[object, ...]:
    """Return what must be equal; stamps count from the first observation."""
    trace, answer = result.trace, result.answer
    assert trace is not None and answer.error == 0, answer.message
    start = trace.poses[0][0]
    return (tuple((stamp - start, pose) for stamp, pose in trace.poses), trace.view, trace.question,
            tuple((d.stamp_ns - start, d.goal, d.reason) for d in trace.decisions),
            tuple((k.stamp_ns - start, k.jpeg) for k in trace.keyframes), result.final_pose, answer.text,
            answer.confidence, tuple(e.keyframe_id for e in answer.evidence), replace(answer.receipt, seconds=0.0),
            trace.grid.cells.tobytes())


def test_poses_decisions_answers_and_traces_are_those_in_process(graph: Path, tmp_path: Path) -> None:
    with closing(open_runner(replace(OWN, through=PROCESS, folder=tmp_path))) as runner:
        expected = [course(runner.run(sample)) for sample in SAMPLES]
    with closing(AttachedRunner(limits=LIMITS)) as runner:
        found = [course(runner.run(sample)) for sample in SAMPLES]
    assert len(expected[0][0]) > 10 and found == expected


def test_a_run_notes_the_parameters_of_the_graph(graph: Path, tmp_path: Path) -> None:
    config = attached_config(RunConfig(limits=LIMITS, folder=tmp_path))
    assert config.named.policy == "frontier" and config.named.answerer == "label"
    assert config.settings.bridge.robot.camera.width == 160 and config.settings.memory.labels
    assert "camera.width is 160" in attached.other_robot(replace(config, dataset="house"))
    with closing(open_runner(config)) as runner:
        summary = run_benchmark(SAMPLES[:1], runner, tmp_path / "run", config={"nodes": dict(config.parameters)})
    assert summary.asked == 1 and not summary.failed
    assert read_predictions(tmp_path / "run").predictions["plant"].trace
    assert read_json(tmp_path / "run" / "manifest.json")["config"]["nodes"]["explorer"]["policy"] == "frontier"


def test_what_the_launch_decides_is_refused_here(capsys: pytest.CaptureFixture[str]) -> None:
    for options, reason in ((["--policy", "random"], "give them to ros2 launch"), (["--workers", "2"], "one robot"),
                            (["--task", "em"], "leave out --task em")):
        assert main(["bench", "run", "--attach", *options]) == 2
        assert reason in " ".join(capsys.readouterr().err.split())
    assert main(["bench", "run", "--namespace", "r1"]) == 2
    assert "needs --attach" in capsys.readouterr().err


def test_without_a_graph_the_error_says_how_to_start_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "FOUND_S", 1.0)
    with free_domain() as domain:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
        with pytest.raises(NodeLost, match="ros2 launch eqa_nodes sim.launch.py"):
            attached_config(RunConfig())
