"""Question-answer pairs of a house, from its scene graph: the categories of OpenEQA (Majumdar et al., CVPR 2024)."""

from __future__ import annotations

from sim_bridge.house.questions import perception, places, reasoning
from sim_bridge.house.questions.facts import HouseFacts, QuestionCandidate
from sim_bridge.house.scene import House

_WRITERS = {
    perception.RECOGNITION: perception.recognition,
    perception.ATTRIBUTE: perception.attribute,
    perception.STATE: perception.state,
    places.LOCALIZATION: places.localization,
    places.SPATIAL: places.spatial,
    reasoning.FUNCTIONAL: reasoning.functional,
    reasoning.KNOWLEDGE: reasoning.knowledge,
}
CATEGORIES = tuple(_WRITERS)


def candidates(house: House) -> dict[str, list[QuestionCandidate]]:
    """Return every question that the scene graph can answer, by category, in a stable order, each once."""
    facts = HouseFacts(house)
    found: dict[str, dict[str, QuestionCandidate]] = {category: {} for category in CATEGORIES}
    for category, writer in _WRITERS.items():
        for candidate in writer(facts):
            found[category].setdefault(candidate.question, candidate)
    return {category: list(asked.values()) for category, asked in found.items()}


__all__ = ["CATEGORIES", "QuestionCandidate", "candidates"]
