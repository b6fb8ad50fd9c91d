"""Questions over weeks have answers that the script proves, and what cannot be known is declined."""

from __future__ import annotations

from datetime import datetime

import pytest

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.house.weeks import _WRITERS, KINDS, PER_HOUSE, WeeksQuestion, _Writer, questions_of
from eqa_nodes.bench.house.weeks_facts import LifeFacts
from eqa_nodes.bench.house.weeks_reader import WEEKS_SPLITS
from eqa_nodes.bench.house.weeks_truth import DECLINED, RIGHT, WRONG, AnswerRule, dates_in, rule_of, verdict
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.samples import EM
from sim_bridge.house.life import ABSENT, life_of

NOW = datetime(2026, 12, 1, 18, 36)


@pytest.fixture(scope="module")
def facts() -> LifeFacts:
    return LifeFacts(life_of(1206, 14))


def written(facts: LifeFacts, kind: str) -> list[WeeksQuestion]:
    return list(_WRITERS[kind](_Writer(facts)))


def test_questions_of_a_house_are_of_different_kinds_and_repeat(facts: LifeFacts) -> None:
    asked = questions_of(facts)
    assert len(asked) == PER_HOUSE and len({q.kind for q in asked}) == PER_HOUSE
    assert [q.kind for q in asked] == [kind for kind in KINDS if kind in {q.kind for q in asked}]
    assert questions_of(facts) == asked != questions_of(facts, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_plain_answer_of_a_question_is_right_by_its_rule(facts: LifeFacts, kind: str) -> None:
    for q in written(facts, kind):
        assert "{" not in q.question and q.answer
        assert verdict(q.rule, q.answer, facts.now) == RIGHT, q
        assert all(0 <= number < len(facts.patrols) for number in q.patrols)
        if not q.rule.declines:
            assert verdict(q.rule, "", facts.now) == DECLINED


def test_looks_follow_the_script(facts: LifeFacts) -> None:
    for o in facts.sure:
        for look, patrol in zip(facts.looks(o), facts.patrols, strict=True):
            form = o.course[patrol.number]
            entered = form != ABSENT and bool(set(patrol.rooms) & o.seen[form].clear)
            assert look.form == (form if entered else ABSENT)
            assert all(set(patrol.rooms) & o.seen[k].clear and k != form for k in look.empty)


def test_what_is_not_known_was_not_seen(facts: LifeFacts) -> None:
    asked = written(facts, "not known")
    assert asked and all(q.rule.declines and verdict(q.rule, "yes", facts.now) == WRONG for q in asked)
    kinds = {t.kind for t in facts.life.house.objects} | {o.kind for o in facts.life.objects}
    assert all(not q.kinds or set(q.kinds) <= kinds for q in asked)


@pytest.mark.parametrize(("rule", "text", "said"), [
    (AnswerRule((r"^yes\b",)), "Yes, when I looked last, today at 18:36", RIGHT),
    (AnswerRule((r"^yes\b",)), "no", WRONG), (AnswerRule((r"^yes\b",)), "I did not look then", DECLINED),
    (AnswerRule((r"^yes\b",)), "I don't know", DECLINED), (AnswerRule((r"^yes\b",)), "", DECLINED),
    (AnswerRule(("desk",), counts=(3, 4, 5)), "on the desk, 3 of 5 mornings; I did not look on two", RIGHT),
    (AnswerRule(("desk",), counts=(3, 4, 5)), "on the desk, 3 of 6 mornings", WRONG),
    (AnswerRule(("desk",), ("sofa",)), "on the desk or the sofa", WRONG),
    (AnswerRule(times=2, counts=(2, 3, 3)), "twice", RIGHT), (AnswerRule(times=2), "on 2 of 3 patrols", RIGHT),
    (AnswerRule(times=2), "on 12 of 23 patrols: Sat 2 November", WRONG), (AnswerRule(times=0), "never", RIGHT),
    (AnswerRule(dates=("2026-11-03", "2026-12-01")), "Tue 3 November and today; I did not look on 4 November", RIGHT),
    (AnswerRule(dates=("2026-11-03",)), "3 November and 4 November", WRONG),
    (AnswerRule(dates=("2026-11-03",), slack=1), "3 November and 4 November", RIGHT),
    (AnswerRule(times=4, counts=(4, 9, 9), slack=1), "on 5 of 9 patrols", RIGHT),
    (AnswerRule(times=4, counts=(4, 9, 9), slack=1), "on 6 of 9 patrols", WRONG),
    (AnswerRule(hours=(40.0, 60.0)), "for 2 days", RIGHT), (AnswerRule(hours=(40.0, 60.0)), "for 5 days", WRONG),
    (AnswerRule(declines=True), "no habit yet: one look", RIGHT),
    (AnswerRule(declines=True), "yes, on 1 of 2 patrols; I did not look on 30", WRONG)])
def test_verdicts(rule: AnswerRule, text: str, said: str) -> None:
    assert verdict(rule, text, NOW) == said


def test_days_are_read_as_people_write_them() -> None:
    text = "Tue 3 November, November 4th, the 5th of November, yesterday and today"
    assert {day.isoformat() for day in dates_in(text, NOW)} == {
        "2026-11-03", "2026-11-04", "2026-11-05", "2026-11-30", "2026-12-01"}
    assert {day.year for day in dates_in("24 December", NOW)} == {2025}


def test_the_data_set_has_the_fields_of_la_eqa() -> None:
    samples = open_dataset("house-weeks", split="short", task=EM)
    again = open_dataset("house-weeks", split="short", task=EM)
    assert samples == again and 5 <= len(samples) <= PER_HOUSE
    for sample in samples:
        assert sample.answer and sample.category in KINDS and sample.scene.startswith("house:")
        assert {"time", "episodes", "laeqa_category", "rule", "half", "episode_history"} <= set(sample.metadata)
        rule_of(sample.metadata["rule"])


def test_splits_and_limits() -> None:
    with pytest.raises(ConfigError, match="noisy, short, test, train"):
        open_dataset("house-weeks", split="valid", task=EM)
    with pytest.raises(ConfigError, match="for the task 'em', not 'active'"):
        open_dataset("house-weeks")
    assert len(open_dataset("house-weeks", split="short", limit=3, task=EM)) == 3
    assert (WEEKS_SPLITS["test"].houses * PER_HOUSE, WEEKS_SPLITS["noisy"].noisy) == (200, True)
