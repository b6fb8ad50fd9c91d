"""Built-in components and the examples keep the promises of their kinds (eqa_nodes/testing/contracts.py)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.bench.judges.marking import marks_at_once, open_judge
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.config.policies import make_policy
from eqa_nodes.core.components import ANSWERERS, DETECTORS, JUDGES, POLICIES, READERS, SIMULATORS
from eqa_nodes.core.policies.frontier_policy import RandomPolicy
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.questions import Question, Situation
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.runners.answerers import answerer_of
from eqa_nodes.testing.contracts import (
    check_answerer,
    check_judge,
    check_policy,
    check_reader,
    check_simulator,
)
from tests.fixtures.rooms import HOME

EXAMPLES = Path(__file__).parents[3] / "examples"
QUESTION = Sample("q", "What color is the sofa?", "red", choices=("red", "blue"), metadata={
    "rule": {"says": ["red"]}, "time": "2026-12-01T18:36:00"})


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function by which the module of an example can be imported."""
    def importable(name: str) -> None:
        monkeypatch.syspath_prepend(str(EXAMPLES / name))
        sys.modules.pop(name, None)

    return importable


@pytest.mark.parametrize("name", POLICIES.builtin)
def test_policies(name: str) -> None:
    check_policy(lambda: make_policy(name))


@pytest.mark.parametrize("name", [name for name in ANSWERERS.builtin if not ANSWERERS.traits(name).asks_model])
def test_answerers_without_a_model(name: str) -> None:
    check_answerer(lambda: answerer_of(AnswererSettings(answerer=name)), Question("What color is the sofa?"), HOME)


@pytest.mark.parametrize("name", [name for name in JUDGES.builtin if marks_at_once(name)])
def test_judges_by_rules(name: str) -> None:
    check_judge(lambda: open_judge(name), QUESTION, "blue")


def test_the_house_as_a_data_set() -> None:
    check_reader(READERS.make("house").read)


@pytest.mark.parametrize("scene", ["toy:room", "house:3"])
def test_simulators(scene: str) -> None:
    check_simulator(lambda: SIMULATORS.make(scene.partition(":")[0]), scene)


@pytest.mark.parametrize("registry", [POLICIES, ANSWERERS, READERS, JUDGES, DETECTORS, SIMULATORS],
                         ids=lambda registry: registry.kind)
def test_every_built_in_component_can_be_imported_and_states_its_traits(registry) -> None:  # type: ignore[no-untyped-def]
    assert all(registry.traits(name) is not None for name in registry.builtin)


class Impure(RandomPolicy):
    """Forgets its seed, as a policy must not."""

    def reset(self, seed: int) -> None:
        if not hasattr(self, "_random"):
            super().reset(seed)


class Homeless(RandomPolicy):
    """Goes into the wall."""

    def decide(self, situation: Situation) -> Decision:
        decision = super().decide(situation)
        return decision if decision.goal is None else replace_goal(decision)


def replace_goal(decision: Decision) -> Decision:
    assert decision.goal is not None
    return decision._replace(goal=decision.goal._replace(x=0.05))


@pytest.mark.parametrize(("policy", "promise"), [(Impure, "same decision"), (Homeless, "free floor")])
def test_a_broken_promise_is_named(policy: type[RandomPolicy], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_policy(policy)


def test_the_wall_follower(example: Callable[[str], None]) -> None:
    example("eqa_wall_follower")
    from eqa_wall_follower import WallFollower, WallFollowerConfig

    check_policy(WallFollower)
    check_policy(lambda: WallFollower(replace(WallFollowerConfig(), side="left"), RobotModel(radius_m=0.2)))


def test_the_counting_answerer(example: Callable[[str], None]) -> None:
    example("eqa_counting_answerer")

    answer = check_answerer(lambda: answerer_of(AnswererSettings(answerer="eqa_counting_answerer:CountingAnswerer")),
                            Question("How many sofas are there?"), HOME)
    kinds = {s.label.instance for view in HOME for s in view.sightings if s.label.kind == "sofa"}
    assert answer.text == str(len(kinds)) and answer.evidence


def test_the_csv_reader(example: Callable[[str], None], tmp_path: Path) -> None:
    example("eqa_csv_reader")
    from eqa_csv_reader import CsvReader

    (tmp_path / "questions.csv").write_text("question,answer,scene\nIs there a plant?,yes,toy:flat\n")
    assert [s.question for s in check_reader(CsvReader().read, tmp_path)] == ["Is there a plant?"]
    (tmp_path / "questions.csv").write_text("question\nIs there a plant?\n")
    with pytest.raises(Exception, match="lacks the columns answer, scene"):
        CsvReader().read(ReaderOptions("csv", tmp_path))


def test_the_corridor_simulator(example: Callable[[str], None]) -> None:
    example("eqa_corridor_simulator")
    from eqa_corridor_simulator import CorridorSimulator

    check_simulator(CorridorSimulator, "corridor:3")
