"""Takes questions (action ask) and runs the core agent over the other nodes; begins episodes."""

from __future__ import annotations

import threading
import traceback
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from std_msgs.msg import String

from eqa_nodes.core.agent import Agent, Progress
from eqa_nodes.core.codec import dumps
from eqa_nodes.core.errors import ErrorCode, SimulatorError
from eqa_nodes.core.trace import TraceDecision
from eqa_nodes.core.types import Answer, Limits, Question
from eqa_nodes.graph import ACTIONS
from eqa_nodes.messages import stamp_of
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode, run_node
from eqa_nodes.ros.odometry import ODOMETRIES
from eqa_nodes.ros.ports import connect


class AgentNode(EqaNode):
    """One question at a time; the next one waits."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("agent", **kwargs)
        self.odometry = ODOMETRIES[self.config.odometry](self)
        self.ports = connect(self, self.odometry)
        self._busy = threading.Lock()
        self._running: Agent | None = None
        self._resets = [f"reset_{observer}" for observer in self.config.observers]
        self._remote = {key: self.remote(key) for key in ("reset_simulator", *self._resets)}
        for key in self.spec.publishes:
            self.out(key)
        self.serve("reset_episode", self._reset)
        port = ACTIONS["ask"]
        ActionServer(self, interface(port.type), port.name, self._ask, cancel_callback=self._cancel,
                     callback_group=self.call_group)

    def _ask(self, handle: Any) -> Any:
        question = _question(handle.request)
        with self._busy:
            self.send("question", String(data=question.text))
            self._running = Agent(self.ports, self.config.agent, lambda p: self._progress(handle, p))
            try:
                answer = self._running.ask(question)
            except Exception as error:  # whoever asked must hear of it
                self.get_logger().error(traceback.format_exc())
                answer = Answer(abstained=True, error=ErrorCode.INTERNAL, message=repr(error))
            finally:
                self._running = None
            self.send("answer", String(data=dumps(answer)))
        result = convert.fill_answer(interface(ACTIONS["ask"].type).Result(), answer)
        if handle.is_cancel_requested:
            handle.canceled()
        elif answer.error:
            handle.abort()
        else:
            handle.succeed()
        return result

    def _cancel(self, _: Any) -> CancelResponse:
        if self._running is not None:
            self._running.cancel()
        return CancelResponse.ACCEPT

    def _progress(self, handle: Any, progress: Progress) -> None:
        feedback = interface(ACTIONS["ask"].type).Feedback(
            phase=progress.phase, steps=progress.steps, metres=progress.metres, confidence=float(progress.confidence))
        decision = progress.decision
        if decision is not None and decision.goal is not None:
            at, pose = self.odometry.last()
            feedback.goal, feedback.reason = convert.goal_msg(decision.goal, at), decision.reason
            feedback.explored = float(decision.explored)
            self.send("goal", feedback.goal)
            entry = TraceDecision(at, pose, decision.goal, decision.reason, decision.candidates,
                                  marks=decision.marks)
            self.send("decision", String(data=dumps(entry)))
        handle.publish_feedback(feedback)

    def _reset(self, request: Any, response: Any) -> Any:
        """Begin an episode: the simulator first (it gives the stamp), who observes, the first observation."""
        with self._busy:
            deadline = self.config.node.call_deadline_s
            request.episode.header = convert.header(self.odometry.newest_ns)
            response.episode = self._begun(request.episode, deadline)
            self.send("episode", response.episode)
            self.odometry.begin(stamp_of(response.episode))
        return response

    def _begun(self, asked: Any, deadline_s: float) -> Any:
        """Return the episode as begun; it begins once more, later, where memory has seen stamps as late as its own."""
        for _ in range(2):
            begun = self._remote["reset_simulator"].call(deadline_s, episode=asked).episode
            for key in self._resets:
                told = self._remote[key].call(deadline_s, episode=begun).episode
                if stamp_of(told) > stamp_of(begun):
                    asked.header = told.header
                    break
            else:
                return begun
        raise SimulatorError(f"the episode begins at {stamp_of(begun) / 1e9:.3f} s, and memory has seen "
                             f"{stamp_of(told) / 1e9:.3f} s: begin it without keep_memory")


def _question(goal: Any) -> Question:
    limits = Limits(goal.max_steps, goal.max_metres, goal.max_seconds, goal.max_calls)
    return Question(goal.question, goal.question_id, tuple(goal.choices), goal.may_explore, limits, goal.force_guess,
                    goal.seed)


def main() -> int:
    """Run the node."""
    return run_node(AgentNode)
