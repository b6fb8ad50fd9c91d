"""Agents that somebody else wrote: one of each signature, and some that err."""

from __future__ import annotations

from eqa_nodes.api import Action, Answer, Environment, HistoryArrays, LimitReached, active_agent

GIVEN: list[HistoryArrays | Environment] = []


def em(question: str, history: HistoryArrays) -> str:
    """Say how bright the history is."""
    GIVEN.append(history)
    return "bright" if history.rgb.mean() > 128 else "dark"


def abstains(question: str, history: HistoryArrays) -> Answer:
    """Know nothing."""
    return Answer(abstained=True, message="no idea")


def fails(question: str, history: HistoryArrays) -> str:
    """Err."""
    raise RuntimeError(f"nobody can answer {question!r}")


def number(question: str, history: HistoryArrays) -> int:
    """Return what is no answer."""
    return 3


def active(question: str, state: Environment) -> tuple[str, int]:
    """Turn round once and tell how far it was to the nearest thing."""
    GIVEN.append(state)
    nearest = []
    for _ in range(12):
        frame = state.act(Action.TURN_LEFT)
        nearest.append(float(frame.depth_m[frame.depth_m > 0].min()))
    return f"{min(nearest):.1f} m", 12


def boaster(question: str, state: Environment) -> tuple[str, int]:
    """Take five steps and own up to one."""
    for _ in range(5):
        state.act(Action.TURN_RIGHT)
    return "yes", 1


def restless(question: str, state: Environment) -> tuple[str, int]:
    """Go on until it may not, then answer."""
    try:
        while True:
            state.act(Action.MOVE_FORWARD if not state.collided else Action.TURN_LEFT)
    except LimitReached:
        return "enough", state.steps


def endless(question: str, state: Environment) -> tuple[str, int]:
    """Go on although it may not."""
    while True:
        state.act(Action.TURN_LEFT)


def alone(question: str, state: Environment) -> str:
    """Forget to say how long it took."""
    return "yes"


named = active_agent("blind-priors")
not_callable = 3
