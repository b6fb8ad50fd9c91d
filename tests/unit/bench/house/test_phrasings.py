"""Phrasings of the tasks: enough of each family, each kind's in turn, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.bench.house.phrasings import FEWEST, PATH, Wording, phrasings
from eqa_nodes.bench.house.tasks import FAMILIES
from eqa_nodes.core.errors import ConfigError


def test_each_family_has_sixty_different_ones() -> None:
    for family in FAMILIES:
        texts = [text for kind in phrasings()[family].values() for text in kind]
        assert len(set(texts)) == len(texts) >= FEWEST


def test_they_are_used_in_turn_once_a_task_is_made() -> None:
    wording = Wording()
    first = wording.text("SocialInteraction", "greet", who="Anna, the aunt,")
    assert first == wording.text("SocialInteraction", "greet", who="Anna, the aunt,") == "Greet Anna, the aunt,."
    wording.used("SocialInteraction", "greet")
    assert wording.text("SocialInteraction", "greet", who="Anna") == "Say hello to Anna." != first
    assert wording.count("SocialInteraction", "greet") == 1
    text = Wording().text("AttrQA", "quantity", things="chairs", room="the kitchen")
    assert text == "How many chairs are there in the kitchen?"


@pytest.mark.parametrize(("old", "new", "error"), [
    ('"Wake {who}."', '"Wake {whom}."', r"SocialInteraction.wake, 'Wake \{whom\}.': unknown word in braces 'whom'"),
    ('"Please wake {who}."', '"Wake {who}."', r"SocialInteraction.wake has 'Wake \{who\}.' twice"),
    ("  wake:", "  awake:", "SocialInteraction must have the kinds greet, ask"),
    ('    - "Can you {do}?"\n', "", "ObjectInteraction needs 60 phrasings, and has 59"),
    ('    - "Can you {do}?"', "    - 7", "ObjectInteraction.do must be a list of texts"),
])
def test_a_broken_file_is_refused(tmp_path: Path, old: str, new: str, error: str) -> None:
    text = PATH.read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / "phrasings.yaml"
    broken.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=error):
        phrasings(broken)
