"""Makes stored stamps independent of earlier episodes of the same simulator, whose clock never goes back."""

from __future__ import annotations

from dataclasses import replace

from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.trace import EpisodeTrace


def begin_of(trace: EpisodeTrace | None) -> int:
    """Return the stamp of an episode's first observation, ns; 0 = unknown."""
    return trace.poses[0][0] if trace is not None and trace.poses else 0


def answer_since(answer: Answer, begin_ns: int) -> Answer:
    """Return the answer with stamps that count from the episode's begin."""
    return replace(answer, evidence=tuple(e._replace(stamp_ns=e.stamp_ns - begin_ns) for e in answer.evidence))


def trace_since(trace: EpisodeTrace, begin_ns: int) -> EpisodeTrace:
    """Return the trace with stamps that count from the episode's begin."""
    return replace(
        trace, poses=[(stamp - begin_ns, pose) for stamp, pose in trace.poses],
        decisions=[d._replace(stamp_ns=d.stamp_ns - begin_ns) for d in trace.decisions],
        keyframes=[replace(k, stamp_ns=k.stamp_ns - begin_ns) for k in trace.keyframes],
        weighed=[(stamp - begin_ns, weighed) for stamp, weighed in trace.weighed],
        grid=None if trace.grid is None else replace(trace.grid, stamp_ns=trace.grid.stamp_ns - begin_ns),
        calls=[call._replace(stamp_ns=call.stamp_ns - begin_ns) for call in trace.calls],
        moments=[moment._replace(stamp_ns=moment.stamp_ns - begin_ns) for moment in trace.moments],
        answer=None if trace.answer is None else answer_since(trace.answer, begin_ns))
