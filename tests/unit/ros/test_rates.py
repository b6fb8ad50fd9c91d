"""Rates, ages and levels of a flow of messages, by a clock that the test moves."""

from __future__ import annotations

import time

import pytest

from eqa_nodes.ros.rates import ERROR, OK, RING, STALE, UNKNOWN, WARN, ClockAlarm, Flow, LossCounter, RateWindow, judged

S = 1_000_000_000


def flow_of(seconds: int, hz: int, age_ns: int = 20_000_000, busy_ns: int = 1_000_000) -> tuple[Flow, RateWindow]:
    """Return a flow that ran for so many seconds from 0 on, summed up once in each, and its last summary."""
    flow = Flow(0)
    for second in range(seconds):
        for k in range(hz):
            flow.received(second * S + k * S // hz, age_ns)
            flow.spent(busy_ns)
        summary = flow.sum_up((second + 1) * S)
    return flow, summary


@pytest.mark.parametrize("seconds", [1, 4, 5, 30])
def test_a_steady_flow_has_its_rate_from_the_first_second_on(seconds: int) -> None:
    _, summary = flow_of(seconds, 10)
    assert summary.rate_hz == pytest.approx(10.0) and summary.total == 10 * seconds
    assert summary.busy == pytest.approx(0.01) and summary.longest_s == pytest.approx(0.001)
    assert summary.median_age_s == summary.oldest_s == pytest.approx(0.02)


def test_a_window_forgets_what_was_before_it() -> None:
    flow, _ = flow_of(10, 10)
    flow.received(10 * S, age_ns=3 * S)
    flow.spent(2 * S)
    at_once, later = flow.sum_up(11 * S), [flow.sum_up((12 + k) * S) for k in range(6)]
    assert at_once.oldest_s == pytest.approx(3.0) and at_once.longest_s == pytest.approx(2.0)
    assert at_once.rate_hz == pytest.approx(41 / 5) and at_once.median_age_s == pytest.approx(0.02)
    assert later[3].oldest_s == pytest.approx(3.0) and later[3].rate_hz == pytest.approx(1 / 5)
    assert later[4].oldest_s is None and later[4].rate_hz == 0.0 and later[4].longest_s == 0.0 and later[4].busy == 0.0
    assert later[5].silent_s == pytest.approx(7.0) and later[5].total == 101


def test_ages_of_a_fast_flow_are_those_of_the_newest() -> None:
    flow = Flow(0)
    for k in range(3 * RING):
        flow.received(k, age_ns=S if k < 2 * RING else 2 * S)
    assert flow.sum_up(S).median_age_s == pytest.approx(2.0)


def test_stamps_of_another_clock_say_no_age() -> None:
    flow, _ = flow_of(1, 4, age_ns=UNKNOWN)
    flow.received(S, age_ns=S // 2)
    assert flow.sum_up(2 * S).oldest_s == pytest.approx(0.5)
    assert flow_of(2, 4, age_ns=UNKNOWN)[1].median_age_s is None


def test_levels() -> None:
    steady = flow_of(5, 10)[1]
    assert judged(steady, 0.0, 0.0).level == judged(steady, 10.0, 0.02).level == OK
    assert judged(steady, 10.1, 0.0) == (WARN, "10.0 Hz, less than 10.1 Hz")
    late, early = flow_of(5, 10, age_ns=S // 2)[1], flow_of(5, 10, age_ns=-S // 2)[1]
    assert judged(late, 20.0, 0.4).level == ERROR and "0.500 s old" in judged(late, 20.0, 0.4).message
    assert judged(early, 0.0, 0.4).level == ERROR and "in the future" in judged(early, 0.0, 0.4).message
    assert judged(late, 0.0, 0.0).level == OK


def test_silence_is_stale_and_ends() -> None:
    flow, _ = flow_of(5, 10)
    silent = [flow.sum_up((6 + k) * S) for k in range(5)]
    assert [judged(s, 5.0, 0.0).level for s in silent] == [OK, OK, WARN, WARN, STALE]
    assert judged(silent[-1], 0.0, 0.0).level == OK
    for k in range(50):
        flow.received(10 * S + k * S // 50)
    assert judged(flow.sum_up(11 * S), 5.0, 0.0).level == OK
    assert judged(Flow(0).sum_up(S), 5.0, 0.0) == (STALE, "no message yet")


def test_gaps_in_a_publishers_numbers_are_lost_messages() -> None:
    gaps = LossCounter()

    def take(number: int | None, publisher: int) -> int:
        return gaps.take({"publication_sequence_number": number, "publisher_gid": {"data": [publisher] * 16}})

    assert [take(n, 1) for n in (7, 8, 11, 12)] == [0, 0, 2, 0]  # what was sent before it was heard is not lost
    assert [take(n, 2) for n in (1, 4)] == [0, 2] and gaps.lost == 4
    assert take(None, 1) == 0 and take(13, 1) == 0 and gaps.lost == 4  # a middleware that does not number them


def test_each_kind_of_clock_jump_has_its_level_and_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = [0]
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + ahead[0])
    alarm = ClockAlarm(5.0)
    assert alarm.report().verdict == (OK, "no clock jumped lately")
    alarm.went_back(42.0)
    verdict = alarm.report().verdict
    assert verdict.level == WARN and "stamps went back by 42.0 s: begin a new episode" in verdict.message
    ahead[0] = -3600 * 10**9
    said = alarm.report()
    assert said.verdict.level == WARN and "the wall clock was set back by 3600.0 s" in said.verdict.message
    assert "makestep" in said.verdict.message and said.values["wall clock was set [times]"] == 1
    alarm.stray("depth")
    said = alarm.report()
    assert said.verdict.level == ERROR and "depth is stamped in the future: synchronise" in said.verdict.message
