"""Socratic agents (OpenEQA, section 3): they describe views or objects in words and answer from the words alone."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from eqa_nodes.core.answerers.asker import PromptedModel, RoleModels
from eqa_nodes.core.answerers.common import AnswererOptions, JudgesNoView, check_question
from eqa_nodes.core.answerers.label.home import regions_for
from eqa_nodes.core.answerers.object_graph import (
    MAX_OBJECTS,
    Crop,
    CropRanker,
    GraphObject,
    described,
    likest,
    objects_in,
    relations,
)
from eqa_nodes.core.answerers.vlm_replies import NOTHING_SEEN, ReadReply, read_answer, read_prose
from eqa_nodes.core.answerers.vlm_views import picture
from eqa_nodes.core.errors import ModelError, StorageError
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.ledger import affordable
from eqa_nodes.core.memory.embedding import make_embedder
from eqa_nodes.core.model import Backend, Message
from eqa_nodes.core.storage.checks import check_tables
from eqa_nodes.core.storage.text import printable
from eqa_nodes.core.traits import AnswererTraits
from eqa_nodes.core.types.costs import CallAccount
from eqa_nodes.core.types.questions import Answer, Question, RankedRegion, Recalled, Receipt
from eqa_nodes.core.types.views import Keyframe

MAX_TOKENS = 256
MAX_CHARS = 4000  # maximum length of a caption, whatever a server sends
FILE = "captions.sqlite"
_WAIT_S = 30.0  # maximum wait for another process that writes


class CaptionStore:
    """Store of captions by a hash of image, model and prompt. Several processes may share a file."""

    def __init__(self, path: Path | None = None) -> None:
        """path: file, None = in memory only. Raises StorageError if the file cannot be opened."""
        self._name, self._lock = str(path or ":memory:"), threading.Lock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self._name, timeout=_WAIT_S, check_same_thread=False, isolation_level=None)
            check_tables(Path(self._name), self._db)
            self._db.execute("CREATE TABLE IF NOT EXISTS captions (key TEXT PRIMARY KEY, text TEXT NOT NULL)")
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"the captions in {self._name} cannot be opened: {error}") from error

    def get(self, key: str) -> str | None:
        """Return a caption, None if there is none yet. Raises StorageError."""
        row = self._run("SELECT text FROM captions WHERE key = ?", key)
        return None if row is None else str(row[0])

    def put(self, key: str, text: str) -> str:
        """Store a caption and return the valid one, the first for a key. Raises StorageError."""
        self._run("INSERT OR IGNORE INTO captions VALUES (?, ?)", key, text)
        return self.get(key) or text

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._db.close()

    def _run(self, statement: str, *values: str) -> tuple[object, ...] | None:
        try:
            with self._lock, closing(self._db.execute(statement, values)) as found:
                row: tuple[object, ...] | None = found.fetchone()
                return row
        except sqlite3.Error as error:
            raise StorageError(f"the captions in {self._name} cannot be read or written: {error}") from error


class Captioner:
    """Describes images. Raises ModelError (BudgetSpent), StorageError."""

    def __init__(self, backend: Backend, store: CaptionStore | None = None) -> None:
        self._models, self._store = RoleModels.of(backend), store or CaptionStore()
        self._role = self._models.role("caption")
        self.side_px = self._role.side(0)  # longest side of a whole picture, 0 = as stored

    def caption(self, prompt: str, jpeg: bytes, hint: str = "", crop: Crop | None = None,
                account: CallAccount | None = None) -> str:
        """Return the caption of an image, or of a crop, with a prompt of eqa_nodes/prompts.

        account: charged for it. hint: text for the user turn. A caption is reused by all calls with the same hint; one
        with the question in the hint is reused for that question only.
        Raises BadFrame if nothing can be cut out.
        """
        system, where = self._role.text(prompt), repr(crop.bbox) if crop is not None else ""
        digest = hashlib.sha256()
        for part in (self._role.backend.model.encode(), system.encode(), hint.encode(), where.encode(), jpeg):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        key = digest.hexdigest()
        kept = self._store.get(key)
        if kept is not None:
            return kept
        return self._store.put(key, self._asked(system, jpeg if crop is None else crop.jpeg(), hint, account))

    def _asked(self, system: str, jpeg: bytes, hint: str, account: CallAccount | None) -> str:
        """Ask for a caption; repeat once if it is empty."""
        parts = (hint, jpeg) if hint else (jpeg,)
        backend = self._models.asked("caption", account)
        for _ in range(2):
            reply = backend.generate((Message("system", (system,)), Message("user", parts)), MAX_TOKENS)
            if text := " ".join(printable(reply.text).split())[:MAX_CHARS]:
                return text
        raise ModelError(f"empty: {backend.model} returned an empty caption twice")


def as_list(tag: str, lines: Sequence[str]) -> str:
    """Return lines as JSON strings between markers, so that nothing in them can leave its string."""
    return "\n".join((f"<{tag}>", *map(json.dumps, lines), f"</{tag}>"))


class KnowsUsualRooms(JudgesNoView):
    """Mixin of answerers that assess no view, but know the rooms where the things of a question usually are."""

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return the rooms that the question names, else the usual ones; none if the parser did not understand it."""
        query = understand(check_question(question.text)).query
        return [] if query is None else regions_for(query)


class CaptionAnswerer(KnowsUsualRooms):
    """Describes each view once with the model (and stores that), then answers from the captions in one call.

    A = LLM([prompt, z_1 ... z_K, Q]), z_i = Captioner(X_i). The paper uses two models for captions and answers; here
    one does both unless the role "caption" has its own. Raises ModelError (BudgetSpent), BadQuestion,
    StorageError.
    """

    traits = AnswererTraits(captions=True, asks_model=True)
    prompt = "caption"

    def __init__(self, backend: Backend, store: CaptionStore | None = None) -> None:
        models = RoleModels.of(backend)
        self._asker, self._captioner = PromptedModel(models), Captioner(models, store)

    @classmethod
    def from_options(cls, options: AnswererOptions) -> CaptionAnswerer:
        """Create it from the registry's options. Raises StorageError and the errors of opening its model."""
        return cls(options.open_model(), options.captions())

    def spent(self) -> Receipt:
        """Return calls and tokens so far; a stored caption costs nothing."""
        return self._asker.spent()

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from the captions of all items, oldest first."""
        views = sorted((item.keyframe for item in items), key=lambda view: (view.stamp_ns, view.id))
        return self._asker.settle(question, views, lambda asked: (self._look(asked, views), views))

    def _look(self, question: Question, views: Sequence[Keyframe]) -> ReadReply:
        hint = self._hint(question)
        asks = (partial(self._captioner.caption, self.prompt,
                        picture(view, {}, self._captioner.side_px), hint, account=question.account) for view in views)
        lines = [f"{i}. {caption}" for i, caption in enumerate(affordable(question.account, asks), 1)]
        return self._asker.ask("answer_captions", question, (as_list("descriptions", lines),),
                               partial(read_answer, question=question, views=len(views)), views,
                                prose=partial(read_prose, question=question, views=len(views)))

    def _hint(self, question: Question) -> str:
        """Return the captioner's hint in addition to the picture: "", so that a caption serves all questions."""
        return ""


class QuestionCaptionAnswerer(CaptionAnswerer):
    """The Socratic models of EXPRESS-Bench (section 5.1): z_i = Captioner(Q, X_i), with new captions per question.

    A captioner that knows the question describes what is relevant to it.
    """

    prompt = "caption_question"

    def _hint(self, question: Question) -> str:
        return json.dumps(question.text)


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


class SceneGraphAnswerer(KnowsUsualRooms):
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
