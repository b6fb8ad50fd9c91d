"""The words of questions stand in one file, in which no word means two things."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from eqa_nodes.core.language import vocabulary
from eqa_nodes.core.language.english import canonical, normalise, same, singular
from eqa_nodes.core.language.naming import (
    GROUPS,
    KEPT_IN,
    by_head,
    in_group,
    kept_in,
    known_names,
    members,
    small_names,
)
from eqa_nodes.core.language.rooms import is_room, room_by_slang, room_name, room_words
from tests.fixtures.house_kinds import KINDS

SYNONYMS = ("things", "rooms", "other_colours", "other_words", "materials", "relations")


def test_every_kind_of_the_house_is_known() -> None:
    assert {kind for kind in KINDS if singular(kind) not in known_names()} == set()


def test_what_is_small_is_known_but_may_be_there_unseen() -> None:
    assert small_names() <= known_names() and "key" in small_names()
    assert not {canonical(kind) for kind in KINDS} & set(map(canonical, small_names()))


def test_no_word_is_in_two_groups_of_synonyms() -> None:
    counted = Counter(word for section in SYNONYMS for word, _ in vocabulary.groups(section))
    assert {word for word, times in counted.items() if times > 1} == set()


@pytest.mark.parametrize("section", SYNONYMS)
def test_every_synonym_has_one_canonical_form(section: str) -> None:
    for word, name in vocabulary.groups(section):
        assert canonical(word) == canonical(name), word
        assert normalise(word) == word


def test_names_of_different_kinds_stay_different() -> None:
    names = {"bed", "pet bed", "chair", "high chair", "office chair", "armchair", "bike", "exercise bike", "ball",
    "exercise ball",
             "lamp", "floor lamp", "ceiling lamp", "clock", "alarm clock", "toy car", "bottle", "water bottle", "sink",
             "kitchen sink", "shelf", "wall shelf", "bookshelf", "door", "front door", "rug", "bath mat", "doormat",
             "yoga mat"}
    assert len({canonical(name) for name in names}) == len(names)


@pytest.mark.parametrize(("said", "kind"), [
    ("loo roll", "toilet paper"), ("wc", "toilet"), ("the bog", "toilet"), ("telly", "television"), ("goggle box",
    "television"),
    ("settee", "sofa"), ("hob", "oven"), ("cooker", "oven"), ("tap", "faucet"), ("worktop", "kitchen counter"),
    ("duvet", "blanket"), ("rubbish bin", "trash can"), ("hoover", "vacuum cleaner"), ("kicks", "shoes"),
    ("trainers", "shoes"),
    ("doggy bed", "pet bed"), ("tub", "bathtub"), ("tot's chair", "high chair"), ("looking-glass", "mirror"),
    ("brolly holder", "umbrella stand"), ("hamper", "laundry basket"), ("rucksacks", "backpack"), ("washing liquid",
    "detergent bottle"),
    ("cuddly animal", "teddy bear"), ("sitting ball", "exercise ball"), ("stationary bicycle", "exercise bike"),
    ("bedside table", "nightstand"), ("book case", "bookshelf"), ("drapes", "curtains"), ("standing lamp",
    "floor lamp"),
    ("almirah", "wardrobe"), ("lawnmower", "lawn mower"), ("tyre", "tire"), ("six stringer", "guitar")])
def test_everyday_names(said: str, kind: str) -> None:
    assert same(said, kind)


def test_sorts_and_what_is_kept_in_what() -> None:
    assert "apple" in members("fruit") and members("piece of furniture") == members("furniture")
    assert kept_in("knives") == ("knife block",) and kept_in("sofa") == ()
    assert by_head("floor lamp", "lamp") and not by_head("pet bed", "bed")
    assert in_group("office chair", "seat") and not in_group("high chair", "floor covering")
    assert {*GROUPS, *KEPT_IN} <= known_names()


@pytest.mark.parametrize(("text", "room"), [("loo", "bathroom"), ("second bog", "second bathroom"), ("sofa", ""),
                                            ("blue loo", ""), ("lounge", ""), ("", "")])
def test_slang_for_rooms(text: str, room: str) -> None:
    assert room_by_slang(text) == room


def test_names_of_rooms() -> None:
    assert is_room("front room") and is_room("parlour") and not is_room("loo") and not is_room("sofa")
    assert same("front room", "living room") and same("ensuite", "ensuite") and "living room" in room_words()
    assert (room_name("kitchen"), room_name("whole house")) == ("kitchen", "")


def test_reading_one_section() -> None:
    assert "on" in vocabulary.table("relations") and "no" in vocabulary.entries("no")  # words, no booleans
    with pytest.raises(ValueError, match="'beds' of type dict"):
        vocabulary.table("beds")
    with pytest.raises(ValueError, match="'things' of type str"):
        vocabulary.entries("things")


@pytest.mark.parametrize(("text", "message"), [("things: [", "cannot be read"), ("- a\n- b", "holds no sections"),
    (None, "cannot be read")])
def test_a_broken_file_is_one_clear_error(text: str | None, message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch) -> None:
    if text is not None:
        (tmp_path / "vocabulary.yaml").write_text(text)
    monkeypatch.setattr(vocabulary, "PATH", tmp_path / "vocabulary.yaml")
    with pytest.raises(ValueError, match=f"vocabulary.yaml {message}"):
        vocabulary.entries("yes")
