"""The agent's ports over topics, services and actions: what is an object in process is a node here."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Point

from eqa_nodes import messages
from eqa_nodes.core.agent import Ports
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.core.geometry import Pose2, pose2_of
from eqa_nodes.core.types import (
    Answer,
    Decision,
    Keyframe,
    NavCode,
    NavResult,
    Question,
    Recalled,
    RecallQuery,
    Receipt,
    Travelled,
    ViewAssessment,
)
from eqa_nodes.nodes.navigator import NAV_CODES
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode, call, wait_for

DRIVE_WALL_S = 600.0  # a drive that has not ended after this is called off: its node is stuck


class BridgeOdometry:
    """Counts and pose as the simulator's bridge reports them."""

    def __init__(self, node: EqaNode) -> None:
        self._client, self._deadline = node.client("act"), node.config.node.call_deadline_s

    def status(self) -> Any:
        """Return the Act response of the last action."""
        request = interface("eqa_interfaces/srv/Act").Request
        return call(self._client, request(action=request.STATUS), self._deadline)

    def travelled(self) -> Travelled:
        status = self.status()
        return Travelled(status.steps, status.metres)

    def last(self) -> tuple[int, Pose2]:
        status = self.status()
        return messages.ns_of(status.stamp), pose2_of(messages.pose_of(status.pose))


class RosMemory:
    """Recall through the memory node; remembers the largest id it has handed out per call."""

    def __init__(self, node: EqaNode) -> None:
        self._client, self._deadline = node.client("recall"), node.config.node.call_deadline_s

    def recall(self, query: RecallQuery) -> list[Recalled]:
        request = interface("eqa_interfaces/srv/Recall").Request(
            text=query.text, limit=query.limit, after=convert.time_of(query.after_ns), before=convert.time_of(query.before_ns))
        if query.near is not None:
            x, y, request.radius = query.near
            request.use_near, request.near = True, Point(x=x, y=y)
        response = call(self._client, request, self._deadline)
        frames = [messages.keyframe_of(k) for k in response.keyframes]
        return [Recalled(k, score, why) for k, score, why in zip(frames, response.scores, response.reasons)]

    def since(self, keyframe_id: int) -> list[Keyframe]:
        request = interface("eqa_interfaces/srv/Recall").Request(since_keyframe=keyframe_id, in_order=True)
        return [messages.keyframe_of(k) for k in call(self._client, request, self._deadline).keyframes]


class RosExplorer:
    """Decisions of the explorer node on the map of the newest observation."""

    def __init__(self, node: EqaNode, odometry: BridgeOdometry) -> None:
        self._client, self._deadline = node.client("choose_goal"), node.config.node.call_deadline_s
        self._odometry = odometry
        self._asked: object = None

    def decide(self, question: Question, assessments: Sequence[ViewAssessment]) -> Decision:
        request = interface("eqa_interfaces/srv/ChooseGoal").Request(
            question=question.text, question_id=question.id, seed=question.seed, new_question=question is not self._asked,
            assessments=[convert.assessment_msg(a, question.id) for a in assessments])
        request.header.stamp = self._odometry.status().stamp
        response = call(self._client, request, self._deadline)
        self._asked = question
        goal = messages.goal_of(response.goal) if response.has_goal else None
        return Decision(goal, response.reason, tuple(messages.candidate_of(c) for c in response.candidates), response.explored)


class RosAnswerer:
    """Assessments and answers of the answerer node; adds up what they cost."""

    def __init__(self, node: EqaNode) -> None:
        self._assess, self._answer = node.client("assess_views"), node.client("answer_question")
        self._deadline = node.config.model_deadline_s
        self._spent = Receipt()

    def spent(self) -> Receipt:
        return self._spent

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        request = interface("eqa_interfaces/srv/AssessViews").Request(
            question=question.text, question_id=question.id, choices=list(question.choices), seed=question.seed,
            views=[convert.keyframe_msg(v) for v in views])
        response = self._call(self._assess, request)
        return [messages.assessment_of(a) for a in response.assessments]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        request = interface("eqa_interfaces/srv/AnswerQuestion").Request(
            question=question.text, question_id=question.id, choices=list(question.choices), seed=question.seed,
            force_guess=question.force_guess,
            views=[convert.keyframe_msg(i.keyframe) for i in items], scores=[float(i.score) for i in items])
        return messages.answer_of(self._call(self._answer, request))

    def _call(self, client: Any, request: Any) -> Any:
        if not client.wait_for_service(timeout_sec=10.0):
            raise NodeLost(f"nobody serves {client.srv_name}: is the answerer running?")
        response = wait_for(client.call_async(request), self._deadline, client.srv_name)
        r = response.receipt  # before the error is raised: failed calls cost too
        s = self._spent
        self._spent = Receipt(calls=s.calls + r.calls, tokens_in=s.tokens_in + r.tokens_in, tokens_out=s.tokens_out + r.tokens_out,
                              privileged=tuple(r.privileged))
        convert.raise_remote(response)
        return response


class RosNavigator:
    """Drives through the actions navigate_to_pose and spin, whoever serves them."""

    def __init__(self, node: EqaNode, odometry: BridgeOdometry) -> None:
        self._to_pose, self._spin = node.client("navigate_to_pose"), node.client("spin")
        self._odometry = odometry
        self._handle: Any = None
        self._lock = threading.Lock()

    def go_to(self, goal: Pose2, deadline_s: float) -> NavResult:
        request = interface("nav2_msgs/action/NavigateToPose").Goal(pose=convert.goal_msg(goal, self._odometry.last()[0]))
        return self._drive(self._to_pose, request, "navigate_to_pose")

    def look_around(self, deadline_s: float) -> NavResult:
        return self._drive(self._spin, interface("nav2_msgs/action/Spin").Goal(target_yaw=6.2831855), "spin")

    def cancel(self) -> None:
        with self._lock:
            if self._handle is not None:
                self._handle.cancel_goal_async()

    def _drive(self, client: Any, goal: Any, what: str) -> NavResult:
        if not client.wait_for_server(timeout_sec=10.0):
            raise NodeLost(f"nobody serves {what}: is the navigator running?")
        handle = wait_for(client.send_goal_async(goal), 10.0, what)
        if not handle.accepted:
            return NavResult(NavCode.FAILED, f"{what} rejected the goal")
        with self._lock:
            self._handle = handle
        try:
            return _result(wait_for(handle.get_result_async(), DRIVE_WALL_S, what))
        except NodeLost:
            handle.cancel_goal_async()
            raise
        finally:
            with self._lock:
                self._handle = None


def _result(response: Any) -> NavResult:
    if response.status == GoalStatus.STATUS_SUCCEEDED:
        return NavResult(NavCode.SUCCEEDED)
    code = getattr(response.result, "error_code", 0)  # absent before Jazzy
    message = getattr(response.result, "error_msg", "")
    if response.status == GoalStatus.STATUS_CANCELED:
        return NavResult(NavCode.CANCELED, message)
    return NavResult(NAV_CODES.get(code, NavCode.BLOCKED), message or f"navigation failed with code {code}")


def connect(node: EqaNode) -> Ports:
    """Return the ports of the agent over this node's clients."""
    odometry = BridgeOdometry(node)
    navigator = RosNavigator(node, odometry)
    return Ports(navigator, RosExplorer(node, odometry), RosMemory(node), RosAnswerer(node), odometry)
