"""Asks the graph from outside: resets episodes, asks questions, shows progress. The command line and the benchmark use it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from eqa_nodes import messages
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.core.geometry import Pose2, pose2_of
from eqa_nodes.core.types import Answer, Limits, Question
from eqa_nodes.graph import ACTIONS, SERVICES
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import call, spin, wait_for

ASK_WALL_S = 3600.0  # a question that has not ended after this is called off
POLL_S = 0.2
GONE_S = 1.0  # an agent not seen for so long is gone


class GraphClient:
    """A client of one graph; use with `with`. environment: as the graph's processes have it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        os.environ.update({k: v for k, v in environment.items() if k.startswith(("ROS_", "FASTDDS_", "RMW_"))})
        self._context = Context()
        rclpy.init(context=self._context, domain_id=int(environment["ROS_DOMAIN_ID"]))
        self.node = Node("eqa_client", context=self._context, enable_rosout=False, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=spin, args=(self._executor,), daemon=True)
        self._thread.start()
        self._ask = ActionClient(self.node, interface(ACTIONS["ask"].type), ACTIONS["ask"].name)
        self._clients = {key: self.node.create_client(interface(SERVICES[key].type), SERVICES[key].name)
                         for key in ("reset_episode", "reset_recorder", "answer_question", "act", "recall")}

    def __enter__(self) -> GraphClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the graph; a second call does nothing."""
        if self._context.ok():
            rclpy.try_shutdown(context=self._context)
            self._thread.join(2.0)

    def reset(self, scene: str, episode_id: str, start: Pose2 | None, seed: int, keep_memory: bool = False) -> int:
        """Begin an episode and return the stamp of its first observation. Raises what the graph reports."""
        episode = interface("eqa_interfaces/msg/Episode")(scene=scene, episode_id=episode_id, seed=seed, keep_memory=keep_memory)
        if start is not None:
            episode.use_start, episode.start = True, convert.pose_msg(start.transform())
        response = self._call("reset_episode", 120.0, episode=episode)
        return messages.ns_of(response.episode.header.stamp)

    def ask(self, question: Question, listener: Callable[[Any], None] = lambda feedback: None,
            cancel: threading.Event | None = None, deadline_s: float = ASK_WALL_S) -> Answer:
        """Ask and wait for the answer; `listener` gets the action's feedback; setting `cancel` calls the question off.

        Raises NodeLost when the agent is gone, also when it was started again meanwhile.
        """
        if not self._ask.wait_for_server(timeout_sec=20.0):
            raise NodeLost("nobody serves ask: is the agent running?")
        sent = self._ask.send_goal_async(goal_of(question), feedback_callback=lambda m: listener(m.feedback))
        handle = wait_for(sent, 20.0, "ask")
        try:
            result = self._result(handle, cancel, time.monotonic() + deadline_s)
        except (NodeLost, KeyboardInterrupt):
            handle.cancel_goal_async()
            raise
        if result.status == GoalStatus.STATUS_UNKNOWN:
            raise NodeLost("the agent lost the question: did it restart?")
        return messages.answer_of(result.result)

    def _result(self, handle: Any, cancel: threading.Event | None, end: float) -> Any:
        """Wait for the result, but not for an agent that is gone: it would never come."""
        done, future = threading.Event(), handle.get_result_async()
        future.add_done_callback(lambda _: done.set())
        gone = 0
        while not done.wait(POLL_S):
            if cancel is not None and cancel.is_set():
                handle.cancel_goal_async()
                cancel = None
            gone = 0 if self._ask.server_is_ready() else gone + 1
            if gone * POLL_S > GONE_S:
                raise NodeLost("the agent is gone: its process died, or the network was cut")
            if time.monotonic() > end:
                raise NodeLost("the question did not end within its deadline")
        return future.result()

    def blind(self, question: Question) -> Answer:
        """Return the answerer's guess without any view."""
        return messages.answer_of(self._call("answer_question", 300.0, question=question.text, question_id=question.id,
                                            choices=list(question.choices), seed=question.seed, force_guess=True))

    def pose(self) -> Pose2:
        """Return the robot's pose."""
        act = interface(SERVICES["act"].type).Request
        return pose2_of(messages.pose_of(self._call("act", 20.0, action=act.STATUS).pose))

    def end_episode(self) -> None:
        """Close the bag of the episode."""
        self._call("reset_recorder", 30.0)

    def _call(self, key: str, deadline_s: float, **fields: Any) -> Any:
        return call(self._clients[key], interface(SERVICES[key].type).Request(**fields), deadline_s)


def goal_of(question: Question) -> Any:
    """Question -> goal of the action ask."""
    limits: Limits = question.limits
    return interface(ACTIONS["ask"].type).Goal(
        question=question.text, question_id=question.id, choices=list(question.choices), may_explore=question.may_explore,
        force_guess=question.force_guess, max_steps=limits.steps, max_metres=float(limits.metres),
        max_seconds=float(limits.seconds), max_calls=limits.calls, seed=question.seed)


def bag_of(folder: Path, episode_id: str) -> Path:
    """Return where the recorder writes the bag of an episode."""
    return folder / episode_id
