"""verify.html: the page on which people accept, reject or edit questions; one file, no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from eqa_nodes.core.storage.codec import dumps, write_bytes
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.generate.values import Benchmark, QuestionAttempt, ScenePath

PAGE = "verify.html"


def write_page(out: Path, kind: Benchmark, records: Sequence[QuestionAttempt],
               path_of: Callable[[int], ScenePath]) -> Path:
    """Write the page about the accepted records and return its path."""
    environment = Environment(loader=PackageLoader("eqa_nodes.generate"), undefined=StrictUndefined,
                              autoescape=select_autoescape(["html", "j2"]), trim_blocks=True, lstrip_blocks=True)
    cards = [{"record": record, "instruction": path_of(record.way).instruction, "views": _pictures(record, path_of),
              "passed": [_uri(view) for view in path_of(record.way).passed]} for record in records]
    html = environment.get_template("verify.html.j2").render(
        kind=kind, cards=cards, data=fingerprint(records))
    write_bytes(out / PAGE, html.encode())
    return out / PAGE


def fingerprint(records: Sequence[QuestionAttempt]) -> str:
    """Return by what verdicts know which questions they are about."""
    return hashlib.sha256(dumps([(r.id, r.pair) for r in records]).encode()).hexdigest()[:16]


def _pictures(record: QuestionAttempt, path_of: Callable[[int], ScenePath]) -> list[dict[str, object]]:
    return [{"src": _uri(view), "shows": i in record.viewpoints} for i, view in enumerate(path_of(record.way).views)]


def _uri(view: Keyframe) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(view.jpeg).decode()}"
