"""The client interface of a goal-driven navigator for the recovery policy, and the meaning of Nav2's error codes."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol

from eqa_nodes.core.types.floor import GridMap, NavCode, NavResult, Travelled
from eqa_nodes.core.types.geometry import Pose2


class TaskState(Enum):
    """How a task ended. LOST: its server is gone or never answered. REPLACED: by the goal of another client.

    ELSEWHERE: its server reports success, but the robot is not at the goal.
    """

    SUCCEEDED = "succeeded"
    CANCELED = "canceled"
    ABORTED = "aborted"
    REJECTED = "rejected"
    LOST = "lost"
    REPLACED = "replaced"
    ELSEWHERE = "elsewhere"


class TaskEnd(NamedTuple):
    """End of a task. code: error code of Nav2, 0 = none given."""

    state: TaskState
    code: int = 0
    message: str = ""


class Halted(NamedTuple):
    """Whether the robot stands still after a halt. controller: the path follower confirmed that it has no goal left.

    silent: names of running servers that move the base and did not confirm the halt in time.
    """

    controller: bool = False
    silent: tuple[str, ...] = ()

    @property
    def stands(self) -> bool:
        """Return whether the robot certainly stands still."""
        return self.controller and not self.silent


class Commander(Protocol):
    """Nav2 or a stand-in. No call blocks longer than its argument or its own short deadline."""

    def missing(self, wait_s: float) -> str:
        """Return what is absent or inactive after waiting up to this long; "" = goals are accepted."""

    def others_drive(self) -> bool:
        """Return whether a goal of another client is running, which a goal of ours would end."""

    def go_to(self, goal: Pose2) -> None:
        """Begin to drive to a pose in the map frame; this replaces the running task."""

    def turn(self, angle_rad: float, allowance_s: float) -> None:
        """Begin to turn on the spot, counter-clockwise."""

    def poll(self, wait_s: float) -> TaskEnd | None:
        """Return how the task ended, after waiting up to this long; None while it runs."""

    def cancel(self) -> None:
        """Request the end of the task; `poll` reports when it has ended. Does nothing if no task runs."""

    def halt(self, wait_s: float) -> Halted:
        """Cancel every goal, of any client, on every server that moves the base; wait up to this long for replies."""

    def silent_s(self) -> float:
        """Return the time since the last message about the task, seconds of wall-clock time."""

    def costmap(self, wait_s: float) -> GridMap:
        """Return the global costmap: -1 unknown, 0..98 free to expensive, 99 robot touches an obstacle, 100 lethal.

        Raises EqaError if it does not arrive in time, or is not in the map frame.
        """

    def keep_out(self, mask: GridMap) -> None:
        """Send a mask (core/driving/zones.py) to the planner; it replaces the last one."""

    def clear_costmaps(self, wait_s: float) -> None:
        """Clear the costmaps. Raises NodeLost if that is not confirmed in time."""


class RobotState(Protocol):
    """Localisation and odometry of the robot."""

    def pose(self) -> Pose2:
        """Return the newest pose in the map frame. Raises StaleData if the robot is not, or no longer, localised."""

    def now_s(self) -> float:
        """Return the time of the clock that deadlines use, seconds. Raises StaleData like `pose`."""

    def commanded_m_s(self) -> float:
        """Return the newest forward speed commanded to the base, m/s; 0 if commands are not known."""

    def travelled(self) -> Travelled | None:
        """Return the distance driven by odometry, None before the first message. Raises StaleData if messages stop."""


class EndMeaning(NamedTuple):
    """code: result code for the agent; again: whether another attempt at the same goal may succeed."""

    code: NavCode
    again: bool
    words: str


_BLOCKED, _UNREACHABLE, _TIMEOUT, _FAILED = NavCode.BLOCKED, NavCode.UNREACHABLE, NavCode.TIMEOUT, NavCode.FAILED
_TF = EndMeaning(_FAILED, True, "transforms failed: does the localisation publish map to odom?")
_LATE = EndMeaning(_TIMEOUT, True, "took too long")
_AHEAD = EndMeaning(_BLOCKED, True, "something is in the way")
_TREE = EndMeaning(_FAILED, False, "the behavior tree cannot be loaded: look at bt_navigator's log")
_UNSAID = EndMeaning(_BLOCKED, True, "failed")
_PLANNER = (_UNSAID, EndMeaning(_FAILED, False, "no such planner: look at the parameters of planner_server"), _TF,
            EndMeaning(_FAILED, True, "the robot is not on the map: is it localised?"),
            EndMeaning(_UNREACHABLE, False, "the goal is not on the map"),
            EndMeaning(_BLOCKED, True, "the robot stands in what the costmap calls occupied"),
            EndMeaning(_UNREACHABLE, True, "the goal is occupied"), _LATE, EndMeaning(_UNREACHABLE, True, "no path"))
_CONTROLLER = (_UNSAID, EndMeaning(_FAILED, False, "no such controller: look at the parameters of controller_server"),
               _TF, EndMeaning(_BLOCKED, True, "the path is not valid"),
               EndMeaning(_BLOCKED, True, "the controller lost patience"), EndMeaning(_BLOCKED, True, "no progress"),
               EndMeaning(_BLOCKED, True, "no velocity is safe"), _LATE)
_SMOOTHER = (_UNSAID, EndMeaning(_FAILED, False, "no such smoother: look at the parameters of smoother_server"), _LATE,
             EndMeaning(_BLOCKED, True, "the smoothed path collides"), EndMeaning(_BLOCKED, True, "no smooth path"),
             EndMeaning(_BLOCKED, True, "the path is not valid"))
_INPUT = EndMeaning(_FAILED, False, "a behavior got an invalid request")
_NAVIGATOR = (_UNSAID, _TREE, _TF, _LATE)
_FROM: dict[int, tuple[EndMeaning, ...]] = {
    100: _CONTROLLER, 200: _PLANNER, 300: _PLANNER, 500: _SMOOTHER, 700: (_UNSAID, _LATE, _TF, _AHEAD),
    710: (_UNSAID, _LATE, _TF, _INPUT, _AHEAD), 720: (_UNSAID, _LATE, _TF, _AHEAD, _INPUT), 730: (_UNSAID, _LATE, _TF),
    740: (_UNSAID, _LATE), 9000: _NAVIGATOR, 9100: _NAVIGATOR}
MEANINGS = {first + i: meaning for first, meanings in _FROM.items() for i, meaning in enumerate(meanings)}

_STATES = {
    TaskState.CANCELED: EndMeaning(NavCode.CANCELED, False, "another client canceled Nav2's goal"),
    TaskState.REPLACED: EndMeaning(
        NavCode.CANCELED, False, "the goal of another client, such as RViz, replaced it"),
    TaskState.REJECTED: EndMeaning(_BLOCKED, True, "Nav2 rejected the goal"),
    TaskState.ELSEWHERE: EndMeaning(_BLOCKED, True, "Nav2 reports success, but the robot is not at the goal"),
    TaskState.LOST: EndMeaning(_FAILED, True, "Nav2 does not answer")}


def meaning_of(end: TaskEnd) -> EndMeaning:
    """Return the meaning of a failed task; its message contains Nav2's code and message."""
    if end.state in _STATES:
        code, again, words = _STATES[end.state]
    elif end.code == 0:
        code, again, words = _UNSAID._replace(words="Nav2 gave up without a code: did another goal take its place?")
    elif end.code in MEANINGS:
        code, again, words = MEANINGS[end.code]
        words = f"{words}: Nav2's error {end.code}"
    else:
        code, again, words = _UNSAID._replace(words=f"Nav2's error {end.code}, which is not known here")
    return EndMeaning(code, again, f"{words} ({end.message})" if end.message else words)


def result_of(end: TaskEnd) -> NavResult:
    """Return the end of a task as the result of a drive."""
    if end.state is TaskState.SUCCEEDED:
        return NavResult(NavCode.SUCCEEDED, end.message)
    return NavResult(*meaning_of(end)[::2])
