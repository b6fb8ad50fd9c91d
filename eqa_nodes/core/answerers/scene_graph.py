"""Socratic agent with scene-graph captions: it describes objects in words and answers from the descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from eqa_nodes.core.answerers.asker import PromptedModel
from eqa_nodes.core.answerers.common import AnswererOptions, JudgesNoView
from eqa_nodes.core.answerers.object_graph import (
    MAX_OBJECTS,
    CropRanker,
    GraphObject,
    described,
    likest,
    objects_in,
    relations,
)
from eqa_nodes.core.answerers.roles import RoleModels
from eqa_nodes.core.answerers.socratic import Captioner, CaptionStore, as_list
from eqa_nodes.core.answerers.vlm_replies import NOTHING_SEEN, ReadReply, read_answer, read_prose
from eqa_nodes.core.ledger import affordable
from eqa_nodes.core.memory.embedding import make_embedder
from eqa_nodes.core.model import Backend
from eqa_nodes.core.traits import AnswererTraits
from eqa_nodes.core.types.costs import CallAccount
from eqa_nodes.core.types.questions import Answer, Question, Recalled, Receipt
from eqa_nodes.core.types.views import Keyframe


@dataclass(frozen=True)
class GraphConfig:
    """Facts about objects that the model gets.

    boxes: positions and sizes (the ablation of OpenEQA, supplement N, omits them); relations: which object is on, in or
    next to which; crops: number of images of each object that are described, the best ones; objects: maximum number.
    """

    boxes: bool = True
    relations: bool = False
    crops: int = 1
    objects: int = MAX_OBJECTS
    embedder: str = "auto"


VOXEL = GraphConfig()  # OpenEQA's sparse voxel map: the best crop of each instance
GRAPH = GraphConfig(relations=True, crops=3)  # ConceptGraphs-like: several crops of each node, and edges


class SceneGraphAnswerer(JudgesNoView):
    """Answers from a text description of the objects seen: A = LLM([prompt, G, Q]) (OpenEQA, section 3).

    It uses the name, box and images of an object but nothing else from labels: no room, colour or state. The model
    describes each image once. Raises ModelError (BudgetSpent), BadQuestion, BadFrame, StorageError. preset: the
    GraphConfig of a subclass.
    """

    traits = AnswererTraits(labels=True, captions=True, asks_model=True)
    preset = VOXEL

    def __init__(self, backend: Backend, config: GraphConfig | None = None, store: CaptionStore | None = None,
                 ranker: CropRanker | None = None) -> None:
        """ranker: ranks the objects by their pictures, None = by their names."""
        config = config or self.preset
        models = RoleModels.of(backend)
        self._asker, self._captioner = PromptedModel(models), Captioner(models, store)
        self._config, self._embedder, self._ranker = config, make_embedder(config.embedder), ranker

    @classmethod
    def from_options(cls, options: AnswererOptions) -> SceneGraphAnswerer:
        """Create it from the registry's options. Raises StorageError and the errors of opening its model."""
        ranker = options.open_ranker() if options.open_ranker is not None else None
        return cls(options.open_model(), store=options.captions(), ranker=ranker)

    def spent(self) -> Receipt:
        """Return calls and tokens so far; a stored caption costs nothing."""
        return self._asker.spent()

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from the objects in the items' views; the evidence is the best view of each named object."""
        views = [item.keyframe for item in items]
        return self._asker.settle(question, views, lambda asked: self._look(asked, views))

    def _look(self, question: Question, views: Sequence[Keyframe]) -> tuple[ReadReply, Sequence[Keyframe]]:
        c = self._config
        every = objects_in(views, self._embedder)
        objects = (likest(question.text, every, self._embedder, c.objects) if self._ranker is None
                   else self._ranker.likest(question.text, every, c.objects))
        if not objects:
            return NOTHING_SEEN, ()
        descriptions = list(affordable(question.account, (
            partial(self._described, obj, question.account) for obj in objects)))
        objects = objects[:len(descriptions)]
        lines = [described(i, obj, text, c.boxes) for i, (obj, text) in enumerate(zip(objects, descriptions), 1)]
        if c.relations:
            lines += [f"{r.a + 1} is {r.name} {r.b + 1}" for r in relations(objects)]
        reply = self._asker.ask("answer_graph", question, (as_list("things", lines),),
                                partial(read_answer, question=question, views=len(objects), proof="things"), views,
                                prose=partial(read_prose, question=question, views=len(objects)))
        return reply, [obj.crops[0].view for obj in objects]

    def _described(self, obj: GraphObject, account: CallAccount | None) -> str:
        """Return the captions of an object's best crops, without duplicates."""
        hint = f"A detector took it for: {obj.kind}"
        captions = (self._captioner.caption("caption_thing", crop.view.jpeg, hint, crop, account)
                    for crop in obj.crops[:self._config.crops])
        return " / ".join(dict.fromkeys(captions))


class VoxelAnswerer(SceneGraphAnswerer):
    """Answers from OpenEQA's sparse voxel map."""


class VoxelAnswererNoBoxes(SceneGraphAnswerer):
    """VoxelAnswerer without boxes."""

    preset = replace(VOXEL, boxes=False)


class GraphAnswerer(SceneGraphAnswerer):
    """Answers from a ConceptGraphs-like scene graph."""

    preset = GRAPH


class GraphAnswererNoBoxes(SceneGraphAnswerer):
    """GraphAnswerer without boxes."""

    preset = replace(GRAPH, boxes=False)
