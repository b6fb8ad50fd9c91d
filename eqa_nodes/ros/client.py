"""A client of the graph from another process: resets episodes, asks questions, receives progress."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from eqa_nodes.core.errors import ConfigError, EqaError, NodeLost, unknown
from eqa_nodes.core.ledger import check_limits
from eqa_nodes.core.types.geometry import Pose2, pose2_of
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Question
from eqa_nodes.ros import convert
from eqa_nodes.ros.environment import use_small_segment
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.ros.spinning import spin
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import ACTIONS, SERVICES, TOPICS, absolute

CALL_S, STOP_S = 30.0, 5.0  # deadlines
CANCEL_AGAIN_S = 1.0  # period of repeated cancel requests until a question ends
RESET_S, ANSWER_S = 120.0, 300.0  # a reset may generate a house, an answer may call a model
ASK_WALL_S = 3600.0  # a question is cancelled after this time
Listener = Callable[[Progress], None]


class GraphClient:
    """A client of one graph, used as a context manager. environment: environment of the graph's processes."""

    def __init__(self, environment: Mapping[str, str], listen: Callable[[Node], None] = lambda node: None, *,
                 listener: Listener | None = None, namespace: str = "",
                 remap: Mapping[str, str] = MappingProxyType({})) -> None:
        """listen: subscribes to topics with the client's node; the callbacks run in its thread.

        listener: called in that thread with each model call and each inquiry of the agent, by default not subscribed.
        namespace: namespace of the graph's nodes; remap: key of a topic or service -> its name. Raises ConfigError.
        """
        rules = rules_of(remap)
        os.environ.update({k: v for k, v in environment.items() if k.startswith(("ROS_", "FASTDDS_", "RMW_"))})
        use_small_segment()
        self._context = Context()
        rclpy.init(context=self._context, domain_id=int(environment["ROS_DOMAIN_ID"]))
        self.node = Node("eqa_client", context=self._context, enable_rosout=False, start_parameter_services=False,
                         namespace=absolute(namespace), cli_args=rules)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        remotes = Remotes(self.node)
        self._ask = remotes.action("ask")  # before spinning: rclpy adds an action client before it is complete
        self.services = {key: remotes.service(key)
                         for key in ("reset_episode", "reset_recorder", "answer_question", "act", "recall", "reply")}
        self._stop = self.node.create_client(CancelGoal, f"{ACTIONS['ask'].name}/_action/cancel_goal")
        listen(self.node)
        if listener is not None:
            self._subscribe_progress(listener)
        self._thread = threading.Thread(target=spin, args=(self._executor,), daemon=True)
        self._thread.start()

    def __enter__(self) -> GraphClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the graph; a second call does nothing."""
        if self._context.ok():
            rclpy.try_shutdown(context=self._context)
            self._thread.join(2.0)
            if not self._thread.is_alive() and not self._ask.running:  # a waiting caller still uses the node
                self._ask.close()
                self.node.destroy_node()  # otherwise the node stays visible for 20 s after exit

    def reset(self, scene: str, episode_id: str, start: Pose2 | None, seed: int, keep_memory: bool = False,
              start_height_m: float = 0.0) -> int:
        """Begin an episode and return the stamp of its first observation, ns. Raises the error that the graph reports.
        """
        episode = interface("eqa_interfaces/msg/Episode")(scene=scene, episode_id=episode_id, seed=seed,
                                                          keep_memory=keep_memory)
        if start is not None:
            episode.use_start, episode.start = True, convert.pose_msg(start.transform(start_height_m))
        response = self.services["reset_episode"].call(RESET_S, episode=episode)
        return messages.ns_of(response.episode.header.stamp)

    def ask(self, question: Question, listener: Listener = lambda progress: None,
            cancel: threading.Event | None = None, deadline_s: float = ASK_WALL_S) -> Answer:
        """Ask and wait for the answer; `listener` gets the progress; setting `cancel` cancels the question.

        Several threads may ask at once: the agent queues the questions.

        Raises NodeLost if the agent is gone or was restarted meanwhile; BadQuestion for invalid limits.
        """
        again_at = 0.0

        def poll(handle: Any) -> None:
            nonlocal again_at
            if cancel is not None and cancel.is_set() and time.monotonic() >= again_at:
                handle.cancel_goal_async()  # repeatedly: the request may be lost
                again_at = time.monotonic() + CANCEL_AGAIN_S

        check_limits(question.limits)  # messages cannot represent some invalid limits
        result = self._ask.run(self._ask.Goal(question=convert.question_msg(question)), deadline_s,
                               lambda feedback: listener(messages.progress_of(feedback)), poll)
        if result.status == GoalStatus.STATUS_UNKNOWN:
            raise NodeLost("the agent lost the question: did it restart?")
        return messages.answer_of(result.result)

    def reply(self, inquiry: str, option: int) -> None:
        """Reply to an inquiry of the agent, by its id and the number of an option. Raises EqaError if it is late."""
        self.services["reply"].call(CALL_S, inquiry_id=inquiry, option=max(0, option))

    def stop(self) -> None:
        """Cancel the questions of all clients. Raises NodeLost if the agent does not answer."""
        if not self._stop.wait_for_service(timeout_sec=STOP_S):
            raise NodeLost(f"no server for {self._stop.srv_name}: does the agent run?")
        end = time.monotonic() + STOP_S
        while self._called_off(end):
            pass  # repeat for questions that arrived meanwhile, until none is left

    def _called_off(self, end: float) -> bool:
        """Cancel all questions; return whether there were any. end: deadline, monotonic clock, s."""
        done = threading.Event()
        future = self._stop.call_async(CancelGoal.Request())  # no id and no stamp: all of them
        future.add_done_callback(lambda _: done.set())
        if not done.wait(end - time.monotonic()):
            raise NodeLost(f"the agent did not answer within {STOP_S:g} s whether it stops")
        return bool(future.result().goals_canceling)

    def blind(self, question: Question) -> Answer:
        """Return the answerer's guess without any view."""
        return messages.answer_of(self.services["answer_question"].call(
            ANSWER_S, question=convert.question_msg(question._replace(force_guess=True))))

    def pose(self) -> Pose2:
        """Return the robot's pose."""
        return self.state()[1]

    def state(self) -> tuple[int, Pose2]:
        """Return the stamp of the last observation, ns, and the robot's pose."""
        act = self.services["act"]
        status = act.call(CALL_S, action=act.Request.STATUS)
        return messages.ns_of(status.stamp), pose2_of(messages.pose_of(status.pose))

    def end_episode(self) -> None:
        """Close the bag of the episode."""
        self.services["reset_recorder"].call(CALL_S)


    def _subscribe_progress(self, listener: Listener) -> None:
        def take(progress_in: Callable[[Any], Progress], message: Any) -> None:
            try:
                progress = progress_in(message)
            except (EqaError, ValueError) as error:
                progress = Progress("answering", reason=f"a message of the agent cannot be shown: {error}")
            listener(progress)

        for key, progress_in in (("model_calls", _call), ("inquiry", _inquiry)):
            topic = TOPICS[key]
            self.node.create_subscription(interface(topic.type), topic.name, partial(take, progress_in), qos(topic.qos))


def _call(message: Any) -> Progress:
    return Progress("answering", call=messages.call_of(message))


def _inquiry(message: Any) -> Progress:
    inquiry = messages.inquiry_of(message)
    return Progress("asking", reason=inquiry.in_words(), inquiry=inquiry)


def rules_of(remap: Mapping[str, str]) -> list[str]:
    """Return remappings (key of the graph -> name) as ROS arguments of a node. Raises ConfigError."""
    wires = {key: wire.name for table in (TOPICS, SERVICES) for key, wire in table.items()}
    if strange := sorted(set(remap) - set(wires)):
        raise ConfigError(unknown("topic or service", strange[0], wires))
    return ["--ros-args", *(word for key, name in remap.items() for word in ("-r", f"{wires[key]}:={name}"))]
