"""The bounded way of recall, for words that are in too many views to rank all of them, against the exact one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.components import VECTOR_SPACES
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.memory import MemoryConfig, MemoryStore, recall
from eqa_nodes.core.memory.embedding import DIMENSIONS
from eqa_nodes.core.memory.forgetting import ForgetSelection
from eqa_nodes.core.memory.scoring import TermFit, by_name
from eqa_nodes.core.perception.vectors import vector_text
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Recalled, RecallQuery
from eqa_nodes.core.types.views import Label
from tests.fixtures.frames import LABELS, H, W, frame
from tests.fixtures.logs import logged

SECOND = 10**9
VIEWS = 240
KINDS = ("mug", "kettle", "table lamp", "floor lamp", "sofa", "armchair", "dining table", "coffee table", "desk",
         "vase", "painting", "mirror", "towel", "laptop", "book", "pillow", "television", "refrigerator", "fruit bowl",
         "guitar")
ROOMS = ("kitchen", "living room", "bedroom", "bathroom", "study")
COLOURS = ("red", "blue", "green", "white", "black")
QUESTIONS = ("Where is the mug?", "What colour is the kettle in the kitchen?", "Is the red table lamp on?",
             "Is there a blue sofa in the living room?", "lamp", "coffee table", "the green vase in the study",
             "white towel", "Which book is in the bedroom?", "What is on the dining table?", "guitar",
             "black television", "Do I have any fruit left?", "kitchen", "red things", "a laptop on the desk")
TENTH, SLACK, SHARE = 10, 0.2, 0.9


def fill(path: Path, config: MemoryConfig | None = None, views: int = VIEWS) -> MemoryStore:
    """Return a memory of made-up views, a metre apart: 40 to a row, 1 to 4 things in each."""
    rng = np.random.default_rng(7)
    store = MemoryStore(path, config)
    store.reset("made-up", map_name="home")
    for i in range(views):
        boxes, labels, room = {}, {}, ROOMS[int(rng.integers(len(ROOMS)))]
        for k in range(int(rng.integers(1, 5))):
            number, left, top = 4 * i + k + 1, int(rng.integers(0, 40)), int(rng.integers(0, 30))
            boxes[number] = (left, top, min(W, left + int(rng.integers(8, 30))), min(H, top + int(rng.integers(8, 24))))
            labels[number] = Label(number, KINDS[int(rng.integers(len(KINDS)))], room,
                                   {"colour": COLOURS[int(rng.integers(len(COLOURS)))]})
        assert store.take(frame((i + 1) * SECOND, Pose2(float(i % 40), float(i // 40), 0.0), boxes), labels) is not None
    return store


@pytest.fixture(scope="module", params=["auto", "none"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    store = fill(tmp_path_factory.mktemp("recall") / "memory.sqlite", MemoryConfig(embedder=request.param))
    yield store
    store.close()


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "_EXACT", 0)


def ids(found: list[Recalled]) -> list[int]:
    return [item.keyframe.id for item in found]


def test_the_bounded_way_finds_what_is_as_good(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, asked = 0, 0
    for question in QUESTIONS:
        everything = store.recall(RecallQuery(question, VIEWS))
        exact = {item.keyframe.id: item.score for item in everything}
        tenth = everything[min(TENTH, len(everything)) - 1].score
        with monkeypatch.context() as patched:
            patched.setattr(recall, "_EXACT", 0)
            top = store.recall(RecallQuery(question, TENTH))
        assert len(top) == min(TENTH, len(everything))
        reached += sum(exact.get(i, 0.0) >= tenth - SLACK for i in ids(top))
        asked += len(top)
    assert reached >= SHARE * asked, f"{reached} of {asked}"


@pytest.mark.usefixtures("bounded")
def test_the_bounded_way_is_the_same_each_time(store: MemoryStore, tmp_path: Path) -> None:
    embedder = "none" if store.info()["embeddings"] == "none" else "auto"
    again = MemoryStore(store.path, MemoryConfig(embedder=embedder), write=False)
    for question in QUESTIONS:
        first = store.recall(RecallQuery(question, TENTH))
        assert first == store.recall(RecallQuery(question, TENTH)) == again.recall(RecallQuery(question, TENTH))
        assert [item.score for item in first] == sorted((item.score for item in first), reverse=True)
    again.close()


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("question", ["Where is the mug?", "the red table lamp in the kitchen", "kitchen"])
def test_conditions_hold_in_the_bounded_way_too(store: MemoryStore, question: str) -> None:
    window = store.recall(RecallQuery(question, 100, after_ns=100 * SECOND, before_ns=200 * SECOND))
    assert window and all(100 * SECOND <= item.keyframe.stamp_ns <= 200 * SECOND for item in window)
    near = store.recall(RecallQuery(question, 100, near=(20.0, 5.0, 4.0)))
    assert near and all(item.keyframe.pose.distance(Pose2(20.0, 5.0, 0.0)) <= 4.0 for item in near)
    both = store.recall(RecallQuery(question, 100, after_ns=100 * SECOND, near=(20.0, 5.0, 4.0)))
    assert set(ids(both)) == {i for i in ids(near) if i >= 100}
    named = store.recall(RecallQuery(f"{question} in the last two minutes", 100))
    assert named and all(item.keyframe.stamp_ns >= (VIEWS - 120) * SECOND for item in named)
    assert store.recall(RecallQuery(question, 100, near=(500.0, 0.0, 1.0))) == []


@pytest.mark.usefixtures("bounded")
def test_another_place_is_not_recalled_in_the_bounded_way(tmp_path: Path) -> None:
    store = fill(tmp_path / "memory.sqlite", views=40)
    store.reset("elsewhere", keep=True)
    assert all(store.recall(RecallQuery(question)) == [] for question in QUESTIONS)
    assert store.take(frame(SECOND, boxes={1: (0, 0, 30, 30)}), {1: Label(1, "mug", "study", {})}) is not None
    assert ids(store.recall(RecallQuery("mug"))) == [41]
    store.close()


class Other:
    """A model of which the memory's vectors are not: all its texts mean the same."""

    name = "other"

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.full((len(texts), DIMENSIONS), DIMENSIONS ** -0.5, np.float32)


def test_a_memory_made_with_another_model_is_recalled_by_words_alone(tmp_path: Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("eqa_nodes.core.memory.store.make_embedder", lambda name: Other())
        made = fill(tmp_path / "memory.sqlite", views=40)
        assert made.info()["embeddings"] == "other"
        assert any("like it" in item.why for item in made.recall(RecallQuery("mug", 40)))
        made.close()
    for embedder in ("auto", "none"):
        store = MemoryStore(made.path, MemoryConfig(embedder=embedder))
        found = store.recall(RecallQuery("Where is the mug?", 40))
        assert found and all("words" in item.why and "like it" not in item.why for item in found)
        new = store.take(frame(99 * SECOND, Pose2(0.0, 90.0, 0.0), {1: (0, 0, 30, 30)}),
                         {1: Label(1, "mug", "study", {})})
        assert new is not None and new.id in ids(store.recall(RecallQuery("Where is the mug?", 40)))
        store.forget(ForgetSelection(near=(0.0, 90.0, 1.0)))
        store.close()


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


class Stripes:
    """Words for two entries of a vector: stripes, and windows."""

    def __init__(self, rest: str) -> None:
        assert rest == "1"

    def fit(self, phrase: str, vectors: np.ndarray) -> np.ndarray | None:
        entry = 0 if "striped" in phrase else 1 if "window" in phrase else None
        return None if entry is None else vectors[:, entry]


def failing(self: Stripes, phrase: str, vectors: np.ndarray) -> np.ndarray:
    raise ModelError("out of memory")


def looking(*entries: float) -> str:
    return vector_text("stripes 1", np.array(entries, np.float32))


def test_what_nobody_named_is_found_by_how_it_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three views of a pillow; only the second is striped and shows a window beside it."""
    monkeypatch.setitem(VECTOR_SPACES, "stripes", Stripes)
    boxes = {1: (2, 2, 20, 20), 2: (30, 2, 60, 40)}
    with closing(MemoryStore(tmp_path / "memory.sqlite", MemoryConfig(embedder="none"))) as store:
        store.reset("first")
        for n, (striped, kind) in enumerate(((0.0, "window"), (1.0, "window"), (1.0, "door"))):
            labels = {1: Label(1, "pillow", "", {}, True, 0.9, looking(striped, 0.0, 1.0 - striped)),
                      2: Label(2, "window", "", {}, True, 0.9, looking(0.0, 1.0, 0.0) if kind == "window" else "")}
            kept = store.take(frame((n + 1) * SECOND, Pose2(3.0 * n, 0.0, 0.0), boxes), labels)
            assert kept is not None and not any(s.label.vector for s in kept.sightings)
        best, *rest = store.recall(RecallQuery("the striped thing by the window"))
        assert best.keyframe.id == 2 and "looks like it 9.00" in best.why
        assert len(rest) == 2 and not store.recall(RecallQuery("the spotted thing"))
        assert {2, 3} == {item.keyframe.id for item in store.recall(RecallQuery("something striped", 2))}
    with (closing(MemoryStore(tmp_path / "memory.sqlite", MemoryConfig(embedder="none"), write=False)) as store,
          monkeypatch.context() as broken, logged("eqa_nodes.core.memory.looks") as heard):
        broken.setattr(Stripes, "fit", failing)
        assert len(store.recall(RecallQuery("the striped thing by the window"))) == 3
        assert "without the vectors of their objects: out of memory" in heard.text
    monkeypatch.delitem(VECTOR_SPACES, "stripes")
    with (closing(MemoryStore(tmp_path / "memory.sqlite", MemoryConfig(embedder="none"), write=False)) as store,
          logged("eqa_nodes.core.memory.looks") as heard):
        for _ in range(2):
            assert len(store.recall(RecallQuery("the striped thing by the window"))) == 3
    assert heard.text.count("views are recalled without the vectors of their objects: no package that is") == 1


@pytest.mark.parametrize(("terms", "wanted"), [
    (("lamp",), (0.5 * 0.5 * 0.5, "table lamp")), (("table", "lamp", "bedroom"), (1.0 * 1.0 * 0.5, "table lamp")),
    (("sofa",), (1.0 * 0.5 * 0.75 ** 0.5, "sofa")), (("mug",), (0.0, ""))])
def test_a_view_is_worth_what_its_best_object_fills(terms: tuple[str, ...], wanted: tuple[float, str]) -> None:
    seen = [["table lamp", "bedroom", 100], ["sofa", "living room", 300]]
    assert TermFit(frozenset(terms)).best(seen) == (pytest.approx(wanted[0]), wanted[1])
