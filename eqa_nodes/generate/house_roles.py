"""Generator and evaluator that use the scene graph of the built-in house instead of a model. Privileged.

The questions are those that the house's scene graph answers (sim_bridge/house/questions). The generator proposes one
whose targets a view shows well enough for the evaluator: enough of them, large enough and from the front.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.generate.house_directions import directions
from eqa_nodes.generate.values import Benchmark, Evaluation, QuestionAnswer, Round, ScenePath
from sim_bridge.house.questions import CATEGORIES, QuestionCandidate, candidates
from sim_bridge.house.questions.facts import HouseFacts
from sim_bridge.house.questions.grounding import FRONT_COS, VIEW_PIXELS, facing
from sim_bridge.house.world import PREFIX, world_of

PRIVILEGED = ("labels", "scene graph of the house")
_RECOGNITION, _ATTRIBUTE, _STATE, _PLACE, _SPATIAL, _FUNCTION, _KNOWLEDGE = CATEGORIES
_EXPRESS = {_RECOGNITION: "object", _ATTRIBUTE: "attribute", _STATE: "state", _PLACE: "location",
            _SPATIAL: "location", _FUNCTION: "knowledge", _KNOWLEDGE: "knowledge"}
_EXPLORA = {_RECOGNITION: "object recognition", _ATTRIBUTE: "style recognition", _STATE: "state recognition",
            _PLACE: "spatial localization", _SPATIAL: "spatial reasoning", _FUNCTION: "functional reasoning",
            _KNOWLEDGE: "commonsense reasoning"}
_WELL = 0.5  # least score of a view that shows a question's targets well enough
_DEFAULT_FOCAL = 320.0  # pixels, of the camera for which the house's thresholds are made: 640 wide, 90 degrees


class HouseRoles:
    """Both roles for one benchmark. Raises ConfigError for a scene that is not a built-in house."""

    def __init__(self, kind: Benchmark) -> None:
        camera = kind.recipe.robot.camera
        focal = camera.width / 2 / math.tan(math.radians(camera.hfov_deg) / 2)
        self._kind, self._scale = kind, (_DEFAULT_FOCAL / focal) ** 2

    def instruct(self, path: ScenePath, seed: int) -> str:
        """Name the rooms along the path, its turns and what stands beside it."""
        return directions(path, world_of(path.scene).storey_at(path.z), _truth(path.scene).rooms,
                          self._kind.recipe.robot)

    def propose(self, path: ScenePath, category: str, history: Sequence[Round], known: Sequence[str],
                seed: int) -> QuestionAnswer | None:
        """Return the next question of the category that a view shows well; after directions, about where they end."""
        tried = {*known, *(r.pair.question for r in history)}
        for asked in _truth(path.scene).shuffled(f"{path.number} {category} {seed}"):
            if (asked.question not in tried and self._category(asked) == category
                    and (not self._kind.instructed or _at_the_end(path, asked))
                    and any(self._shown(path, view, asked)[0] >= _WELL for view in path.views)):
                return QuestionAnswer(asked.question, asked.answer, asked.alternatives)
        return None

    def evaluate(self, path: ScenePath, category: str, pair: QuestionAnswer, seed: int) -> Evaluation:
        """Score by what is in view; questions from the scene graph are clear and unique."""
        asked = _truth(path.scene).asked.get(pair.question)
        if asked is None or pair.answer != asked.answer:
            return Evaluation({"clarity": 0.0, "answerability": 0.0, "uniqueness": 0.0, "nontriviality": 0.0},
                              "the scene graph of the house does not settle this")
        best, lacking = max((self._shown(path, view, asked) for view in path.views), key=lambda shown: shown[0])
        yes_no = asked.answer in ("yes", "no")
        return Evaluation({"clarity": 1.0, "answerability": round(best, 3), "uniqueness": 1.0,
                           "nontriviality": 0.6 if yes_no else 1.0}, lacking)

    def _category(self, asked: QuestionCandidate) -> str:
        if self._kind.name != "express":
            return _EXPLORA[asked.category]
        if asked.question.startswith("How many"):
            return "counting"
        return "existence" if asked.question.startswith(("Is there ", "Are there ")) else _EXPRESS[asked.category]

    def _shown(self, path: ScenePath, view: Keyframe, asked: QuestionCandidate) -> tuple[float, str]:
        """Return how well a view shows the targets, 0..1, and what is missing."""
        pixels = {s.label.instance: s.pixels * self._scale for s in view.sightings}  # in pixels of the default camera
        house = world_of(path.scene).house
        sizes = sorted(((pixels.get(t, 0.0), t) for t in asked.targets), reverse=True)
        size, smallest = sizes[asked.need - 1]
        name = house.object_by_id(smallest).kind
        if asked.front and facing(house.object_by_id(asked.front), view.pose) < FRONT_COS:
            return 0.0, f"the {house.object_by_id(asked.front).kind} must be seen from its front"
        share = min(1.0, size / (2 * VIEW_PIXELS))  # twice the needed size gives the best score; 0.5 is just enough
        return share, "" if share >= _WELL else f"the {name} covers {size:.0f} pixels, {VIEW_PIXELS} are needed"


def _at_the_end(path: ScenePath, asked: QuestionCandidate) -> bool:
    """Return whether a question is about the room in which the path ends, and nothing in another one."""
    world, end = world_of(path.scene), path.poses[-1]
    house = world.storey_at(path.z)
    room = house.room_at(end.x, end.y)
    if room is None or any(world.house.object_by_id(target).room != room.id for target in asked.targets):
        return False
    return not any(other.kind in asked.question and other.kind not in room.kind for other in house.rooms)


class _Truth(NamedTuple):
    """Every question that a house's scene graph answers, by its text, and the phrases of its rooms."""

    scene: str
    asked: Mapping[str, QuestionCandidate]
    rooms: Mapping[int, str]

    def shuffled(self, key: str) -> list[QuestionCandidate]:
        """Return all questions in a random order seeded by the key."""
        return sorted(self.asked.values(),
                      key=lambda c: (zlib.crc32(f"{self.scene} {key} {c.question}".encode()), c.question))


@lru_cache(maxsize=4)
def _truth(scene: str) -> _Truth:
    if not scene.startswith(PREFIX):
        raise ConfigError(f"the generator 'label' works in built-in houses only, not in {scene!r}: let a "
                          "model write (--model NAME), or choose a scene such as house:3")
    house = world_of(scene).side_by_side()
    found = {c.question: c for group in candidates(house).values() for c in group}
    return _Truth(scene, found, HouseFacts(house).rooms)
