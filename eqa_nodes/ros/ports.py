"""The agent's ports over topics, services and actions: nodes replace the objects of the in-process agent."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Point

from eqa_nodes.core.errors import ErrorCode, LimitReached
from eqa_nodes.core.protocols import Person, Ports
from eqa_nodes.core.types.calls import DecisionReply, DecisionRequest
from eqa_nodes.core.types.costs import UNLIMITED
from eqa_nodes.core.types.floor import Allowance, Decision, NavCode, NavResult, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import (
    Answer,
    Question,
    RankedRegion,
    Recalled,
    RecallQuery,
    Receipt,
    Recollection,
    ViewAssessment,
    charge,
)
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.ros import convert
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.odometry import RosOdometry
from eqa_nodes.wire import messages

ASK_AGAIN_S = 0.005  # pause before a retry while the map is not yet there
DRIVE_WALL_S = 600.0  # a drive is cancelled after this time: its node hangs


class RosMemory:
    """Recall through the memory node."""

    def __init__(self, node: EqaNode) -> None:
        self._client, self._past = node.remote("recall"), node.remote("recollect")
        self._keep, self._node = node.remote("keep_view"), node

    def recollect(self, question: str) -> Recollection | None:
        response = self._past.call(self._deadline(), question=question)
        if not response.found:
            return None
        return Recollection(response.text, response.confidence, messages.evidence_of(response.evidence),
                            response.verify)

    def recall(self, query: RecallQuery) -> list[Recalled]:
        near: dict[str, Any] = {}
        if query.near:
            x, y, radius = query.near
            near = {"use_near": True, "near": Point(x=x, y=y), "radius": radius}
        response = self._client.call(
            self._deadline(), text=query.text, limit=query.limit, after=convert.time_of(query.after_ns),
            before=convert.time_of(query.before_ns), **near)
        frames = [messages.keyframe_of(k) for k in response.keyframes]
        return [Recalled(k, score, why) for k, score, why in zip(frames, response.scores, response.reasons)]

    def since(self, keyframe_id: int) -> list[Keyframe]:
        response = self._client.call(self._deadline(), since_keyframe=keyframe_id, in_order=True)
        return [messages.keyframe_of(k) for k in response.keyframes]

    def keep(self) -> None:
        self._keep.call(self._deadline())

    def _deadline(self) -> float:
        return float(self._node.config.node.call_deadline_s)


class RosExplorer:
    """Decisions of the explorer node on the map of the newest observation."""

    def __init__(self, node: EqaNode, odometry: RosOdometry) -> None:
        self._node, self._client, self._odometry = node, node.remote("choose_goal"), odometry
        self._asked: object = None

    def options(self, question: Question, assessments: Sequence[ViewAssessment]) -> list[Option] | None:
        response = self._fresh(list_options=True, **self._situation(question, assessments))
        self._asked = question
        return [messages.option_of(o) for o in response.options] if response.has_options else None

    def decide(self, question: Question, assessments: Sequence[ViewAssessment], regions: Sequence[RankedRegion],
               advice: Sequence[WeighedOption] = ()) -> Decision:
        return self._ask(False, question, assessments, regions, advice)

    def confirm(self, question: Question, assessments: Sequence[ViewAssessment],
                regions: Sequence[RankedRegion]) -> Decision:
        return self._ask(True, question, assessments, regions)

    def _situation(self, question: Question, assessments: Sequence[ViewAssessment]) -> dict[str, Any]:
        return {"robot": self._odometry.robot(), "question": convert.question_msg(question),
                "new_question": question is not self._asked,
                "assessments": [convert.assessment_msg(a, question.id) for a in assessments]}

    def _ask(self, confirm: bool, question: Question, assessments: Sequence[ViewAssessment],
             regions: Sequence[RankedRegion], advice: Sequence[WeighedOption] = ()) -> Decision:
        response = self._fresh(
            confirm=confirm, regions=[convert.ranked_region_msg(r) for r in regions],
            **convert.weighed_fields(advice), **self._situation(question, assessments))
        self._asked = question
        goal = messages.goal_of(response.goal) if response.has_goal else None
        candidates = tuple(messages.candidate_of(c) for c in response.candidates)
        marks = tuple(messages.candidate_of(m) for m in response.marks)
        return Decision(goal, response.reason, candidates, response.explored, marks, response.look_around)

    def _fresh(self, **fields: Any) -> Any:
        """Ask until the explorer has the map of the newest observation. Raises StaleData at the deadline."""
        config = self._node.config
        end = time.monotonic() + config.map_deadline_s
        while True:
            response = self._client.exchange(config.node.call_deadline_s, **fields)
            if response.error_code != ErrorCode.STALE or time.monotonic() > end:
                convert.raise_remote(response)
                return response
            time.sleep(ASK_AGAIN_S)


class RosAnswerer:
    """Assessments and answers of the answerer node; accumulates their cost."""

    def __init__(self, node: EqaNode) -> None:
        self._regions, self._assess = node.remote("rank_regions"), node.remote("assess_views")
        self._answer, self._advise, self._node = node.remote("answer_question"), node.remote("advise"), node
        self._spent = Receipt()
        self.advises = False  # set from the answerer's response

    def spent(self) -> Receipt:
        return self._spent

    def why_unanswerable(self, question: Question) -> str:
        """Send a request without views: the node then checks only the question, and reports whether it advises."""
        response = self._assess.exchange(self._node.config.node.call_deadline_s,
                                         question=convert.question_msg(question))
        if response.error_code == ErrorCode.BAD_QUESTION:
            return str(response.error_message)
        convert.raise_remote(response)
        self.advises = bool(response.advises)
        return ""

    def regions(self, question: Question) -> list[RankedRegion]:
        response = self._call(self._regions, question)
        return [messages.ranked_region_of(r) for r in response.regions]

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        response = self._call(self._assess, question, views=[convert.keyframe_msg(v) for v in views])
        return [messages.assessment_of(a) for a in response.assessments]

    def advise(self, question: Question, brief: DecisionRequest) -> DecisionReply:
        return messages.advice_of(self._call(self._advise, question, **convert.brief_fields(brief)))

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        response = self._call(
            self._answer, question,
            views=[convert.keyframe_msg(i.keyframe) for i in items], scores=[float(i.score) for i in items])
        return messages.answer_of(response)

    def _call(self, client: Any, question: Question, **fields: Any) -> Any:
        account = question.account
        budget = convert.budget_msg(UNLIMITED if account is None else account.left())
        response = client.exchange(self._node.config.model_deadline_s, question=convert.question_msg(question),
                                   budget=budget, **fields)
        cost = messages.receipt_of(response.receipt)  # before the error is raised, since failed calls also cost
        self._spent = replace(self._spent.with_model(cost), privileged=cost.privileged)
        if account is not None:
            charge(account, cost)
        if response.error_code == LimitReached.code:
            raise LimitReached(response.error_message)
        convert.raise_remote(response)
        return response


class RosNavigator:
    """Drives through the actions drive_to_pose and look_around, whichever navigator serves them."""

    def __init__(self, node: EqaNode, odometry: RosOdometry) -> None:
        self._to_pose, self._turn = node.remote("drive_to_pose"), node.remote("look_around")
        self._odometry = odometry

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance) -> NavResult:
        pose = convert.goal_msg(goal, self._odometry.last()[0])
        return self._drive(self._to_pose, self._to_pose.Goal(pose=pose, allowance=convert.allowance_msg(allowance)))

    def look_around(self, deadline_s: float, allowance: Allowance) -> NavResult:
        return self._drive(self._turn, self._turn.Goal(allowance=convert.allowance_msg(allowance)))

    def _drive(self, action: Any, goal: Any) -> NavResult:
        return _result(action.run(goal, DRIVE_WALL_S))

    def cancel(self) -> None:
        self._to_pose.cancel()
        self._turn.cancel()


def _result(response: Any) -> NavResult:
    if response.status == GoalStatus.STATUS_SUCCEEDED:
        return NavResult(NavCode.SUCCEEDED)
    code = getattr(response.result, "error_code", 0)  # absent in Humble
    message = getattr(response.result, "error_msg", "")
    if response.status == GoalStatus.STATUS_CANCELED:
        return NavResult(NavCode.CANCELED, message)
    return NavResult(convert.NAV_CODES.get(code, NavCode.BLOCKED), message or f"navigation failed with code {code}")


def connect(node: EqaNode, odometry: RosOdometry, person: Person) -> Ports:
    """Return the ports of the agent over this node's clients. person: receives the agent's inquiries."""
    navigator = RosNavigator(node, odometry)
    return Ports(navigator, RosExplorer(node, odometry), RosMemory(node), RosAnswerer(node), odometry, person)
