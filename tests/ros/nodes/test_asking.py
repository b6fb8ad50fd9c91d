"""Goals of the action ask on real rclpy: many at once, called off at once; each that was accepted ends."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from rclpy._rclpy_pybind11 import RCLError
from rclpy.action import CancelResponse

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import QUEUE_LIMIT, QuestionQueue
from eqa_nodes.core.errors import ErrorCode, NodeLost
from eqa_nodes.core.types.questions import Answer, Question, Receipt
from eqa_nodes.ros.actions import answer_patiently
from eqa_nodes.ros.asking import AskServer
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.testing.waiting import until

WAIT_S = 60.0
MANY, STORM = 16, 30


class Found:
    """An episode that ends when the body is let go, or when it is called off."""

    def __init__(self, body: Body, question: Question, canceled: Any) -> None:
        self.body, self.question, self.canceled = body, question, canceled

    def run(self) -> Answer:
        while not self.body.go.wait(0.01):
            if self.canceled():
                return Answer(abstained=True, error=ErrorCode.CANCELED, message="called off")
        return self.body.answer or Answer(f"about {self.question.text}", 1.0)


class Body:
    """An agent without a robot."""

    def __init__(self) -> None:
        self.config, self.go = AgentConfig(answer_waiting=False), threading.Event()
        self.ports, self.navigator, self.answerer = self, self, None
        self.answer: Answer | None = None

    def _replace(self, **_: object) -> Body:
        return self

    def cancel(self) -> None:
        """It does not drive."""

    def episode(self, question: Question, listener: object, canceled: Any, turn: object) -> Found:
        return Found(self, question, canceled)


class Desk(EqaNode):
    """The agent's node with a body of the test's."""

    row = "agent"

    def configure(self) -> None:
        self.body, self.ends = Body(), list[Answer]()
        self.queue = QuestionQueue(self.body, self.config.queue)  # type: ignore[arg-type]
        self.asking = AskServer(self, self.queue, lambda goal: None, lambda goal, answer: self.ends.append(answer),
                                lambda feedback, progress: None)

    def release(self) -> None:
        self.queue.close()


@pytest.fixture
def desk(ros: Any) -> Iterator[tuple[Desk, GraphClient]]:
    node = ros.add(Desk)
    domain = {"ROS_DOMAIN_ID": str(ros.context.get_domain_id())}
    with closing(GraphClient(domain)) as client:
        yield node, client


class Crowd:
    """Asks many questions of one client at the same moment."""

    def __init__(self, client: GraphClient, pool: ThreadPoolExecutor, many: int) -> None:
        self._client, self._together = client, threading.Barrier(many)
        self.cancels = [threading.Event() for _ in range(many)]
        self.answers = [pool.submit(self._ask, number) for number in range(many)]

    def _ask(self, number: int) -> Answer:
        self._together.wait(WAIT_S)
        return self._client.ask(Question(f"Where is {number}?"), lambda _: None, self.cancels[number], WAIT_S)


@pytest.mark.parametrize("wait", [True, False], ids=["in the queue", "on their way"])
def test_a_storm_of_cancels_loses_no_goal(desk: Any, wait: bool) -> None:
    node, client = desk
    with ThreadPoolExecutor(STORM) as pool:
        crowd = Crowd(client, pool, STORM)
        if wait:
            until(lambda: len(node.asking._goals) == STORM, "all goals wait: feedback would not tell, it may be lost")
        for cancel in crowd.cancels:
            cancel.set()
        ends = [answer.result(WAIT_S) for answer in crowd.answers]
    assert {end.error for end in ends} == {ErrorCode.CANCELED} and len(node.ends) == STORM
    node.body.go.set()
    assert client.ask(Question("And now?"), deadline_s=WAIT_S).text == "about And now?"
    assert not node.asking._goals and not node.asking._early


def test_a_stop_ends_all_also_while_some_end_and_others_come(desk: Any) -> None:
    """A goal that ends just then is no reason to pass over the next one."""
    node, client = desk
    with ThreadPoolExecutor(STORM) as pool:
        crowd = Crowd(client, pool, STORM)
        until(lambda: len(node.asking._goals) >= STORM // 2, "half of the goals wait")
        for cancel in crowd.cancels[:5]:
            cancel.set()
        while not all(answer.done() for answer in crowd.answers):
            client.stop()
        assert {answer.result().error for answer in crowd.answers} == {ErrorCode.CANCELED}


def test_one_that_may_not_be_called_off_hides_no_other(desk: Any) -> None:
    """rclpy's own server passes over the goal after each that it takes out of its list."""
    node, client = desk
    server, kept = node.asking._server, ("Where is 0?", "Where is 3?", "Where is 4?")
    call_off = server._cancel_callback
    server.register_cancel_callback(
        lambda handle: CancelResponse.REJECT if handle.request.question.text in kept else call_off(handle))
    with ThreadPoolExecutor(MANY) as pool:
        crowd = Crowd(client, pool, MANY)
        until(lambda: len(node.asking._goals) == MANY, "all goals wait")
        assert client._called_off(time.monotonic() + WAIT_S)  # one request for all of them
        ends = [crowd.answers[n].result(WAIT_S) for n in range(MANY) if n not in (0, 3, 4)]
        assert {end.error for end in ends} == {ErrorCode.CANCELED}
        node.body.go.set()
        assert all(crowd.answers[n].result(WAIT_S).text for n in (0, 3, 4))


def test_more_than_may_wait_are_each_told(desk: Any) -> None:
    node, client = desk
    many = QUEUE_LIMIT + 8
    with ThreadPoolExecutor(many) as pool:
        crowd = Crowd(client, pool, many)
        next(as_completed(crowd.answers, WAIT_S))  # nobody is answered yet: it is one that may not wait
        node.body.go.set()
        ends = [answer.exception() or answer.result() for answer in crowd.answers]
    told = [end for end in ends if isinstance(end, NodeLost) or end.error is ErrorCode.QUEUE_FULL]
    assert told and all("rejected" in str(end) for end in told if isinstance(end, NodeLost))
    assert all(end.text for end in ends if end not in told)


def test_a_question_that_the_queue_cannot_take_ends_by_name(desk: Any) -> None:
    node, client = desk
    node.queue.put = lambda *_: 1 / 0
    answer = client.ask(Question("Where?"), deadline_s=WAIT_S)
    assert answer.error is ErrorCode.INTERNAL and "ZeroDivisionError" in answer.message


@pytest.mark.parametrize("answer", [
    Answer("in \ud800", 0.5), Answer("here", 0.5, receipt=Receipt(tokens_in=10**40)),
    Answer("here", receipt=Receipt(-1))])
def test_an_answer_that_ros_cannot_carry_is_no_lost_goal(desk: Any, answer: Answer) -> None:
    node, client = desk
    node.body.answer = answer
    node.body.go.set()
    heard = client.ask(Question("Where?"), deadline_s=WAIT_S)
    assert heard.text == "in \ufffd" if answer.text != "here" else heard.error is ErrorCode.INTERNAL


class Undiscovered:
    """Answers as the middleware does while it has not discovered the client: each waits 0.1 s and is given up."""

    def __init__(self) -> None:
        self.discovered, self.given_up = threading.Event(), list[Any]()

    def gives_up(self, answer: Any) -> bool:
        if self.discovered.wait(0.1):
            return False
        self.given_up.append(answer)
        return True


def test_goals_of_a_client_that_is_discovered_late_hold_nobody_up(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are accepted meanwhile, although they are more than the node has threads, and executed then."""
    (node, client), middleware = desk, Undiscovered()
    handle = type(node.asking._server._handle)
    send = handle.send_goal_response

    def sent(own: Any, header: Any, response: Any) -> None:
        if middleware.gives_up(response):
            raise RCLError("Failed to send goal response: timeout")
        send(own, header, response)

    monkeypatch.setattr(handle, "send_goal_response", sent)
    node.body.go.set()
    with ThreadPoolExecutor(MANY) as pool:
        crowd = Crowd(client, pool, MANY)
        until(lambda: len(node.asking._server._goal_handles) == MANY, "the server has accepted all goals")
        before = len(middleware.given_up)
        until(lambda: len(middleware.given_up) > before + 3, "their answers are given up again")
        middleware.discovered.set()
        answers = [answer.result(WAIT_S) for answer in crowd.answers]
    assert [a.text for a in answers] == [f"about Where is {n}?" for n in range(MANY)]


def test_a_goal_whose_client_never_hears_of_it_ends(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (node, client), middleware = desk, Undiscovered()
    monkeypatch.setattr("eqa_nodes.ros.actions.ANSWER_S", 0.3)
    monkeypatch.setattr("eqa_nodes.ros.remote.DISCOVERY_S", 1.0)
    handle = type(node.asking._server._handle)

    def never(own: Any, header: Any, response: Any) -> None:
        assert middleware.gives_up(response)
        raise RCLError("Failed to send goal response: timeout")

    monkeypatch.setattr(handle, "send_goal_response", never)
    with pytest.raises(NodeLost, match="did not answer ask within 1 s"):
        client.ask(Question("Where?"), deadline_s=WAIT_S)
    goal, = node.asking._server._goal_handles.values()
    until(lambda: goal.status == GoalStatus.STATUS_CANCELED)
    assert not node.ends


def test_a_service_sends_an_answer_that_was_given_up_again_and_others_meanwhile() -> None:
    middleware, sent = Undiscovered(), list[str]()

    class Service:
        def send_response(self, response: str, header: int) -> None:
            if header == 1 and middleware.gives_up(response):
                warnings.warn("failed to send response (timeout): client will not receive response", RuntimeWarning,
                              stacklevel=1)
            else:
                sent.append(response)

    service = Service()
    answer_patiently(service)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        service.send_response("yes", 1)
        service.send_response("no", 2)
        until(lambda: len(middleware.given_up) > 3)
        assert sent == ["no"]
        middleware.discovered.set()
        until(lambda: len(sent) == 2)
    assert sent == ["no", "yes"]
