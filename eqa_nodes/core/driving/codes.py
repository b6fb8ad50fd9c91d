"""Nav2's error codes: their meaning for a drive, and whether the same goal is worth another attempt.

The same numbers mean the same in Jazzy and Kilted; Humble's actions report none.
"""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.core.driving.commander import TaskEnd, TaskState
from eqa_nodes.core.types.floor import NavCode, NavResult


class EndMeaning(NamedTuple):
    """code: for the agent; again: another try of the same goal may end otherwise."""

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
_INPUT = EndMeaning(_FAILED, False, "a behavior was asked for something that it cannot do")
_NAVIGATOR = (_UNSAID, _TREE, _TF, _LATE)
_FROM: dict[int, tuple[EndMeaning, ...]] = {
    100: _CONTROLLER, 200: _PLANNER, 300: _PLANNER, 500: _SMOOTHER, 700: (_UNSAID, _LATE, _TF, _AHEAD),
    710: (_UNSAID, _LATE, _TF, _INPUT, _AHEAD), 720: (_UNSAID, _LATE, _TF, _AHEAD, _INPUT), 730: (_UNSAID, _LATE, _TF),
    740: (_UNSAID, _LATE), 9000: _NAVIGATOR, 9100: _NAVIGATOR}
MEANINGS = {first + i: meaning for first, meanings in _FROM.items() for i, meaning in enumerate(meanings)}

_STATES = {
    TaskState.CANCELED: EndMeaning(NavCode.CANCELED, False, "Nav2's goal was canceled by somebody else"),
    TaskState.REPLACED: EndMeaning(
        NavCode.CANCELED, False, "the goal of another client, such as RViz, took its place"),
    TaskState.REJECTED: EndMeaning(_BLOCKED, True, "Nav2 rejected the goal"),
    TaskState.ELSEWHERE: EndMeaning(_BLOCKED, True, "Nav2 says that the robot arrived, and it did not"),
    TaskState.LOST: EndMeaning(_FAILED, True, "Nav2 is gone")}


def meaning_of(end: TaskEnd) -> EndMeaning:
    """Return what the end of a task that did not succeed means; its words have Nav2's code and message."""
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
    """Return the end of a task as a result of a drive."""
    if end.state is TaskState.SUCCEEDED:
        return NavResult(NavCode.SUCCEEDED, end.message)
    return NavResult(*meaning_of(end)[::2])
