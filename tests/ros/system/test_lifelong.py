"""A memory that outlives the graph: what one graph saw, the next one tells, in the right place and never in another."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Limits, Question
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.ros import convert
from eqa_nodes.ros.client import CALL_S, RESET_S, GraphClient
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.testing.waiting import until
from eqa_nodes.wire import messages
from tests.fixtures.courses import PLANT, course, parameters

SCENE = "toy:flat"
WHEN = Question("When did you last see the {}?")
LEFT = Question("Where did I leave the {}?", may_explore=False)


class Home(NamedTuple):
    """A graph with the memory home.sqlite."""

    runner: GraphRunner
    client: GraphClient
    file: Path

    def begin(self, episode: str, scene: str = SCENE, keep: bool = True, **fields: Any) -> int:
        """Begin an episode; return the stamp of its first observation."""
        message = interface("eqa_interfaces/msg/Episode")(scene=scene, episode_id=episode, keep_memory=keep, **fields)
        return messages.stamp_of(self.client.services["reset_episode"].call(RESET_S, episode=message).episode)

    def look_round(self) -> None:
        """Turn once, to the left."""
        act = self.client.services["act"]
        for _ in range(12):
            act.call(CALL_S, action=act.Request.TURN_LEFT)

    def call(self, service: str, **fields: Any) -> Any:
        return Remotes(self.client.node).service(service).call(CALL_S, **fields)

    def views(self, **fields: Any) -> list[Keyframe]:
        """Return the views of this episode, or those that are recalled."""
        found = self.call("recall", **(fields or {"in_order": True}))
        return [messages.keyframe_of(view) for view in found.keyframes]


@contextmanager
def home(folder: Path, isolate: bool = False, **extra: Any) -> Iterator[Home]:
    own = parameters(folder, {"memory": {"file": "home.sqlite", **extra.pop("memory", {})}, **extra})
    with closing(GraphRunner(folder, own, isolate=isolate)) as runner:
        yield Home(runner, runner.client, folder / "memory" / "home.sqlite")


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Keyframe]]:
    """The folder of a graph that looked round in one scene and ended, and the views it had taken."""
    folder = tmp_path_factory.mktemp("visited")
    with home(folder) as first:
        first.begin("monday", keep=False)
        first.look_round()
        views = first.views()
    assert len(views) > 5
    return folder, views


def kind_in(views: list[Keyframe]) -> str:
    """A kind of thing that the views show, of all of them the one that was seen last the longest ago."""
    last = {s.label.kind: v.stamp_ns for v in views for s in v.sightings if s.label.kind not in ("wall", "stairs")}
    return min(last, key=lambda kind: (last[kind], kind))


@pytest.fixture(scope="module")
def later(looked: tuple[Path, list[Keyframe]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A second graph, with a copy of that memory."""
    folder = tmp_path_factory.mktemp("later")
    shutil.copytree(looked[0] / "memory", folder / "memory")
    with home(folder) as second:
        yield second


def test_the_next_graph_tells_what_the_last_one_saw(looked: tuple[Path, list[Keyframe]], later: Home,
                                                    monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    views, second = looked[1], later
    kind, by_id = kind_in(views), {v.id: v for v in views}
    began = second.begin("tuesday")
    assert began > max(v.stamp_ns for v in views)  # the clock of memory continues, that of the simulator begins anew
    assert len(second.views()) == 0  # the first view is not new
    second.look_round()
    assert len(second.views()) <= 0.2 * len(views)
    response = second.call("recollect", question=WHEN.text.format(kind))
    answer = second.client.ask(WHEN._replace(text=WHEN.text.format(kind)))
    left = second.client.ask(LEFT._replace(text=LEFT.text.format(kind)))
    shown = {v.id: v for v in second.views(text=kind, limit=50)}
    monkeypatch.setenv("ROS_DOMAIN_ID", str(second.runner.graph.domain))
    words = [WHEN.text.format(kind), "--attach", "--keep-memory", "--scene", SCENE]
    assert main(["ask", *words]) == 0  # in an episode of its own
    printed = " ".join(capsys.readouterr().out.split())
    assert f"{kind}, last seen" in printed and " steps" not in printed
    assert response.found and response.text == answer.text and "s after the start" in answer.text
    assert (answer.error, answer.receipt.steps, answer.receipt.calls) == (ErrorCode.NONE, 0, 0)
    assert "labels" in answer.receipt.privileged
    assert answer.evidence and left.evidence and left.error == ErrorCode.NONE
    for e in (*answer.evidence, *left.evidence):
        proof = {**shown, **by_id}[e.keyframe_id]
        assert e.stamp_ns == proof.stamp_ns and e.pose.distance(proof.pose) < 1e-9
        assert shown[e.keyframe_id].jpeg.startswith(b"\xff\xd8")
        assert any(s.label.kind == kind for s in proof.sightings)


def test_another_scene_is_another_place_until_it_is_aligned(looked: tuple[Path, list[Keyframe]], later: Home) -> None:
    views, third = looked[1], later
    kind = kind_in(views)
    third.begin("wednesday", "toy:room")
    assert {v.id for v in third.views(text=kind, limit=50)}.isdisjoint(v.id for v in views)
    told = third.call("recollect", question=LEFT.text.format(kind))
    assert "in a map whose place is not known here" in told.text or not told.found
    assert not told.verify
    third.begin("thursday", "toy:room", map_name="annexe", known_map=SCENE,
                known_from_map=convert.pose_msg(Pose2(0.0, 20.0, 0.0).transform()))
    found = {v.id: v for v in third.views(text=kind, limit=50)}
    shared = [(found[v.id], v) for v in views if v.id in found]
    assert shared
    for here, there in shared:  # 20 m further south, as seen from the annexe
        assert here.pose.distance(Pose2(there.pose.x, there.pose.y - 20.0, 0.0)) < 1e-6
    with pytest.raises(EqaError, match="no map 'attic'"):
        third.begin("friday", "toy:room", map_name="hall", known_map="attic")


def test_forgetting_through_the_graph(later: Home) -> None:
    robot = later
    robot.begin("now", keep=False)
    assert robot.call("forget", everything=True).keyframes > 0
    for refused, complaint in (({}, "select what to forget"), ({"when": "the elephant"}, "is not a time")):
        with pytest.raises(EqaError, match=complaint) as error:
            robot.call("forget", **refused)
        assert error.value.code == ErrorCode.BAD_QUESTION
    robot.look_round()
    views = robot.views()
    kind = kind_in(views)
    showing = {v.id for v in views if any(s.label.kind == kind for s in v.sightings)}
    assert robot.call("forget", kind=kind, when="10 hours ago").keyframes == 0
    assert robot.call("forget", kind=kind).keyframes == len(showing)
    assert not robot.call("recollect", question=WHEN.text.format(kind)).found
    assert {v.id for v in robot.views()} == {v.id for v in views} - showing
    assert robot.call("forget", when="in the last hour").keyframes == len(views) - len(showing)
    robot.look_round()  # it goes on: what was forgotten is new again
    assert kind_in(robot.views())


def test_long_ago_is_looked_at_again_by_driving(looked: tuple[Path, list[Keyframe]], tmp_path: Path) -> None:
    """Where long ago is two seconds."""
    views = looked[1]
    kind = kind_in(views)
    shutil.copytree(looked[0] / "memory", tmp_path / "memory")
    with home(tmp_path, agent={"agent.stale_s": 2.0}, memory={"memory.keyframes.refresh_s": 2.0}) as robot:
        began = robot.begin("sunday", use_start=True, start=convert.pose_msg(_away_from(kind, views).transform()))
        act = robot.client.services["act"]
        for action in 3 * (act.Request.LOOK_UP, act.Request.LOOK_DOWN):
            act.call(CALL_S, action=action)
        answer = robot.client.ask(LEFT._replace(text=LEFT.text.format(kind), may_explore=True))
    assert answer.error == ErrorCode.NONE and answer.receipt.steps > 0 and answer.text
    assert max(e.stamp_ns for e in answer.evidence) > began


def _away_from(kind: str, views: list[Keyframe]) -> Pose2:
    """Return the pose of a view that does not show a thing, nor do its neighbours."""
    without = [all(s.label.kind != kind for s in v.sightings) for v in views]
    return next(views[i].pose for i in range(1, len(views) - 1) if all(without[i - 1:i + 2]))


def test_a_memory_node_that_is_killed_goes_on_in_its_session_and_map(tmp_path: Path) -> None:
    with home(tmp_path, isolate=True) as robot:
        robot.begin("first", keep=False)
        robot.look_round()
        robot.begin("second")
        before = robot.views()
        child = next(child for child in robot.runner.graph.children if child.nodes == ["memory"])
        killed = threading.Event()

        def kill(feedback: Any) -> None:
            if feedback.phase == "driving" and not killed.is_set():
                killed.set()
                os.kill(child.process.pid, signal.SIGKILL)

        answer = robot.client.ask(Question("Where is the unicorn?", limits=Limits(steps=30)), kill)
        assert killed.is_set() and (not answer.error or answer.message)
        until(lambda: child.restarts and child.ready.is_set(), "memory is started again")
        after = robot.views()
        assert {v.id for v in before} <= {v.id for v in after} and len(after) > len(before)
        kind = kind_in(after)
        assert robot.call("recollect", question=WHEN.text.format(kind)).found
    store = MemoryStore(robot.file, write=False)
    assert store.sessions() == [("first", SCENE, 1), ("second", SCENE, 1)]
    stamps = [k.stamp_ns for k in store.since(0)]
    assert stamps == sorted(stamps) and store.session_began_ns is not None and store.session_began_ns <= stamps[0]
    store.close()


def test_days_pass_through_the_graph_as_in_process(tmp_path: Path) -> None:
    where = replace(PLANT, question="Where was the plant yesterday morning?")
    days = {"2026-11-12T08:30": PLANT, "2026-11-13T19:00": where}
    results = []
    for runs in (GraphRunner, InProcessRunner):
        for start, sample in days.items():
            folder = tmp_path / runs.__name__
            own = parameters(folder, {"memory": {"file": "home.sqlite"}, "bridge": {"clock_start": start}})
            runner = GraphRunner(folder, own) if runs is GraphRunner else InProcessRunner(own)
            with closing(runner):
                results.append(course(runner.run(sample)))
    assert results[:2] == results[2:] and "yesterday at 08:30" in results[1].answer[0]
