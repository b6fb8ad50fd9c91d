"""Recall by the names of objects: what means what is asked comes first, and each name has its turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.embedding import DIMENSIONS
from eqa_nodes.core.memory.scoring import by_name
from eqa_nodes.core.types.questions import RecallQuery
from tests.fixtures.frames import LABELS, frame


class Meaning:
    """Knows that water is boiled in kettles, and nothing else; counts what it embeds."""

    name = "meaning"

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.embedded += texts
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[0 if "boil" in text or text == "kettle" else 1 + sum(text.encode()) % 200] = 1.0
        return vectors


def test_a_paraphrase_finds_the_object_and_names_are_embedded_once(tmp_path: Path,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    meaning = Meaning()
    monkeypatch.setattr("eqa_nodes.core.memory.store.make_embedder", lambda name: meaning)
    store = MemoryStore(tmp_path / "memory.sqlite")
    store.reset("first")
    kettle = store.take(frame(10**9, boxes={1: (20, 16, 32, 30), 2: (0, 30, 60, 46)}), LABELS)
    assert kettle is not None
    for _ in range(2):
        first = store.recall(RecallQuery("where can I boil water"))[0]
        assert first.keyframe.id == kettle.id and "kettle means it 4.00" in first.why
    assert meaning.embedded.count("kettle") == 1
    assert not any("means it" in item.why for item in store.recall(RecallQuery("an elephant")))
    store.close()


def test_the_best_view_of_the_second_name_comes_before_further_views_of_the_first() -> None:
    """0.9, 0.75 and 0.6 for views of the first name, as its views of most worth and largest share; 0.8 for the second.
    """
    seen = {1: [("kettle", "", 10), ("wall", "", 90)], 2: [("kettle", "", 50), ("wall", "", 50)],
            3: [("kettle", "", 20), ("wall", "", 80)], 4: [("mug", "", 10)], 5: [("wall", "", 10)]}
    worth = {1: 1.0, 2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0}
    found = by_name((("kettle", 0.9), ("mug", 0.8)), {"kettle": [1, 2, 3, 5], "mug": [4]}, seen, worth, 0.15)
    assert {i: (round(value, 3), name) for i, (value, name) in found.items()} == {
        1: (0.9, "kettle"), 4: (0.8, "mug"), 2: (0.75, "kettle"), 3: (0.6, "kettle")}
