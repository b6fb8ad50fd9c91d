"""Queues questions (action ask), runs the core agent with the other nodes as its parts, and begins episodes."""

from __future__ import annotations

import threading
from typing import Any

from std_msgs.msg import String

from eqa_nodes.config.nodes import AgentSettings
from eqa_nodes.core.agent.person import Replies
from eqa_nodes.core.agent.questions import Agent, QuestionQueue
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Question
from eqa_nodes.core.types.trace import TraceDecision
from eqa_nodes.ros import convert
from eqa_nodes.ros.asking import AskServer, Goal
from eqa_nodes.ros.episodes import EPISODE, Episodes
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.odometry import ODOMETRIES
from eqa_nodes.ros.ports import connect
from eqa_nodes.ros.process import run_node


class AgentNode(EqaNode[AgentSettings]):
    """Answers questions one at a time, in order of arrival, because there is one robot."""

    row = "agent"

    def configure(self) -> None:
        self.odometry = ODOMETRIES[self.config.odometry](self)
        self.replies = Replies()
        self.ports = connect(self, self.odometry, self.replies)
        self.episodes = Episodes(self, self.odometry)
        self.diagnostics.add(EPISODE, self.episodes.report)
        for key in self.spec.publishes:
            self.out(key)
        self._speaking, self._speech_lock = False, threading.Lock()
        self._shown: Decision | None = None
        self._later: list[tuple[Question, Answer]] = []
        self.queue = QuestionQueue(self._agent(self.config), self.config.queue)
        self.serve("reset_episode", self._reset)
        self.serve("reply", self._reply)
        self.asking = AskServer(self, self.queue, self._begin, self._end, self._show)

    def activate(self) -> None:
        self.episodes.start()

    def deactivate(self) -> None:
        self.queue.cancel_all()

    def release(self) -> None:
        self.episodes.stop()
        self.queue.close()

    def reconfigured(self, old: AgentSettings, new: AgentSettings) -> None:
        """Use a new agent for later questions; waiting questions keep theirs."""
        self.queue.agent = self._agent(new)

    def _agent(self, config: AgentSettings) -> Agent:
        return Agent(self.ports, config.agent, drive=config.node.drive)

    def _begin(self, goal: Goal) -> None:
        """Begin the next question of the queue. Raises StaleData if no episode has begun."""
        with self._speech_lock:
            self._speaking = True
            self.send("question", String(data=goal.question.text))
        self.episodes.await_begun()

    def _end(self, goal: Goal, answer: Answer) -> None:
        """Publish an answer after its question. Answers to questions that never began wait until no other is open."""
        with self._speech_lock:
            if goal.begun:
                self._speaking = False
                self._publish(goal.question, answer)
            else:
                self._later.append((goal.question, answer))
            while self._later and not self._speaking:
                question, earlier = self._later.pop(0)
                self.send("question", String(data=question.text))
                self._publish(question, earlier)

    def _publish(self, question: Question, answer: Answer) -> None:
        self.send("answer", convert.answer_msg(answer, question, self.odometry.newest_ns))

    def _show(self, feedback: Any, progress: Progress) -> None:
        """Add the decision to the feedback; publish decision and model calls for recorder, console and RViz."""
        if progress.call is not None:
            self.send("model_calls", convert.call_msg(progress.call))
        if progress.inquiry is not None:
            self.send("inquiry", convert.inquiry_msg(progress.inquiry))
        decision = progress.decision
        if decision is None or decision.goal is None:
            return
        at, pose = self.odometry.last()
        feedback.goal, feedback.reason = convert.goal_msg(decision.goal, at), decision.reason
        feedback.explored = float(decision.explored)
        if decision is self._shown:  # already published when a person was asked to confirm it
            return
        self._shown = decision
        self.send("goal", feedback.goal)
        entry = TraceDecision(at, pose, decision.goal, decision.reason, decision.candidates, marks=decision.marks)
        self.send("decision", convert.decision_msg(entry, decision.goal, decision.explored))

    def _reply(self, request: Any, response: Any) -> Any:
        self.replies.reply(request.inquiry_id, request.option)
        return response

    def _reset(self, request: Any, response: Any) -> Any:
        """Begin an episode between two questions."""
        with self.queue.paused():
            response.episode = self.episodes.begin(request.episode)
        return response


def main() -> int:
    """Run the node."""
    return run_node(AgentNode)
