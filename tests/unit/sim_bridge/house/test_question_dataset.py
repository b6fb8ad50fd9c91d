"""The data set of the built-in house: true, balanced, visible, the same on every run."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.core.answerers.blind import BlindAnswerer
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.errors import ConfigError, UnknownScene
from eqa_nodes.core.language.english import plural
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.samples import Sample
from sim_bridge.house.questions import CATEGORIES, candidates
from sim_bridge.house.questions.dataset import SPLITS, HouseQuestion, house_questions
from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS
from sim_bridge.house.world import world
from sim_bridge.registry import sample_questions
from tests.fixtures.small_home import most_seen, pixels


@lru_cache(maxsize=1)
def sample() -> list[HouseQuestion]:
    """Three houses of the test split."""
    return list(house_questions("test", 21))


def test_the_same_arguments_give_the_same_questions() -> None:
    first = sample()[:7]
    assert list(house_questions("test", 7)) == first
    assert [q.id for q in house_questions("test", 7, seed=1)] != [q.id for q in first]


def test_every_category_comes_equally_often() -> None:
    assert Counter(q.category for q in sample()) == Counter(dict.fromkeys(CATEGORIES, 3))
    assert len({q.id for q in sample()}) == len({(q.scene, q.question) for q in sample()}) == 21
    assert len({q.scene for q in sample()}) == 3  # 500 questions take 72 houses of a split's 100 or more
    assert {split: len(seeds) for split, seeds in SPLITS.items()} == {"train": 900, "validation": 100, "test": 1000}


def test_a_few_questions_come_from_several_houses() -> None:
    few = list(house_questions("test", 5, per_house=2))
    assert [q.category for q in few] == list(CATEGORIES[:5])
    assert len({q.scene for q in few}) == 3


def test_splits_do_not_share_houses() -> None:
    train, held_out, test = ({f"house:{seed}" for seed in SPLITS[split]} for split in ("train", "validation", "test"))
    assert train.isdisjoint(test) and held_out.isdisjoint(train | test)
    assert {q.scene for q in sample()} <= test
    assert {q.split for q in sample()} == {"test"}
    assert all(q.scene in train for q in house_questions("train", 2))
    with pytest.raises(ConfigError, match="known are test, train, validation"):
        next(house_questions("val", 1))


def test_truth_of_generated_questions() -> None:
    """States, colours and counts, read from the scene graph by other means than the writers'."""
    for question in sample():
        house = world(int(question.scene[6:])).house
        target = house.object_by_id(question.targets[0])
        if question.category == "attribute recognition":
            assert question.answer in (target.colour, target.material)
        if pair := re.match(r"Which is (on|open) in ", question.question):
            fit = [t for t in map(house.object_by_id, question.targets) if t.state == pair[1]]
            assert (question.answer in ("both", "neither")) == (len(fit) != 1)
            assert question.answer != "both" or len(fit) == 2
        elif question.category == "object state recognition" and question.answer not in ("yes", "no"):
            assert question.answer == target.state
        if question.category == "object state recognition" and question.answer in ("yes", "no"):
            opposite = {"closed": "open", "off": "on", "out": "lit", "unlit": "lit", "empty": "full", "unmade": "made"}
            word = question.question.rstrip("?").split()[-1]
            if word in (*opposite, *opposite.values(), "running") and "turned off" not in question.question:
                assert (question.answer == "yes") == (word == target.state)
        if found := re.match(r"How many (.+?) are (?:there )?in the (.+)\?", question.question):
            rooms = {room.id for room in house.rooms if found[2] in (room.kind, room.name)}
            assert question.answer == str(sum(plural(t.kind) == found[1] and t.room in rooms for t in house.objects))


def test_generated_views_starts_and_lengths() -> None:
    for question in sample()[:14:2]:
        place = world(int(question.scene[6:]))
        assert question.needs_exploration
        assert place.free(*question.start[:2])
        assert place.free(*question.target_view[:2])
        assert most_seen(place, question.start)[question.targets[0]] < 1.5 * SEEN_PIXELS
        assert pixels(place, question.target_view)[question.targets[0]] >= 0.5 * VIEW_PIXELS
        assert question.l_metres >= question.start.distance(question.target_view) - 1e-6
        assert question.l_steps >= question.l_metres / 0.25 * 0.9


def test_seen_targets_are_marked() -> None:
    seen = list(house_questions("test", 7, include_seen=True))
    assert not all(q.needs_exploration for q in seen)
    assert {q.start for q in seen} == {world(int(seen[0].scene[6:])).house.start}


def test_questions_to_try_have_different_categories_and_only_houses_have_some() -> None:
    known, asked = candidates(world(1000).house), sample_questions("house:1000+2")
    found = {category for category in CATEGORIES for text in asked if any(c.question == text for c in known[category])}
    assert len(asked) == len(found) == 4 and asked == sample_questions("house:1000")
    assert {sample_questions(scene) for scene in ("house:7@2", "toy:flat", "mesh:flat.glb", "kitchen", "")} == {()}
    with pytest.raises(UnknownScene, match="house:9999"):
        sample_questions("house:9999")


@lru_cache(maxsize=1)
def many() -> list[HouseQuestion]:
    """Twenty houses of the train split."""
    return list(house_questions("train", 140, seed=3))


@pytest.mark.thorough
def test_answers_of_many_questions_cannot_be_guessed() -> None:
    """The most frequent answer of a category is not worth guessing."""
    for category in CATEGORIES:
        answers = Counter(q.answer for q in many() if q.category == category)
        assert answers.total() == 20
        assert answers.most_common(1)[0][1] <= 8, (category, answers)


@pytest.mark.thorough
def test_who_knows_homes_but_sees_none_is_seldom_right() -> None:
    guesser, judge, marks = BlindAnswerer(LabelAnswerer()), OfflineJudge(), dict[str, list[float]]()
    for q in many():
        sample = Sample(q.id, q.question, q.answer, q.alternatives, q.category, q.scene, q.start)
        mark = judge.judge(sample, guesser.answer(Question(q.question), ()).text)
        marks.setdefault(q.category, []).append(((mark.sigma or 1) - 1) / 4)
    assert {category: sum(c) / len(c) for category, c in marks.items() if sum(c) / len(c) > 0.45} == {}
