"""Vectors of detected objects as text, and views of two things beside each other that fit a text."""

from __future__ import annotations

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.perception.vectors import AskedLooks, appearance_in, asked_things, open_words, vector_text


def test_a_vector_comes_back_from_its_text_with_length_one_and_its_space() -> None:
    vector = np.random.default_rng(0).normal(size=96).astype(np.float32)
    found = appearance_in(vector_text("eyes /a folder", vector))
    assert found is not None and found.space == "eyes /a folder" and len(found.values) == 96
    read = found.values / 127.0
    assert read @ vector / np.linalg.norm(vector) > 0.999 and np.linalg.norm(read) == pytest.approx(1.0, abs=0.02)


def test_there_is_no_text_without_a_vector_its_length_or_a_space() -> None:
    for space, vector in (("eyes", None), ("eyes", np.zeros(4, np.float32)), ("", np.ones(4, np.float32))):
        assert vector_text(space, vector) == ""


@pytest.mark.parametrize("text", ["", "eyes", "eyes ", "eyes gQ", "eyes not base64!", " gQE=",
                                  "eyes " + "gQE=" * 2500])
def test_a_text_that_is_no_vector_is_none(text: str) -> None:
    assert appearance_in(text) is None


@pytest.mark.parametrize(("text", "thing", "beside"), [
    ("the striped thing by the window", "the striped thing", "the window"),
    ("What is the red thing next to the sofa?", "what is the red thing", "the sofa"),
    ("the white lamp in the kitchen", "the white lamp in the kitchen", ""),
    ("the lamp on the desk near the door", "the lamp", "the desk near the door"), ("", "", "")])
def test_what_is_asked_for_and_what_is_beside_it(text: str, thing: str, beside: str) -> None:
    assert asked_things(text) == (thing, beside)


class Numbered:
    """Its words are the numbers of a vector's entries."""

    def fit(self, phrase: str, vectors: np.ndarray) -> np.ndarray | None:
        return vectors[:, int(phrase)] if phrase.isdecimal() else None


@pytest.mark.parametrize(("thing", "beside", "fit"), [
    ("0", "", 0.9), ("0", "1", 0.9 * 0.6), ("0", "0", 0.9 * 0.3), ("what", "1", 0.8), ("0", "what", 0.9),
    ("what", "", None), ("", "", None)])
def test_one_object_is_not_beside_itself(thing: str, beside: str, fit: float | None) -> None:
    """The best object for 0 is also the best one for 1; the second best for 1 has 0.6."""
    rows = [np.array(row) * 127.0 for row in ((0.9, 0.8), (0.3, 0.1), (0.1, 0.6))]
    found = AskedLooks(Numbered(), thing, beside).fit(rows)
    assert found is None if fit is None else found == pytest.approx(fit)


@pytest.mark.parametrize("space", ["eyes 12ab", "", "os:system true", "builtins:exec raise SystemExit"])
def test_only_spaces_that_are_known_are_opened(space: str) -> None:
    """A memory file or a recording names the space: it must not name what is imported and called."""
    with pytest.raises(ConfigError, match="no package that is installed here knows the vector space"):
        open_words(space)
