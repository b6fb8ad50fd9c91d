"""The pages for people: verify.html (accept, reject, edit) and answer.html (answer without seeing the answer).

Each is one file that needs no network. Film and map of a path are in it once, however many questions share the path.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from eqa_nodes.core.storage.codec import dumps, write_bytes
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.generate.film import PathPictures
from eqa_nodes.generate.values import Benchmark, QuestionAttempt, ScenePath

PAGE, ANSWER_PAGE = "verify.html", "answer.html"


def write_pages(out: Path, kind: Benchmark, records: Sequence[QuestionAttempt], path_of: Callable[[int], ScenePath],
                pictures_of: Callable[[ScenePath], PathPictures]) -> None:
    """Write both pages about the accepted records."""
    verify, answer = [], []
    media: dict[int, Mapping[str, str]] = {}
    for record in records:
        path = path_of(record.way)
        if path.number not in media:
            media[path.number] = {name: _base64(data) for name, data in pictures_of(path)._asdict().items()}
        question = record.pair.question if record.pair else ""
        card = {"id": record.id, "category": record.category, "scene": record.scene, "path": path.number,
                "instruction": path.instruction}
        views = [_uri(view) for view in path.views]
        verify.append({**card, "record": record, "passed": [_uri(view) for view in path.passed],
                       "views": [{"src": src, "shows": i in record.viewpoints} for i, src in enumerate(views)]})
        answer.append({**card, "question": question, "views": views,
                       "answers": kind.answers_to(record.category, question)})
    environment = Environment(loader=PackageLoader("eqa_nodes.generate"), undefined=StrictUndefined,
                              autoescape=select_autoescape(["html", "j2"]), trim_blocks=True, lstrip_blocks=True)
    for name, cards in ((PAGE, verify), (ANSWER_PAGE, answer)):
        html = environment.get_template(f"{name}.j2").render(kind=kind, cards=cards, media=media,
                                                             data=fingerprint(records))
        write_bytes(out / name, html.encode())


def fingerprint(records: Sequence[QuestionAttempt]) -> str:
    """Return by what verdicts and answers know which questions they are about."""
    return hashlib.sha256(dumps([(r.id, r.pair) for r in records]).encode()).hexdigest()[:16]


def _uri(view: Keyframe) -> str:
    return f"data:image/jpeg;base64,{_base64(view.jpeg)}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
