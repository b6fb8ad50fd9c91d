"""Values of the generation pipeline: paths, proposals, evaluations, checks, and the record of an attempt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.tours.tours import RECIPES, Recipe

APART_M = 0.8  # minimum distance between viewpoints of a question
CRITERIA = ("clarity", "answerability", "uniqueness", "nontriviality")  # the evaluator's scores, each 0..1


class QuestionAnswer(NamedTuple):
    """A question with its answer, and other answers that are equally right."""

    question: str
    answer: str
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """Properties of a benchmark's data. recipe: for its paths; viewpoints: number of views shown at a path's end.

    instructed: the path is described in words and the question is asked at its end (ExploraQA); else the question alone
    must state where its answer is, and is also asked elsewhere in the scene (EXPRESS-Bench). file: the output file.
    examples: pairs shown to the generator. places: categories in which questions may ask where something is.
    """

    name: str
    recipe: Recipe
    categories: Mapping[str, str]  # name -> what such a question asks about, for the generator's prompt
    viewpoints: int
    instructed: bool
    file: str
    examples: tuple[QuestionAnswer, ...] = ()
    places: tuple[str, ...] = ()

    def answers_to(self, category: str, question: str) -> int:
        """Return the number of answers requested of a validator: a place has several descriptions (OpenEQA, B.3).

        "Is the lamp next to the sofa?" can have such a category too, but has one right answer.
        """
        return 2 if category in self.places and _WHERE.search(question) else 1


_WHERE = re.compile(r"\b(where|location|position)\b", re.IGNORECASE)
_EXPRESS = {  # EXPRESS-Bench, figure 3
    "state": "the present state of a thing: on, off, open, closed, full, tidy, pushed in",
    "knowledge": "what a person who knows homes concludes from what is seen: what a thing is good for, what to use",
    "location": "where a thing is, relative to the room or to other things",
    "attribute": "a colour, material, shape or pattern of a thing",
    "counting": "how many things of a kind there are in a named place",
    "existence": "whether a thing is there, answered with what is there or is not",
    "object": "which thing it is that is described by its place",
}
_EXPLORA = {  # ExploraQA, 3.2 and A.6: three about objects, four about space
    "object recognition": "which thing it is that is described by its place",
    "state recognition": "the present state of a thing: on, off, open, closed, full, tidy",
    "style recognition": "a colour, material, pattern or style of a thing",
    "functional reasoning": "what a thing or the room is good for, or how many people can use it",
    "commonsense reasoning": "what a person who knows homes concludes from what is seen",
    "spatial localization": "where a thing is",
    "spatial reasoning": "how things lie to one another, or how many there are, over all views together",
}
# Examples for the generator, one of each kind: our wording, in the tone that the paper describes.
_EXPRESS_EXAMPLES = (
    QuestionAnswer("Did I close the window above the kitchen sink?", "No, it is half open."),
    QuestionAnswer("What could I sit on if I wanted to eat at the high counter in the kitchen?",
                   "One of the two bar stools."),
    QuestionAnswer("Where did I hang the wet towel in the bathroom upstairs?", "On the radiator under the window."),
    QuestionAnswer("Which colour did we paint the cupboard beside the front door?", "Dark green."),
    QuestionAnswer("How many cushions are left on the grey sofa in the living room?", "Three."),
    QuestionAnswer("Is there still a lamp on the desk in the study?", "No, there is only a laptop."),
    QuestionAnswer("What did I leave on the chair next to the bed in the guest room?", "A folded blanket."),
)
BENCHMARKS: dict[str, Benchmark] = {
    "express": Benchmark("express", RECIPES["express"], _EXPRESS, 1, False, "express-bench.json",
                         _EXPRESS_EXAMPLES, ("location",)),
    "exploraqa": Benchmark("exploraqa", RECIPES["exploraqa"], _EXPLORA, 3, True, "exploraqa-train.json",
                           places=("spatial localization",)),
}


def benchmark(name: str) -> Benchmark:
    """Return a benchmark by name. Raises ConfigError."""
    if name not in BENCHMARKS:
        raise ConfigError(unknown("benchmark to generate", name, BENCHMARKS))
    return BENCHMARKS[name]


class DistractorView(NamedTuple):
    """A view of another part of the scene. from_start_m: length of the shortest path from the start, metres."""

    view: Keyframe
    from_start_m: float


@dataclass(frozen=True)
class ScenePath:
    """A path through a scene and the views at its end. poses: (len(actions) + 1) floor poses, map frame.

    way_m: length of the shortest path between its ends, metres; z: height of its floor, metres. views: views at its
    end, starting with the last pose's if it is one; passed: views along it; elsewhere: views of other parts of the
    scene. instruction: "" = none. before: views all around its start, its first quarter and its middle.
    beside: for each of `views` others that look at its middle from elsewhere near the end.
    """

    number: int
    scene: str
    actions: tuple[Action, ...]
    poses: tuple[Pose2, ...]
    way_m: float
    z: float
    views: tuple[Keyframe, ...]
    passed: tuple[Keyframe, ...]
    elsewhere: tuple[DistractorView, ...]
    instruction: str = ""
    before: tuple[Keyframe, ...] = ()
    beside: tuple[tuple[Keyframe, ...], ...] = ()


class Evaluation(NamedTuple):
    """An evaluation of a pair: scores 0..1 for each of CRITERIA, and what to change ("" = nothing)."""

    scores: Mapping[str, float]
    feedback: str

    def accepts(self, least: float) -> bool:
        """Return whether no score is below `least`."""
        return min(self.scores.values()) >= least


class Round(NamedTuple):
    """One turn of the refinement: a proposal and its verdict."""

    pair: QuestionAnswer
    verdict: Evaluation


class FilterCheck(NamedTuple):
    """Result of one filter: a name of a word or two, whether the question passed, and the reason in a line."""

    name: str
    passed: bool
    note: str


@dataclass(frozen=True)
class ValidatorReply:
    """A validator's reply to a question: verdict answer, with one or two answers, or ambiguous or unanswerable."""

    verdict: str
    answers: tuple[str, ...] = ()
    note: str = ""


ACCEPTED, REJECTED, FAILED = "accepted", "rejected", "failed"


@dataclass(frozen=True)
class QuestionAttempt:
    """One attempt at a question, with its whole history. status: accepted, rejected, or failed (no model answered).

    viewpoints: indices of the path's views that show the answer; further: poses of others near the end that do;
    reason: why it is not accepted, "" = it is. reviews: reviewer -> opinion; validations: validator -> reply;
    disputed: answers that differ from the reference.
    """

    id: str
    scene: str
    way: int
    category: str
    status: str
    pair: QuestionAnswer | None = None
    rounds: tuple[Round, ...] = ()
    checks: tuple[FilterCheck, ...] = ()
    viewpoints: tuple[int, ...] = ()
    further: tuple[Pose2, ...] = ()
    reason: str = ""
    reviews: Mapping[str, str] | None = None
    validations: Mapping[str, ValidatorReply] | None = None
    disputed: tuple[str, ...] = ()

