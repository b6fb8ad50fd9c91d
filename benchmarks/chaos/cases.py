"""What the drill asks: short questions with one right answer, in toy worlds and in houses of train seeds."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.types.geometry import Pose2


class Case(NamedTuple):
    """A question, and the thing that a model must have in view to answer it."""

    sample: Sample
    thing: str


def _case(name: str, scene: str, question: str, answer: str, thing: str, start: Pose2 | None = None) -> Case:
    return Case(Sample(name, question, answer, scene=scene, seed=3, start=start), thing)


CASES = {case.sample.id: case for case in (
    _case("plant", "toy:flat", "Is there a plant?", "yes", "plant", Pose2(4.25, 5.25, 0.0)),
    _case("bed", "toy:flat", "Is there a bed?", "yes", "bed"),
    _case("sofas", "toy:flat", "How many sofas are there?", "1", "sofa"),
    _case("rack", "house:206", "In which room is the drying rack?", "the laundry room", "drying rack"),
    _case("board", "house:206", "Is the ironing board in the laundry room red or white?", "red", "ironing board"),
    _case("meal", "house:459", "Is the dining table in the dining room set for a meal?", "yes", "dining table"))}
NEXT = _case("next", "toy:room", "Is there a chair?", "yes", "chair", Pose2(4.25, 2.75, 0.0))  # behind the robot
SAYS = {case.sample.question: case for case in (*CASES.values(), NEXT)}
