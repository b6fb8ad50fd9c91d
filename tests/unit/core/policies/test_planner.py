"""AQ-Nav's planner: the same numbers as the network that was trained, and files that are none are refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.policies.planner import (
    BUCKETS,
    CLOSED,
    NAMED,
    WEIGHTS,
    WORDS,
    GraphPlanner,
    PlannerInput,
    PlannerShape,
    best_of,
    text_of,
    words_of,
)
from eqa_nodes.core.policies.topo_graph import FEATURES, NUMBERS


def given(n: int, seed: int = 0, text: str = "What is on the table?") -> PlannerInput:
    """Return a decision among n nodes with random numbers."""
    rng = np.random.default_rng(seed)
    return PlannerInput(rng.normal(size=(n, FEATURES)).astype(np.float32), rng.integers(0, BUCKETS, (n, NAMED)),
                        rng.random((n, n)).astype(np.float32), text_of(text, ""))


def test_the_planner_of_the_package_is_small_and_says_what_it_was_trained_on() -> None:
    planner = GraphPlanner.load()
    assert WEIGHTS.stat().st_size < 5e6 and "house" in planner.trained and "seed" in planner.trained
    assert len(planner.scores(given(12))) == 12


def test_scores_do_not_depend_on_the_order_of_the_ghosts() -> None:
    planner, one, order = GraphPlanner.load(), given(12), np.array([0, 1, 2, *range(11, 2, -1)])
    turned = PlannerInput(one.numbers[order], one.names[order], one.paths[np.ix_(order, order)], one.words)
    assert planner.scores(turned) == pytest.approx(planner.scores(one)[order], abs=2e-3)


def test_words_have_the_same_numbers_everywhere() -> None:
    assert words_of("the Dining-room", 4) == (*words_of("the dining room", 3), 0)
    assert len(words_of("a b c d e f", 3)) == 3 and all(0 < k < BUCKETS for k in words_of("Is the oven off?", 4))
    assert words_of("kitchen", 1) == (1625,)  # a planner's words must not change from one machine to another
    assert text_of("x " * 100, "").shape == (WORDS,)
    assert text_of("is it on?", "go left").tolist() != text_of("is it on?", "").tolist()


def test_only_what_is_open_is_chosen() -> None:
    assert best_of(np.array([0.1, 9.0, 0.3, 0.3]), np.array([True, False, True, True])) == 2


def written(folder: Path, **changes: object) -> Path:
    """Write the planner of the package with other facts about it."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        rows = {name: stored[name] for name in stored.files}
    file = folder / "aqnav.npz"
    np.savez(file, allow_pickle=False, **{**rows, "about": json.dumps({**json.loads(str(rows["about"])), **changes})})
    return file


def test_files_that_are_no_planner_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no planner .*train one with `eqa learn aqnav`"):
        GraphPlanner.load(tmp_path / "aqnav.npz")
    (tmp_path / "broken.npz").write_bytes(WEIGHTS.read_bytes()[:1000])
    (tmp_path / "text.npz").write_text("no weights")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    for name in ("broken", "text", "other"):
        with pytest.raises(ConfigError, match=f"{name}.npz is no planner"):
            GraphPlanner.load(tmp_path / f"{name}.npz")
    with pytest.raises(ConfigError, match=f"format 1 with 9 features of a node; this version reads format 1 with "
                                          f"{FEATURES}"):
        GraphPlanner.load(written(tmp_path, features=9))
    with pytest.raises(ConfigError, match="planner of format 2"):
        GraphPlanner.load(written(tmp_path, format=2))
    with pytest.raises(ConfigError, match="unknown kind of planner 'mamba': known are graph, gru, local"):
        GraphPlanner.load(written(tmp_path, shape={"kind": "mamba"}))
    assert GraphPlanner.load(written(tmp_path)).trained == GraphPlanner.load().trained
    assert GraphPlanner.load().shape.kind == "graph"  # its file is older than the other kinds


def test_a_local_planner_does_not_see_what_is_far() -> None:
    about = PlannerShape(kind="local")
    planner, one = GraphPlanner(GraphPlanner.load().weights, about), given(6)
    one.numbers[:, [NUMBERS.index(name) for name in ("visited", "here", "frontier", "floor")]] = 0
    one.numbers[1:3, NUMBERS.index("visited")], one.numbers[2, NUMBERS.index("here")] = 1, 1
    one.numbers[3:, NUMBERS.index("floor")] = 1
    one.numbers[:, NUMBERS.index("straight")] = 0, 0.2, 0, 0.1, 0.9, 0.3
    seen = planner.scores(one)
    assert (seen > CLOSED).tolist() == [True, False, True, True, False, True]
    other = one._replace(numbers=one.numbers.copy())
    other.numbers[[1, 4], :2] += 5.0  # another visited place and a far ghost
    assert (planner.scores(other) == seen).all()
    other.numbers[3:, NUMBERS.index("straight")] = 0.9
    assert (planner.scores(other) > CLOSED).all()  # no ghost is near: all are seen
