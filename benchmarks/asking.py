"""Questions to a simulated robot in a running graph, whoever drives it: how each one ended, and at what cost."""

from __future__ import annotations

import time
from typing import NamedTuple

from benchmarks.nav2_servers import Driver
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.types.questions import Answer, Limits
from eqa_nodes.ros.client import GraphClient

RIGHT = 4  # mark of the offline judge from which an answer is right
DEADLINE_S = 900.0  # wall clock
FAILED, ABSTAINED, CORRECT, WRONG = "failed", "abstained", "right", "wrong"  # and "error NAME"


class Ended(NamedTuple):
    """How a question ended. why: the answer's text, or what was said instead; wall_s: seconds that it took."""

    how: str
    why: str
    answer: Answer | None
    wall_s: float


def ask(client: GraphClient, driver: Driver, name: str, sample: Sample, limits: Limits) -> Ended:
    """Begin an episode of this name and ask."""
    begin = time.monotonic()
    try:
        client.reset(sample.scene, name, sample.start, sample.seed)
        driver.new_scene()
        answer = client.ask(sample.as_question(limits, False), deadline_s=DEADLINE_S)
    except EqaError as error:
        return Ended(FAILED, str(error), None, time.monotonic() - begin)
    return Ended(*_judged(sample, answer), answer, time.monotonic() - begin)


def _judged(sample: Sample, answer: Answer) -> tuple[str, str]:
    if answer.error is not ErrorCode.NONE:
        return f"error {answer.error.name}", answer.message
    if answer.abstained:
        return ABSTAINED, answer.message
    mark = OfflineJudge().judge(sample, answer.text).sigma
    return CORRECT if mark is not None and mark >= RIGHT else WRONG, answer.text
