"""What the robot did in an episode, in a few sentences for readers without knowledge of robots."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.core.policies.steering import ENDINGS
from eqa_nodes.core.types.floor import parted
from eqa_nodes.core.types.measures import shown_note
from eqa_nodes.core.types.questions import NOWHERE_M
from eqa_nodes.core.types.trace import EpisodeTrace

_ROOMS = 6  # maximum number of rooms named
_TURNED = 4  # observations from one place that count as a look round
_ASKED = ("decide", "assess", "answer")


def story_of(prediction: Prediction, trace: EpisodeTrace | None, weak: str = "") -> tuple[str, ...]:
    """Return sentences: how it began, where the robot went and what it saw, and how that led to the answer.

    weak: why the picture of the evidence is a weak proof, "" if it is a good one.
    """
    return tuple(_sentences(prediction, trace or EpisodeTrace(), weak))


def had_robot(prediction: Prediction, trace: EpisodeTrace | None) -> bool:
    """Return whether a robot took part in an episode; False for a question about a recording."""
    return prediction.answer.receipt.moved or (trace is not None and (bool(trace.decisions) or trace.grid is not None))


def listed(words: Sequence[str]) -> str:
    """Return words as "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _sentences(prediction: Prediction, trace: EpisodeTrace, weak: str) -> Iterator[str]:
    if prediction.predicates and not prediction.failed:
        yield from _of_a_task(prediction, trace)
        return
    if trace.poses or trace.keyframes:
        yield from _on_the_way(prediction, trace) if had_robot(prediction, trace) else _looked_through(trace)
        if pictures := sum(len(call.pictures) for call in trace.calls if call.kind in _ASKED):
            yield f"A model was asked {_times(len(trace.calls))} and saw {_counted(pictures, 'picture')}."
    yield from _end(prediction, trace, weak)


def _of_a_task(prediction: Prediction, trace: EpisodeTrace) -> Iterator[str]:
    """Say what was done at the first and the last step, and how many predicates are true."""
    answer, steps = prediction.answer, [decision.reason for decision in trace.decisions]
    taken = _counted(len(steps), "step")
    yield f"The robot drove {answer.receipt.metres:.1f} m in {taken}." if steps else "The robot took no step."
    if steps:
        yield f"The first was: {steps[0]}." + (f" The last was: {steps[-1]}." if len(steps) > 1 else "")
    true, all_of = sum(prediction.predicates), len(prediction.predicates)
    yield f"{true} of {_counted(all_of, 'predicate')} {_is(true)} true."
    if "; " in answer.message:
        yield f"Of the steps {answer.message.partition('; ')[2].rstrip('.')}."


def _looked_through(trace: EpisodeTrace) -> Iterator[str]:
    yield "No robot moved for this question: the answer was looked for in what was recorded before."
    if trace.keyframes:
        yield f"{_counted(len(trace.keyframes), 'view').capitalize()} of it {_is(len(trace.keyframes))} kept here."
    if rooms := _rooms(trace):
        yield f"The views show {rooms}."


def _on_the_way(prediction: Prediction, trace: EpisodeTrace) -> Iterator[str]:
    metres, choices = prediction.answer.receipt.metres, trace.decisions
    first = choices[0].stamp_ns if choices else trace.poses[-1][0] if trace.poses else 0
    before = [pose for stamp, pose in trace.poses[:bisect_right([stamp for stamp, _ in trace.poses], first)]]
    turned = len(before) >= _TURNED and all(pose.distance(before[0]) < NOWHERE_M for pose in before)
    if turned:
        yield "The robot first looked round from where it stood."
    drive = f"drove {metres:.1f} m" if metres > NOWHERE_M else "stayed where it was"
    chose = f" and chose {_times(len(choices))} where to look" if choices else ""
    yield f"{'Then it' if turned else 'The robot'} {drive}{chose}."
    if len(choices) > 1:
        aims = [_aim(parted(choice.reason)[0]) for choice in (choices[0], choices[-1])]
        yield f"At first it {aims[0]}. At last it {aims[1]}."
    elif choices:
        yield f"It {_aim(parted(choices[0].reason)[0])}."
    if rooms := _rooms(trace):
        yield f"On the way it saw {rooms}."


def _end(prediction: Prediction, trace: EpisodeTrace, weak: str) -> Iterator[str]:
    answer = prediction.answer
    if prediction.failed:
        yield f"It ended with an error: {answer.message or answer.error.name}."
        return
    if proof := next(iter(answer.evidence), None):
        begin = trace.poses[0][0] if trace.poses else proof.stamp_ns
        after = f", taken {(proof.stamp_ns - begin) / 1e9:.0f} s after the start" if proof.stamp_ns > begin else ""
        shows = f": {note}" if (note := shown_note(proof.note).rstrip(".")) else ""
        others = f" and {_counted(len(answer.evidence) - 1, 'other')}" if len(answer.evidence) > 1 else ""
        yield f"The answer rests on the picture{after}{others}{shows}."
        if weak:
            yield f"The proof is weak: {weak}."
    elif answer.text:
        yield "No picture proves the answer: take it as a guess."
    more = answer.message.rstrip(".")
    if answer.abstained or not answer.text:
        yield f"It found no answer{': ' if more else ''}{more}."
    else:
        yield f"It was {100 * answer.confidence:.0f} % sure{'; ' if more else ''}{more}."
    if answer.shown:
        yield "At the end it stood where that was seen."


def _aim(reason: str) -> str:
    """Return a reason without the part on how the previous drive ended."""
    for ended in ENDINGS:
        reason = reason.removeprefix(ended)
    return reason.rstrip(".")


def _rooms(trace: EpisodeTrace) -> str:
    names = list(dict.fromkeys(view.region for view in trace.keyframes if view.region))
    more = [f"{len(names) - _ROOMS} more"] if len(names) > _ROOMS else []
    return listed([f"the {name}" for name in names[:_ROOMS]] + more)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _is(n: int) -> str:
    return "is" if n == 1 else "are"
