"""A form in which people write new questions about histories (OpenEQA, supplement B.2), in OpenEQA's format."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from eqa_nodes.bench.readers.openeqa import QUESTIONS
from eqa_nodes.console.person import Desk, HistoryEpisode, PageReply, PersonRequest, say_farewell, view_picture
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.core.storage.text import storable
from eqa_nodes.generate.journal import Journal
from eqa_nodes.generate.roles import read_pair

WRITTEN = "written.jsonl"
MOST = 1000  # questions of a folder
_MOST_CHARS = 500
CATEGORIES = {  # OpenEQA, section 2.3
    "object recognition": "which thing it is. Good: What stands on the stove? Bad: What do you see?",
    "object localization": "where a thing is. Good: Where is the fire extinguisher? Bad: Where is the wall?",
    "attribute recognition": "colour, shape, material. Good: What colour is the sofa? Bad: What colour are sofas?",
    "spatial understanding": "how things lie to one another, sizes, room for more. Good: Is the table wide enough for "
                             "six plates? Bad: Is the table big?",
    "object state recognition": "on, off, open, full. Good: Is the dishwasher open? Bad: Is the lamp a lamp?",
    "functional reasoning": "what a thing is good for. Good: What can I use to reach the top shelf? Bad: What is "
                            "useful?",
    "world knowledge": "what one must know of the world. Good: Is there a sign of a pet? Bad: What year is it?",
}


@dataclass(frozen=True)
class WrittenQuestion:
    """A question of a person. withdrawn: its author took it back."""

    question_id: str
    question: str
    answer: str
    category: str
    episode_history: str
    withdrawn: bool = False


def write_questions(desk: Desk, folder: Path, histories: Sequence[str],
                    open_history: Callable[[str], HistoryEpisode]) -> int:
    """Show one history after the other until the person goes on; return the number of questions in the folder.

    Each question is on the disk before the page says so: in WRITTEN, and in OpenEQA's file. Raises StorageError, also
    when another process writes there.
    """
    with closing(Journal(folder / WRITTEN, WrittenQuestion)) as journal:
        for number, history in enumerate(histories):
            form = _Form(journal, folder, history, open_history(history), (number, len(histories)))
            desk.serve(form.do, lambda form=form: form.done)  # type: ignore[misc]
        say_farewell(desk, len(histories), len(histories))
        return len(_kept(journal))


def _kept(journal: Journal[WrittenQuestion]) -> list[WrittenQuestion]:
    return [q for q in {q.question_id: q for q in journal.entries}.values() if not q.withdrawn]


class _Form:
    """The form about one history. of: its number, from 0, and the number of histories."""

    def __init__(self, journal: Journal[WrittenQuestion], folder: Path, history: str, episode: HistoryEpisode,
                 of: tuple[int, int]) -> None:
        self._journal, self._folder, self._history, self._episode, self._of = journal, folder, history, episode, of
        self.done = False

    def do(self, request: PersonRequest) -> PageReply:
        """Execute a request of the page. Raises RequestRefused."""
        name, *rest = request.path
        if name == "view" and len(rest) == 1:
            return view_picture(self._episode, rest[0])
        if name not in ("state", "write", "withdraw", "next") or rest:
            raise RequestRefused(f"there is nothing at {'/'.join(request.path)!r}", 404)
        if name != "state" and request.body.get("id") != self._history:
            raise RequestRefused("this page shows an old history: reload it")
        if name == "write":
            self._keep(self._written(request.body))
        elif name == "withdraw":
            self._keep(self._withdrawn(request.body.get("question_id")))
        self.done = name == "next"
        return self._state()

    def _keep(self, question: WrittenQuestion) -> None:
        self._journal.append(question)
        write_json(self._folder / QUESTIONS, [{name: value for name, value in asdict(q).items() if name != "withdrawn"}
                                              for q in _kept(self._journal)])

    def _written(self, body: Mapping[str, object]) -> WrittenQuestion:
        texts = [body.get(name) for name in ("question", "answer")]
        if not all(isinstance(text, str) and len(text) <= _MOST_CHARS and storable(text) for text in texts):
            raise RequestRefused(f"question and answer are texts of at most {_MOST_CHARS} characters, without NUL or "
                                 "lone surrogates", 400)
        category = body.get("category")
        if not isinstance(category, str) or category not in CATEGORIES:
            raise RequestRefused(f"choose a category: {', '.join(CATEGORIES)}", 400)
        try:
            pair = read_pair(body)
        except ValueError as error:
            raise RequestRefused(str(error), 400) from None
        if pair is None:
            raise RequestRefused("write a question and its answer", 400)
        if len(_kept(self._journal)) >= MOST:
            raise RequestRefused(f"this folder has {MOST} questions, the most that it takes: go on in another --out")
        if any(q.question.casefold() == pair.question.casefold() for q in self._mine()):
            raise RequestRefused("this question about the history is saved already")
        return WrittenQuestion(str(uuid.uuid4()), pair.question, pair.answer, category, self._history)

    def _withdrawn(self, question_id: object) -> WrittenQuestion:
        mine = {q.question_id: q for q in self._mine()}
        if not isinstance(question_id, str) or question_id not in mine:
            raise RequestRefused("there is no such question about this history", 404)
        return WrittenQuestion(**{**asdict(mine[question_id]), "withdrawn": True})

    def _mine(self) -> list[WrittenQuestion]:
        return [q for q in _kept(self._journal) if q.episode_history == self._history]

    def _state(self) -> PageReply:
        number, total = self._of
        return {"id": self._history, "question": f"Write questions about {self._history}", "choices": [],
                "kind": "write", "views": len(self._episode.views), "done": number, "total": total,
                "answered": self.done, "written": [asdict(q) for q in self._mine()], "categories": CATEGORIES}
