"""A subscription that asks for more than is offered is named, with both remedies; one beside it is enough."""

from __future__ import annotations

import pytest

from eqa_nodes.doctor.transport import Endpoint, TopicEndpoints, judge_qos
from eqa_nodes.wire.graph import OfferedQos

FULL, PLAIN, LATCHED, LEAST = OfferedQos(True, True), OfferedQos(True, False), OfferedQos(False, True), OfferedQos()


def ends(offered: OfferedQos, *asked: OfferedQos) -> TopicEndpoints:
    return TopicEndpoints([Endpoint("/driver", offered)], [Endpoint("/listener", offer) for offer in asked])


@pytest.mark.parametrize(("offered", "asked", "less"), [
    (PLAIN, FULL, "transient local, or /listener subscribe volatile"),
    (LEAST, PLAIN, "reliable, or /listener subscribe best effort"),
    (LATCHED, PLAIN, "reliable, or /listener subscribe best effort"),
    (LEAST, FULL, "reliable and transient local, or /listener subscribe best effort and volatile")])
def test_a_mismatch_is_named_with_both_remedies(offered: OfferedQos, asked: OfferedQos, less: str) -> None:
    [finding] = judge_qos({"/odom": ends(offered, asked)}, {"/odom"})
    assert (finding.name, finding.state) == ("qos", "error")
    assert finding.found == f"/odom: /listener asks for {asked}, /driver offers {offered}: it receives nothing"
    assert finding.remedy == f"let /driver publish {less}"
    [other] = judge_qos({"/rgb": ends(offered, asked)}, {"/odom"})
    assert other.state == "warning"  # somebody else's trouble: the graph does not hear that topic


@pytest.mark.parametrize(("offered", "asked"), [
    (FULL, [FULL]), (FULL, [LEAST]), (PLAIN, [PLAIN]), (LEAST, [LEAST]), (PLAIN, [FULL, PLAIN]), (LEAST, [FULL, LEAST]),
    (LEAST, [])])
def test_who_hears_by_one_of_its_subscriptions_is_well(offered: OfferedQos, asked: list[OfferedQos]) -> None:
    [finding] = judge_qos({"/odom": ends(offered, *asked)}, {"/odom"})
    assert finding.state == "ok" and "on 1 topics" in finding.found


def test_static_transforms_that_are_not_kept_are_told() -> None:
    [finding] = judge_qos({"/tf_static": ends(PLAIN, LEAST)}, {"/tf_static"})
    assert finding.state == "warning" and "/driver offers reliable, volatile" in finding.found
    assert not [one for one in judge_qos({"/tf_static": ends(FULL, FULL)}, set()) if one.state != "ok"]
