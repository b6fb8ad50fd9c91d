"""Several questions through the graph: one of three is canceled, views are shared, the evidence is driven to."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.config.named_agents import stopping_parameters
from eqa_nodes.core.errors import ErrorCode, NodeLost
from eqa_nodes.core.mapping.area import is_inside
from eqa_nodes.core.types.floor import Area
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.questions import Answer, Limits, Question
from eqa_nodes.recordings.bags.reader import open_bag
from eqa_nodes.recordings.bags.trace import trace_of
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.testing.waiting import until
from tests.fixtures.courses import parameters

pytestmark = pytest.mark.timeout(900)
WAIT_S = 300.0
UNICORN = Question("Where is the unicorn?", limits=Limits(steps=30))
PLANT = Question("Where is the plant?", limits=Limits(steps=120))


class Asking:
    """Asks questions at once, each from a thread, in order: the next one when the agent has heard of this one."""

    def __init__(self, runner: GraphRunner, pool: ThreadPoolExecutor) -> None:
        self._runner, self._pool = runner, pool
        self.cancels: list[threading.Event] = []
        self.feedback: list[list[Any]] = []

    def ask(self, question: Question) -> Future[Answer]:
        heard, cancel, feedback = threading.Event(), threading.Event(), list[Any]()
        self.cancels.append(cancel)
        self.feedback.append(feedback)

        def listen(message: Any) -> None:
            feedback.append(message)
            heard.set()

        answer = self._pool.submit(self._runner.client.ask, question, listen, cancel)
        assert heard.wait(WAIT_S)
        return answer

    def until(self, number: int, done: Callable[[Any], bool]) -> None:
        """Wait until a question was told what a condition looks for."""
        until(lambda: any(map(done, tuple(self.feedback[number]))), f"{self.feedback[number][-1:]}", WAIT_S)


@contextmanager
def asking(runner: GraphRunner) -> Iterator[Asking]:
    with ThreadPoolExecutor(8) as pool:
        made = Asking(runner, pool)
        try:
            yield made
        finally:
            runner.client.stop()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("queue")
    with closing(GraphRunner(folder, parameters(folder, {"agent": {"queue": 3}}))) as shared:
        yield shared


def test_one_of_three_is_canceled_and_the_others_go_on(runner: GraphRunner) -> None:
    runner.client.reset("toy:flat", "three", None, 3)
    with asking(runner) as asks:
        first, second, third = (asks.ask(q) for q in (UNICORN, PLANT, PLANT))
        asks.until(0, lambda f: f.phase == "driving")
        asks.until(2, lambda f: (f.phase, f.place) == ("queued", 2))
        asks.cancels[1].set()
        assert second.result(WAIT_S).error is ErrorCode.CANCELED
        assert second.result().receipt.steps == 0 and not first.done()
        answers = first.result(WAIT_S), third.result(WAIT_S)
        asks.until(2, lambda f: (f.phase, f.place) == ("queued", 1))
    assert answers[0].abstained and not answers[0].error and answers[0].receipt.steps >= 30
    assert answers[1].text and not answers[1].error
    runner.client.end_episode()
    trace = trace_of(runner.folder / "bags" / "three")
    assert (trace.question, trace.answer) == (PLANT.text, answers[1])  # not between the questions of the first


def test_more_than_may_wait_are_rejected_and_stop_ends_all(runner: GraphRunner) -> None:
    runner.client.reset("toy:flat", "full", None, 3)
    with asking(runner) as asks:
        running = asks.ask(UNICORN._replace(limits=Limits()))
        asks.until(0, lambda f: f.phase == "driving")
        waiting = [asks.ask(PLANT) for _ in range(3)]
        with pytest.raises(NodeLost, match="rejected the goal of ask"):
            runner.client.ask(PLANT)
        runner.client.stop()
        assert [a.result(WAIT_S).error for a in (running, *waiting)] == 4 * [ErrorCode.CANCELED]
    assert runner.client.ask(PLANT).error is ErrorCode.NONE


def test_the_question_of_a_client_that_dies_ends_within_its_limits(runner: GraphRunner) -> None:
    """And the next one has its turn: nobody has to be there to hear the end."""
    runner.client.reset("toy:flat", "gone", None, 3)
    with GraphClient(runner.graph.environment) as other, asking(runner) as asks:
        running = asks.ask(UNICORN)
        lonely = UNICORN._replace(text="Where is the dragon?")
        heard = threading.Event()

        def wait_in_vain() -> None:
            with suppress(NodeLost):  # feedback may come before the acceptance, which a closed client does not hear
                other.ask(lonely, lambda _: heard.set())

        threading.Thread(target=wait_in_vain, daemon=True).start()
        assert heard.wait(WAIT_S)
        other.close()
        last = asks.ask(PLANT)
        assert running.result(WAIT_S).abstained and last.result(WAIT_S).text
    runner.client.end_episode()
    with open_bag(runner.folder / "bags" / "gone") as bag:
        asked = [message.data for _, _, message in bag.read(("question",))]
        ends = [(message.question, message.error_code) for _, _, message in bag.read(("answer",))]
    assert asked == [UNICORN.text, lonely.text, PLANT.text] and ends == [(text, ErrorCode.NONE) for text in asked]


def test_it_drives_to_the_evidence_and_turns_to_it(runner: GraphRunner) -> None:
    runner.client.reset("toy:flat", "show", None, 3)
    answer = runner.client.ask(Question("Show me the plant"))
    assert answer.shown and not answer.error, answer.message
    seen_from, pose = answer.evidence[0].pose, runner.client.pose()
    assert pose.distance(seen_from) < 0.5 and abs(wrap(pose.yaw - seen_from.yaw)) < 0.53
    still = runner.client.ask(Question("Where is the plant?", show=True, may_explore=False))
    assert not still.shown and "asked not to move" in still.message and still.receipt.steps == 0


def test_goals_stay_within_the_area(runner: GraphRunner) -> None:
    runner.client.reset("toy:flat", "area", None, 3)
    at = runner.client.pose()
    area: Area = tuple((at.x + x, at.y + y) for x, y in ((-2.0, -2.0), (2.0, -2.0), (2.0, 2.0), (-2.0, 2.0)))
    answer = runner.client.ask(Question("Where is the unicorn?", limits=Limits(area=area)))
    assert answer.abstained and "nothing left within the area" in answer.message
    runner.client.end_episode()
    trace = trace_of(runner.folder / "bags" / "area")
    assert trace.decisions and all(is_inside(area, d.goal.x, d.goal.y) for d in trace.decisions if d.goal)


THREE = tuple(Question(f"Where is the {what}?", limits=Limits(metres=60.0)) for what in ("plant", "sofa", "bed"))


@pytest.mark.thorough
def test_three_questions_in_a_queue_take_less_driving_than_one_by_one(tmp_path: Path) -> None:
    """One by one: each in an episode of its own. In the queue what is seen for one is used for the others."""
    own = {"agent": {**stopping_parameters("label")["agent"], "agent.answer_waiting": True}}
    alone = []
    with closing(GraphRunner(tmp_path, parameters(tmp_path, own))) as runner:
        for number, question in enumerate(THREE):
            runner.client.reset("toy:flat", f"alone-{number}", None, 3)
            alone.append(runner.client.ask(question))
        runner.client.reset("toy:flat", "queue", None, 3)
        with asking(runner) as asks:
            together = [answer.result(WAIT_S) for answer in [asks.ask(question) for question in THREE]]
    metres = [sum(a.receipt.metres for a in answers) for answers in (alone, together)]
    assert not any(a.error or a.abstained for a in (*alone, *together))
    assert metres[1] < metres[0], [[a.receipt.metres for a in answers] for answers in (alone, together)]
