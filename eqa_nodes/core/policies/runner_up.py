"""The second best place of a decision and why it lost, in words for people who know nothing of policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from eqa_nodes.core.types.floor import Candidate
from eqa_nodes.core.types.geometry import Pose2

_MARK = "; runner-up: "
_SAME_M = 0.5  # a difference of paths that nobody calls farther


class Rival(NamedTuple):
    """A place that was weighed. what: it is, in words; distance_m: of the path; chance: to see the answer there, 0..1,
    None where the policy does not say.
    """

    what: str
    pose: Pose2
    distance_m: float
    score: float
    kind: str
    chance: float | None = None


def ranked(chosen: Rival, rivals: Sequence[Rival]) -> list[Rival]:
    """Return the chosen place, then the others by score: the order of a decision's candidates."""
    others = [rival for rival in rivals if rival is not chosen]
    return [chosen, *sorted(others, key=lambda rival: -rival.score)]


def candidates_of(rivals: Sequence[Rival]) -> tuple[Candidate, ...]:
    """Return places as the candidates of a decision."""
    return tuple(Candidate(r.pose.x, r.pose.y, r.score, r.kind) for r in rivals)


def with_runner_up(reason: str, order: Sequence[Rival], why: Callable[[Rival, Rival], str]) -> str:
    """Return a reason that also names the second of `ranked`, and says why it lost; none where there is no second."""
    if len(order) < 2:
        return reason
    chosen, second = order[:2]
    what = f"another place like it ({second.what})" if second.what == chosen.what else second.what
    chance = f", {100 * second.chance:.0f} % to see the answer" if second.chance is not None else ""
    return joined(reason, f"{what}, {second.distance_m:.1f} m away{chance}: {why(chosen, second)}")


def joined(reason: str, runner_up: str) -> str:
    """Return a reason with its runner-up in words; the reason alone for ""."""
    return f"{reason}{_MARK}{runner_up}" if runner_up else reason


def parted(reason: str) -> tuple[str, str]:
    """Return a reason without its runner-up, and the runner-up in words, "" where none is named."""
    own, _, second = reason.partition(_MARK)
    return own, second


def less_worth(chosen: Rival, second: Rival) -> str:
    """Say why a place lost where the chance to see the answer is weighed against the way there."""
    if second.score > chosen.score:
        return "it is better, but not by so much that the robot gives up the place that it is on its way to"
    chances = [round(100 * (rival.chance or 0.0)) for rival in (chosen, second)]
    farther, nearer = (sign * (second.distance_m - chosen.distance_m) > _SAME_M for sign in (1, -1))
    if chances[1] < chances[0]:
        return ("it is farther away, and the answer is less likely there" if farther else
                "it is nearer, but the answer is less likely there" if nearer else "the answer is less likely there")
    if chances[1] == chances[0] and not farther:
        return "there is hardly a difference between the two"
    likely = "the answer is more likely there" if chances[1] > chances[0] else "the answer is as likely there"
    return f"{likely}, but it is farther away" if farther else f"{likely}, but the robot would have to turn more"


def lower_score(chosen: Rival, second: Rival) -> str:
    """Say why a place lost where scores are compared."""
    if second.score > chosen.score:
        return (f"it scores {second.score:.2f}, but not so much more than {chosen.score:.2f} that the robot gives up "
                "the place that it is on its way to")
    return f"it scores {second.score:.2f}, the other {chosen.score:.2f}"


def lost_draw(order: Sequence[Rival], kept: bool) -> Callable[[Rival, Rival], str]:
    """Return what says why a place lost where lots are drawn by weight."""
    total = sum(rival.score for rival in order)

    def why(chosen: Rival, second: Rival) -> str:
        if kept:
            return "the robot goes where it was going until it has arrived"
        shares = [100 * rival.score / total for rival in (second, chosen)] if total > 0 else [0.0, 0.0]
        return f"lots are drawn, and its chance was {shares[0]:.0f} %, that of the other {shares[1]:.0f} %"

    return why
