"""Goals of the action ask. Each is a question in the agent's queue with its own feedback, result and cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.action import CancelResponse, GoalResponse
from rclpy.clock import Clock, ClockType
from rclpy.serialization import serialize_message

from eqa_nodes.core.agent.questions import QuestionQueue, QueuedQuestion, internal
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Question
from eqa_nodes.ros import convert
from eqa_nodes.ros.actions import ConcurrentActionServer
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import ACTIONS

CANCELING_S, POLL_S = 5.0, 0.01  # deadline for rclpy to mark a goal as canceling after its cancel callback
RESULT_S = 900  # time for the client to fetch the answer; rclpy's default is 10 s
TELL_S = 1.0  # period of feedback to waiting questions with their place in the queue: feedback may be lost


class Goal:
    """One goal in progress; implements Asker."""

    def __init__(self, handle: Any, begin: Callable[[Goal], None], end: Callable[[Goal, Answer], None],
                 show: Callable[[Any, Progress], None]) -> None:
        """show: completes the feedback with a progress and publishes what belongs on other topics."""
        self.handle, self.question = handle, Question(handle.request.question.text)
        self._begin, self._end, self._show = begin, end, show
        self.asked: QueuedQuestion | None = None
        self.begun = self.canceled = False
        self._carry(Answer(abstained=True))
        self._done = threading.Event()

    def progress(self, progress: Progress) -> None:
        """Publish feedback. It may be lost, so nothing depends on it."""
        feedback = interface(ACTIONS["ask"].type).Feedback(
            phase=progress.phase, steps=progress.steps, metres=progress.metres, confidence=float(progress.confidence),
            place=progress.place)
        self._show(feedback, progress)
        if progress.call is not None or progress.judged:
            return  # these have topics of their own, and the phase has not changed
        with suppress(RCLError, InvalidHandle):  # the publisher was destroyed at the end, or its queue is full
            self.handle.publish_feedback(feedback)

    def begins(self) -> None:
        """Start the goal: its question is the next to be answered."""
        self._execute()
        self._begin(self)

    def ends(self, answer: Answer) -> None:
        """Store the answer for `result` and pass it to the node."""
        self._carry(answer)
        try:
            self._end(self, self.answer)
        finally:
            self._done.set()
        if not self.begun:
            self._execute()

    def _execute(self) -> None:
        self.begun = True
        try:
            self.handle.execute()
        except RCLError:  # canceled at the same moment: that state is now final
            self.handle.execute()

    def result(self) -> Any:
        """Wait for the end, set the goal's state and return its result."""
        self._done.wait()  # the question's own limits and deadlines bound it
        end = time.monotonic() + CANCELING_S
        while self.canceled and not self.handle.is_cancel_requested and time.monotonic() < end:
            time.sleep(POLL_S)
        result = self._result
        if self.handle.is_cancel_requested:
            self.handle.canceled()
        elif self.answer.error:
            self.handle.abort()
        else:
            self.handle.succeed()
        return result

    def _carry(self, answer: Answer) -> None:
        """Store an answer and its message. One that ROS cannot serialize becomes an error; rclpy would drop it."""
        empty = interface(ACTIONS["ask"].type).Result
        self.answer = answer
        try:
            self._result = convert.fill_result(empty(), answer)
            serialize_message(self._result)
        except Exception as error:
            self.answer = internal(error)
            self._result = convert.fill_result(empty(), self.answer)


class AskServer:
    """Serves the action ask from a queue.

    begin: called when a question begins, may raise EqaError; end: called for each question that ends, even if it never
    began; show: completes the feedback with a progress.
    """

    def __init__(self, node: EqaNode, queue: QuestionQueue, begin: Callable[[Goal], None],
                 end: Callable[[Goal, Answer], None], show: Callable[[Any, Progress], None]) -> None:
        self._node, self._queue = node, queue
        self._begin, self._end, self._show = begin, end, show
        self._goals: dict[bytes, Goal] = {}
        self._early: set[bytes] = set()  # goals that were cancelled before rclpy passed them to _accepted
        self._noting = threading.Lock()
        port = ACTIONS["ask"]
        self._server = ConcurrentActionServer(
            node, interface(port.type), port.name, self._execute, goal_callback=self._offered,
            handle_accepted_callback=self._accepted, cancel_callback=self._cancel, callback_group=node.call_group,
            result_timeout=RESULT_S)
        node.inject_faults("ask", self._server)
        node.create_timer(TELL_S, queue.tell, callback_group=node.call_group,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _offered(self, _: Any) -> GoalResponse:
        if not self._node.active:
            self._node.count("question rejected: the agent is not active")
        elif not self._queue.full:
            return GoalResponse.ACCEPT
        else:
            self._node.count(f"question rejected: {self._node.config.queue} wait already")
        return GoalResponse.REJECT

    def _accepted(self, handle: Any) -> None:
        """Put a question into the queue. Its goal is already accepted, so an error becomes its answer."""
        with self._noting:
            goal = self._goals[_key(handle)] = Goal(handle, self._begin, self._end, self._show)
            goal.canceled = _key(handle) in self._early
            self._early.discard(_key(handle))
        try:
            goal.question = messages.question_of(handle.request.question)
            goal.asked = self._queue.put(goal.question, goal)
        except EqaError as error:  # for example, two arrived at once for the last place
            goal.ends(Answer(abstained=True, error=error.code, message=str(error)))
        except Exception as error:
            goal.ends(internal(error))
        else:
            if goal.canceled:  # before it was in the queue
                self._queue.cancel(goal.asked)

    def _execute(self, handle: Any) -> Any:
        try:
            return self._goals[_key(handle)].result()
        finally:
            del self._goals[_key(handle)]

    def _cancel(self, handle: Any) -> CancelResponse:
        with self._noting:
            goal = self._goals.get(_key(handle))
            if goal is not None:
                goal.canceled = True
            elif handle.is_active:
                self._early.add(_key(handle))
            else:
                return CancelResponse.REJECT  # it has ended
        if goal is not None and goal.asked is not None:
            self._queue.cancel(goal.asked)
        return CancelResponse.ACCEPT


def _key(handle: Any) -> bytes:
    return bytes(handle.goal_id.uuid)
