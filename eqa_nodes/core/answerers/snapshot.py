"""Memory snapshots (3D-Mem): a few images that together show all objects; the model picks the one that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from eqa_nodes.core.answerers.asker import PromptedModel, RoleModels
from eqa_nodes.core.answerers.common import AcceptsAnyQuestion, AnswererOptions
from eqa_nodes.core.answerers.object_graph import Snapshot, objects_in, snapshots
from eqa_nodes.core.answerers.socratic import as_list
from eqa_nodes.core.answerers.vlm import VlmAnswerer, VlmConfig
from eqa_nodes.core.answerers.vlm_replies import NOTHING_SEEN, ReadReply, read_answer, read_prose
from eqa_nodes.core.answerers.vlm_views import heading, picture
from eqa_nodes.core.ledger import affordable
from eqa_nodes.core.memory.embedding import make_embedder
from eqa_nodes.core.model import Backend
from eqa_nodes.core.traits import AnswererTraits
from eqa_nodes.core.types.questions import Answer, Question, RankedRegion, Recalled, Receipt, ViewAssessment
from eqa_nodes.core.types.views import Keyframe


@dataclass(frozen=True)
class SnapshotsConfig:
    """classes: maximum number of kinds of objects after filtering by the question; within_m: maximum distance from
    which a view represents an object; max_images: maximum number per call; max_side_px: larger pictures are scaled
    down to it, 0 = as stored.
    """

    classes: int = 10
    within_m: float = 3.5
    max_images: int = 16
    embedder: str = "auto"
    max_side_px: int = 0


class SnapshotAnswerer(AcceptsAnyQuestion):
    """Answers from memory snapshots (Yang et al. 2025, 3D-Mem), or abstains.

    The paper shows snapshots and frontiers in one call, and the model picks one; here a policy drives (`snapshot`
    works as in the paper), and the picked snapshot answers. Views on the way are judged as in VlmAnswerer. Raises
    ModelError (BudgetSpent), BadQuestion, BadFrame.
    """

    traits = AnswererTraits(labels=True, asks_model=True)

    def __init__(self, backend: Backend, config: SnapshotsConfig | None = None) -> None:
        self._config = config or SnapshotsConfig()
        models = RoleModels.of(backend)
        self._asker = PromptedModel(models)
        self._judge = VlmAnswerer(models, VlmConfig(max_images=self._config.max_images,
                                                   max_side_px=self._config.max_side_px))
        self._embedder = make_embedder(self._config.embedder)

    @classmethod
    def from_options(cls, options: AnswererOptions) -> SnapshotAnswerer:
        """Create it from the registry's options. Raises the errors of opening its model."""
        return cls(options.open_model(), SnapshotsConfig(max_side_px=options.max_side_px))

    def spent(self) -> Receipt:
        """Return calls and tokens so far."""
        spent, judging = self._asker.spent(), self._judge.spent()  # they share a backend: both count all calls
        spent.privileged = spent.privileged or judging.privileged
        return spent

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return kinds of room, the likeliest first. One call."""
        return self._judge.regions(question)

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge views like VlmAnswerer."""
        return self._judge.assess(question, views)

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from snapshots of the items' views: one call filters kinds of objects, one picks and answers."""
        views = [item.keyframe for item in items]
        return self._asker.settle(question, views, lambda asked: self._look(asked, views))

    def _look(self, question: Question, views: Sequence[Keyframe]) -> tuple[ReadReply, Sequence[Keyframe]]:
        c = self._config
        every = snapshots(objects_in(views, self._embedder, c.within_m), c.within_m)
        kept = self._filtered(question, every, views)[:c.max_images]
        if not kept:
            return NOTHING_SEEN, ()
        parts: list[str | bytes] = []
        for i, snapshot in enumerate(kept, 1):
            names = ", ".join(dict.fromkeys(obj.kind for obj in snapshot.objects))
            shown = picture(snapshot.view, {}, self._asker.side("answer_snapshots", c.max_side_px))
            parts += [heading(i, replace(snapshot.view, caption=names), {}), shown]
        reply = self._asker.ask("answer_snapshots", question, parts,
                                partial(read_answer, question=question, views=len(kept)), views,
                                prose=partial(read_prose, question=question, views=len(kept)))
        return reply, [snapshot.view for snapshot in kept]

    def _filtered(self, question: Question, kept: Sequence[Snapshot], views: Sequence[Keyframe]) -> Sequence[Snapshot]:
        """Return the snapshots with the kinds that the model chooses for the question, the best kind first."""
        kinds = list(dict.fromkeys(obj.kind for snapshot in kept for obj in snapshot.objects))
        if len(kinds) <= self._config.classes:
            return kept
        parts = (f"At most {self._config.classes} of:", as_list("kinds", kinds))
        read = partial(read_classes, known=kinds, limit=self._config.classes)
        asks = [lambda: self._asker.ask("classes", question, parts, read, views)]
        if not (chosen := list(affordable(question.account, asks))):
            return kept
        rank = {kind: i for i, kind in enumerate(chosen[0])}
        best = {s.view.id: min((rank[t.kind] for t in s.objects if t.kind in rank), default=len(rank)) for s in kept}
        return sorted((s for s in kept if best[s.view.id] < len(rank) or not rank), key=lambda s: best[s.view.id])


def read_classes(reply: Mapping[str, object], known: Sequence[str], limit: int) -> list[str]:
    """Return the first `limit` kinds of objects that were chosen from the known ones. Raises ValueError."""
    named = reply.get("classes")
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise ValueError('"classes" must be a list of names from the list')
    if off := [name for name in named if name not in known]:
        raise ValueError(f"{off[0]!r:.40} is not on the list of kinds")
    return list(dict.fromkeys(named))[:limit]
