"""Action clients, action servers and services that lose no request or answer on a busy machine.

Discovery of a client may complete seconds after its first request. A background thread resends answers that the
middleware gave up, so that the executor does not wait for one client.
"""

from __future__ import annotations

import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import rclpy.logging
from rclpy._rclpy_pybind11 import InvalidHandle, RCLError
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.action.server import GoalEvent, default_handle_accepted_callback
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

ANSWER_S = 10.0  # deadline for sending an answer: a client waits this long for its goal to be accepted
PAUSE_S = 0.1  # pause after a failed attempt, in which others can send; the attempt itself takes as long
_UNANSWERED = "failed to send response (timeout)"  # beginning of rclpy's warning
_WARNING = threading.Lock()  # Python's recording of warnings is shared by all threads
DEPTH = 256  # maximum number of requests, replies or feedback messages in a queue


class Unsent(NamedTuple):
    """An answer that the middleware gave up.

    send: tries once and returns whether the middleware accepted the answer; ended: called at the end with whether it
    did; end: deadline, monotonic clock, s.
    """

    send: Callable[[], bool]
    ended: Callable[[bool], None]
    end: float


class LateAnswers:
    """Sends answers in turn until each is accepted by the middleware or its deadline has passed."""

    def __init__(self) -> None:
        self._lock, self._working = threading.Lock(), False
        self._waiting: deque[Unsent] = deque()

    def put(self, send: Callable[[], bool], ended: Callable[[bool], None]) -> None:
        """Add an answer, with the arguments of `Unsent`; return at once."""
        with self._lock:
            self._waiting.append(Unsent(send, ended, time.monotonic() + ANSWER_S))
            if self._working:
                return
            self._working = True
        threading.Thread(target=self._work, name="late answers", daemon=True).start()

    def _work(self) -> None:
        """Send until nothing is left. After a successful attempt, the next answer follows at once."""
        while (answer := self._next()) is not None:
            try:
                if not self._ended(answer):
                    time.sleep(PAUSE_S)
            except Exception:  # raised by an `ended` callback; other answers must still be sent
                traceback.print_exc()

    def _next(self) -> Unsent | None:
        with self._lock:
            self._working = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None

    def _ended(self, answer: Unsent) -> bool:
        """Try once; return whether that was the last attempt. An answer to be retried goes to the end of the queue."""
        try:
            sent, over = answer.send(), time.monotonic() > answer.end
        except InvalidHandle:  # its server is gone
            sent, over = False, True
        if not (sent or over):
            with self._lock:
                self._waiting.append(answer)
            return False
        answer.ended(sent)
        return True


LATE = LateAnswers()  # of this process


def service_qos() -> QoSProfile:
    """Return the QoS profile of services: rclpy's own, which keeps ten requests, with a larger depth."""
    return QoSProfile(depth=DEPTH, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE)


def answer_patiently(service: Any) -> None:
    """Make a service resend answers that the middleware gives up. Its executor does not wait for that."""
    send = service.send_response

    def send_response(response: Any, header: Any) -> None:
        answer = partial(send, response, header)
        if _given_up(answer):
            LATE.put(lambda: not _given_up(answer), ended)

    def ended(sent: bool) -> None:
        if not sent:
            rclpy.logging.get_logger("services").warning(
                f"an answer of {service.srv_name} was given up: its client was not discovered within {ANSWER_S:g} s")

    service.send_response = send_response


def _given_up(send: Callable[[], None]) -> bool:
    """Send an answer; return whether rclpy warns that the client will not receive it."""
    with _WARNING, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        send()
    return any(str(warning.message).startswith(_UNANSWERED) for warning in said)


class ReliableActionClient(ActionClient):
    """An action client that processes no reply while it sends: each request is registered before its reply."""

    def __init__(self, node: Any, action_type: Any, name: str, callback_group: Any) -> None:
        # Both exist before the executor sees the client, during its construction; rclpy makes its own too late.
        self._sending, self._lock = threading.RLock(), threading.Lock()
        deep = service_qos()
        super().__init__(node, action_type, name, callback_group=callback_group, goal_service_qos_profile=deep,
                         result_service_qos_profile=deep, cancel_service_qos_profile=deep,
                         feedback_sub_qos_profile=QoSProfile(depth=DEPTH))

    def take_data(self) -> Any:
        with self._sending:
            return super().take_data()

    def send_goal_async(self, *args: Any, **kwargs: Any) -> Any:
        with self._sending:
            return super().send_goal_async(*args, **kwargs)

    def _cancel_goal_async(self, goal_handle: Any) -> Any:
        with self._sending:
            return super()._cancel_goal_async(goal_handle)

    def _get_result_async(self, goal_handle: Any) -> Any:
        with self._sending:
            return super()._get_result_async(goal_handle)


class ConcurrentActionServer(ActionServer):
    """An action server for many concurrent goals."""

    def __init__(self, node: Any, action_type: Any, name: str, execute: Callable[[Any], Any], **options: Any) -> None:
        """options: keyword arguments of rclpy's ActionServer."""
        deep = service_qos()
        self._accepted = options.pop("handle_accepted_callback", default_handle_accepted_callback)
        self._handed_over: set[bytes] = set()  # goals whose requests are being worked on
        super().__init__(node, action_type, name, execute, goal_service_qos_profile=deep,
                         result_service_qos_profile=deep, cancel_service_qos_profile=deep,
                         feedback_pub_qos_profile=QoSProfile(depth=DEPTH),
                         handle_accepted_callback=self._hand_over, **options)

    async def _execute_goal_request(self, request_header_and_message: Any) -> None:
        """Process a goal request. Resend the answer if rclpy accepted the goal but dropped it for a lost answer.
        """
        await super()._execute_goal_request(request_header_and_message)
        header, request = request_header_and_message
        key = bytes(request.goal_id.uuid)
        handle = self._goal_handles.get(key)
        if handle is None or key in self._handed_over:  # rejected, or answered
            self._handed_over.discard(key)
            return
        answer = self._action_type.Impl.SendGoalService.Response(accepted=True)
        answer.stamp = self._node.get_clock().now().to_msg()
        LATE.put(partial(self._sent, partial(self._handle.send_goal_response, header, answer)),
                 partial(self._answered, handle))

    def _sent(self, send: Callable[[], None]) -> bool:
        """Send an answer; return whether the middleware accepted it."""
        try:
            with self._lock:
                send()
        except RCLError:
            return False
        return True

    def _answered(self, handle: Any, sent: bool) -> None:
        """Execute a goal if its client received the acceptance; otherwise end it."""
        if not sent:
            self._logger.warning("a goal is not executed: its client was not discovered in time")
            self._end_unheard(handle)
            return
        self._handle.publish_status()
        self._hand_over(handle)
        self._handed_over.discard(bytes(handle.goal_id.uuid))

    def _end_unheard(self, handle: Any) -> None:
        """Set a goal that is not executed to canceled, so that it expires like any other."""
        if not handle.is_cancel_requested:
            handle._update_state(GoalEvent.CANCEL_GOAL)
        handle.canceled()
        result = self._action_type.Impl.GetResultService.Response()
        result.status = handle.status
        self._result_futures[bytes(handle.goal_id.uuid)].set_result(result)

    def _hand_over(self, handle: Any) -> None:
        self._handed_over.add(bytes(handle.goal_id.uuid))
        self._accepted(handle)

    async def _execute_cancel_request(self, request_header_and_message: Any) -> None:
        """Cancel each requested goal. Replaces rclpy's method, which removes items from the list it iterates over."""
        header, request = request_header_and_message
        with self._lock:
            response = self._handle.process_cancel_request(request, self._action_type.Impl.CancelGoalService.Response)
        response.goals_canceling = [info for info in response.goals_canceling if self._called_off(info)]
        try:
            with self._lock:
                self._handle.send_cancel_response(header, response)
        except RCLError:
            self._logger.warning("goals were cancelled, but the client that asked for it is gone")

    def _called_off(self, info: Any) -> bool:
        """Ask the callback whether a goal may be cancelled; return whether it is being cancelled now."""
        handle = self._goal_handles.get(bytes(info.goal_id.uuid))
        if handle is None or self._cancel_callback(handle) is not CancelResponse.ACCEPT:
            return False
        try:
            handle._update_state(GoalEvent.CANCEL_GOAL)
        except RCLError:  # it has ended meanwhile
            return False
        return True
