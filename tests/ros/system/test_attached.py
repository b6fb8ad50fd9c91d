"""`eqa bench run --attach`: a graph that somebody else started gives the results of the chain in process."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import Popen

import pytest

from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.cli import main
from eqa_nodes.config.graph import write_file
from eqa_nodes.config.run import PROCESS, RunConfig
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.ros.environment import free_domain, ros_environment
from eqa_nodes.ros.runner import RunningGraph
from eqa_nodes.runners import in_graph
from eqa_nodes.runners.in_graph import AttachedRunner, attached_config
from eqa_nodes.runners.opening import open_runner
from eqa_nodes.wire.graph import OBSERVERS, TOPICS, nodes_of, own_world

LIMITS = Limits(steps=30)
OWN = RunConfig(policy="frontier", image="160x120", limits=LIMITS)
SAMPLES = [Sample("plant", "Where is the plant?", "on the floor", scene="toy:flat", seed=3),
           Sample("again", "Where is the plant?", "on the floor", scene="toy:room", seed=5)]


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


def test_two_in_one_domain_are_each_alone(tmp_path: Path) -> None:
    """They share neither clock nor transforms, as launch files start them in namespaces; the frames have one name."""
    scenes = {"r1": SAMPLES[0], "r2": SAMPLES[1]}
    with closing(open_runner(replace(OWN, through=PROCESS, folder=tmp_path / "alone"))) as runner:
        expected = {name: course(runner.run(sample)) for name, sample in scenes.items()}
    with in_namespaces(tmp_path, scenes), ThreadPoolExecutor(len(scenes)) as pool, ExitStack() as stack:
        runners = {name: stack.enter_context(closing(AttachedRunner(name, LIMITS))) for name in scenes}
        found = {name: pool.submit(runners[name].run, sample) for name, sample in scenes.items()}
        assert {name: course(result.result()) for name, result in found.items()} == expected
        names = dict(next(iter(runners.values()))._client.node.get_topic_names_and_types())
    assert {"/r1/tf", "/r1/tf_static", "/r1/clock", "/r2/tf"} <= names.keys() and not {"/tf", "/clock"} & names.keys()


@contextmanager
def in_namespaces(folder: Path, namespaces: Iterable[str]) -> Iterator[None]:
    """Run a graph in each namespace, as `composed:=true` of the launch file does, in one domain."""
    nodes = [name for name in nodes_of("sim") if name != "recorder"]
    with free_domain() as domain, ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(domain))
        for name in namespaces:
            config = replace(OWN, folder=folder / name)
            observers = {"observers": tuple(n for n in OBSERVERS if n in nodes)}
            write_file(folder / f"{name}.yaml",
                       config.with_overrides({"agent": observers, "bridge": observers}).parameters)
            rules = [word for key, new in own_world(name).items()
                     for word in ("-r", f"{TOPICS[key].name}:={new}")]
            process = stack.enter_context(Popen(
                [sys.executable, "-m", "eqa_nodes.launching.graph", "--nodes", ",".join(nodes), "--ros-args",
                 "-r", f"__ns:=/{name}", *rules, "--params-file", str(folder / f"{name}.yaml")],
                env={**os.environ, **ros_environment(domain, folder / name)}))
            stack.callback(process.wait)
            stack.callback(process.send_signal, signal.SIGINT)
        yield


def test_a_run_notes_the_parameters_of_the_graph(graph: Path, tmp_path: Path) -> None:
    config = attached_config(RunConfig(limits=LIMITS, folder=tmp_path))
    assert config.named.policy == "frontier" and config.named.answerer == "label"
    assert config.settings.bridge.robot.camera.width == 160 and config.settings.memory.labels
    assert "camera.width is 160" in in_graph.other_robot(replace(config, dataset="house"))
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
    monkeypatch.setattr(in_graph, "FOUND_S", 1.0)
    with free_domain() as domain:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
        with pytest.raises(NodeLost, match="ros2 launch eqa_nodes sim.launch.py"):
            attached_config(RunConfig())
