"""Writes report.html of a run: questions, answers, evidence, and why the robot went where it went."""

from __future__ import annotations

import hashlib
import shlex
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.metrics.scores import SCORES, Scores, read_scores
from eqa_nodes.bench.reference.beside import sentences
from eqa_nodes.bench.report.calls import CallsSection, calls_of
from eqa_nodes.bench.report.drawing import PATH_COLOURS, confidence_svg, map_svg, path_colour
from eqa_nodes.bench.report.drawing_why import DecisionSection, why_of
from eqa_nodes.bench.report.pictures import Outline, embedded, outlines, proof_picture, size_of, weakness
from eqa_nodes.bench.report.scans import EMBED_SCANS, ScanSection, scan_of
from eqa_nodes.bench.report.story import had_robot, story_of
from eqa_nodes.bench.report.tables import COLUMNS, footnotes, others, right
from eqa_nodes.bench.report.task_tables import HEADINGS, is_of_tasks, task_cells
from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.manifest import detector_of, read_manifest
from eqa_nodes.bench.running.predictions import Prediction, read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.memory.times import clock_phrase
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.measures import shown_note
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.viewer.files import page_script, page_style
from eqa_nodes.wire.image_files import shrunk

_ANSWER = 60  # maximum characters of an answer in the list


class EpisodeRow(NamedTuple):
    """An episode in the list. href: its own page or its anchor on this one; text: the text for searches."""

    number: int
    question: str
    answer: str
    category: str
    status: str
    mark: str
    seconds: float
    metres: float
    steps: int
    calls: int
    tokens: int
    money: float
    text: str
    href: str
    error: str
    message: str
    privileged: tuple[str, ...] = ()


class Tile(NamedTuple):
    """A number at the top of the page. interval: "50.1 to 60.2", "" = none."""

    value: str
    label: str
    interval: str = ""


_TILES = {"C % [95 %]": "C, correctness %", "blind C %": "C % without looking (blind)",
          "E % metres": "E, efficiency by metres %", "E % steps": "E, efficiency by steps %",
          "metres": "metres a question", "seconds": "seconds a question"}
_TASK_TILES = {"Succ. %\n[95 %]": "Succ., all predicates true %", "GcS %": "GcS, share of predicates %",
               "SPL %": "SPL, by steps %", "inter-\nactions %": "interactions per 100 tasks",
               "metres": "metres a task", "seconds": "seconds a task"}


class Bar(NamedTuple):
    """A row of the score table as a bar, in per cent; e, blind: None if there is no value.

    c, e: C and E of questions, Succ. and SPL of tasks.
    """

    name: str
    n: int
    c: float
    low: float
    high: float
    e: float | None
    blind: float | None
    title: str


class CostRow(NamedTuple):
    """A cost: the sum over all questions, and per question."""

    name: str
    total: str
    mean: str
    median: str
    most: str


class Failures(NamedTuple):
    """Episodes that ended in one kind of error, and the message of the first."""

    name: str
    message: str
    lines: tuple[EpisodeRow, ...]


def mark_of(prediction: Prediction, score: QuestionScore | None) -> str:
    """Return the mark as a class of the page: 1..5, failed, unscored or unmarked (not scored yet).

    A task is done or undone: its predicates need no judge.
    """
    if prediction.failed:
        return "failed"
    if prediction.predicates:
        return "done" if all(prediction.predicates) else "undone"
    if score is None:
        return "unmarked"
    return "unscored" if score.sigma is None else f"{score.sigma:.0f}"


def episode_row(number: int, sample: Sample, prediction: Prediction, score: QuestionScore | None,
                href: str) -> EpisodeRow:
    """Return the row of an episode in the index."""
    answer, mark = prediction.answer, mark_of(prediction, score)
    status = mark if mark in ("failed", "unscored") else "abstained" if answer.abstained else "answered"
    text = " ".join((sample.id, sample.scene, sample.question, sample.answer, answer.text, answer.message)).lower()
    short = answer.text if len(answer.text) <= _ANSWER else answer.text[:_ANSWER - 2] + " …"
    r = answer.receipt
    return EpisodeRow(number, sample.question, short, sample.category, status, mark, r.seconds, r.metres, r.steps,
                      r.calls,
                      r.tokens_in + r.tokens_out, r.money, text, href, answer.error.name if prediction.failed else "",
                      answer.message, r.privileged)


def bars_of(scores: Scores) -> list[Bar]:
    """Return a bar for each category and for all questions; none if nothing has a mark."""
    bars, (main, *_), tasks = [], bar_names(scores), is_of_tasks(scores)
    names = ("succ", "task_spl", "blind_c") if tasks else ("openeqa_c", "openeqa_e_metres", "blind_c")
    for row in scores.rows:
        c, e, blind = (row.metrics[name] for name in names)
        if c.mean is not None and c.low is not None and c.high is not None:
            interval = f", 95 % {100 * c.low:.1f} to {100 * c.high:.1f}" if c.n > 1 else ""
            title = f"{row.name}: {main} {100 * c.mean:.1f} %{interval}, n {c.n}"
            bars.append(Bar(row.name, c.n, 100 * c.mean, 100 * c.low, 100 * c.high, _percent(e.mean),
                            None if tasks else _percent(blind.mean), title))
    return bars


def bar_names(scores: Scores) -> tuple[str, str]:
    """Return the names of the values of a bar."""
    return ("Succ.", "SPL, by steps") if is_of_tasks(scores) else ("C", "E, by metres")


def numbers_of(scores: Scores) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells of the table of numbers, the row of all questions first."""
    if is_of_tasks(scores):
        return list(HEADINGS), task_cells(scores)
    return [c.heading for c in COLUMNS], [[column.cell(row) for column in COLUMNS] for row in scores.rows]


def tiles_of(scores: Scores) -> list[Tile]:
    """Return the numbers at the top of the page."""
    headings, table = numbers_of(scores)
    cells = dict(zip(headings, table[0], strict=True))
    tiles = []
    for heading, label in (_TASK_TILES if is_of_tasks(scores) else _TILES).items():
        value, _, interval = cells[heading].partition(" [")
        tiles.append(Tile(value, label, interval.rstrip("]").replace(", ", " to ")))
    return tiles


def costs_of(lines: Sequence[EpisodeRow]) -> list[CostRow]:
    """Return the costs without those that are zero, such as calls if no model was used."""
    kinds: tuple[tuple[str, int, Callable[[EpisodeRow], float]], ...] = (
        ("model calls", 0, lambda x: x.calls), ("tokens", 0, lambda x: x.tokens),
        ("money, by the model's prices", 4, lambda x: x.money), ("seconds", 1, lambda x: x.seconds),
        ("metres", 1, lambda x: x.metres), ("steps", 0, lambda x: x.steps))
    rows = []
    for name, digits, of in kinds:
        values = [of(line) for line in lines]
        if any(values) or (values and name == "seconds"):
            cells = (sum(values), statistics.fmean(values), statistics.median(values), max(values))
            rows.append(CostRow(name, *(f"{value:,.{digits if k in (0, 3) else max(1, digits)}f}"
                                        for k, value in enumerate(cells))))
    return rows


def failures_of(lines: Sequence[EpisodeRow]) -> list[Failures]:
    """Return the kinds of errors, the most frequent first."""
    kinds: dict[str, list[EpisodeRow]] = {}
    for line in lines:
        if line.error:
            kinds.setdefault(line.error, []).append(line)
    found = [Failures(name, group[0].message, tuple(group)) for name, group in kinds.items()]
    return sorted(found, key=lambda kind: (-len(kind.lines), kind.name))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


REPORT = "report.html"
PAGES = "report"  # folder of the episodes' pages and images
_VIEWER = "viewer.js"  # script of the interactive scans, next to the episodes' pages
EMBED_UP_TO = 12  # maximum episodes on one page (0.3 MB each), so that it opens quickly
STRIP = 8  # maximum key images shown per episode
_EVIDENCE_PX, _THUMB_PX = 640, 260


@dataclass(frozen=True)
class CardImage:
    """An image of a card. src: "" = unreadable; proves: it is evidence of the answer, with its objects outlined.

    width, height: size in pixels, which reserves its place while it loads.
    """

    src: str
    caption: str
    proves: bool
    outlines: tuple[Outline, ...] = ()
    width: int = 0
    height: int = 0

    @property
    def weak(self) -> str:
        """Return a warning about the image as a proof; "" = none."""
        return weakness(self.outlines)


@dataclass(frozen=True)
class Card:
    """One episode in the template. score: None = not scored yet; trouble: why something is not shown.

    calls: calls of the model named `model`; None if there were none or the trace is of an earlier version. scan:
    None = not requested. story: what the robot did, in sentences; sure: the confidence beside the path, "" = no view
    was judged on a path.
    """

    number: int
    sample: Sample
    prediction: Prediction
    score: QuestionScore | None
    trace: EpisodeTrace | None
    map: Markup
    evidence: CardImage | None
    strip: tuple[CardImage, ...]
    why: DecisionSection | None
    trouble: str
    calls: CallsSection | None = None
    model: str = ""
    scan: ScanSection | None = None
    story: tuple[str, ...] = ()
    sure: Markup = Markup("")

    @property
    def robot(self) -> bool:
        """Return whether a robot took part; False for a recording."""
        return had_robot(self.prediction, self.trace)

    @property
    def mark(self) -> str:
        """Return the mark as a class of the page."""
        return mark_of(self.prediction, self.score)

    @property
    def mark_said(self) -> str:
        """Return the mark in words."""
        mark, predicates = self.mark, self.prediction.predicates
        if mark in ("done", "undone"):
            return "done" if mark == "done" else f"{sum(predicates)} of {len(predicates)} done"
        return f"mark {mark}" if mark in "12345" else mark


def write_report(run: Path, scan: bool = False) -> Path:
    """Write report.html into a run directory and return its path.

    Needs manifest, questions and predictions (StorageError without); scores and traces are shown if they exist.
    Up to EMBED_UP_TO episodes are embedded in the page; otherwise each has its own page in report/, written in turn.
    scan: also reconstruct what each episode saw, as an interactive model; then up to EMBED_SCANS episodes are embedded.
    Raises MissingExtra for a scan without Open3D.
    """
    samples, predictions = read_samples(run / SAMPLES), read_predictions(run).predictions
    scores = read_scores(run) if (run / SCORES).exists() else None
    marks = {q.id: q for q in scores.questions} if scores else {}
    asked = [s for s in samples if s.id in predictions]
    embed = len(asked) <= (min(EMBED_SCANS, EMBED_UP_TO) if scan else EMBED_UP_TO)
    images, manifest = _Images(run, embed), read_manifest(run)
    model = manifest.asked or manifest.model
    lines = [episode_row(n, s, predictions[s.id], marks.get(s.id), f"#q{n}" if embed else f"{PAGES}/{_page(n)}")
             for n, s in enumerate(asked, 1)]
    each = (replace(_card(n, s, predictions[s.id], marks.get(s.id), run, images, scan), model=model)
            for n, s in enumerate(asked, 1))
    templates, cards = _templates(scan), list(each) if embed else []
    for card in each:
        page = templates.get_template("episode.html.j2").render(
            card=card, before=_page(card.number - 1) if card.number > 1 else "",
            after=_page(card.number + 1) if card.number < len(asked) else "")
        write_bytes(run / PAGES / _page(card.number), page.encode())
    if scan and not embed:
        write_bytes(run / PAGES / _VIEWER, page_script().encode())
    write_bytes(run / REPORT, _render(templates, run, lines, cards, scores, len(samples)).encode())
    return run / REPORT


def _page(number: int) -> str:
    return f"episode-{number:04d}.html"


def page_templates() -> Environment:
    """Return the templates of pages, which escape every value."""
    return Environment(loader=PackageLoader("eqa_nodes.bench.report"), autoescape=select_autoescape(["j2", "html"]),
                       undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _templates(scan: bool) -> Environment:
    environment = page_templates()
    stops = ", ".join(path_colour(k / (len(PATH_COLOURS) - 1)) for k in range(len(PATH_COLOURS)))
    environment.globals["path_gradient"] = stops
    environment.filters["clock"] = clock_phrase
    environment.filters["as_typed"] = shlex.join  # quoted, so that the line can be pasted into a shell
    environment.globals |= {"scan_style": Markup(page_style()) if scan else "", "viewer": _VIEWER}
    environment.globals["scan_script"] = Markup(page_script()) if scan else ""
    return environment


def _render(templates: Environment, run: Path, lines: Sequence[EpisodeRow], cards: Sequence[Card],
            scores: Scores | None, total: int) -> str:
    headings, table = numbers_of(scores) if scores else ([], [])
    manifest = read_manifest(run)
    privileged = sorted({name for line in lines for name in line.privileged})
    return templates.get_template("report.html.j2").render(
        lines=lines, cards=cards, scores=scores, manifest=manifest, detector=detector_of(manifest), total=total,
        privileged=privileged, right=right(scores) if scores else "", others=others(scores) if scores else [],
        headings=headings, table=table, notes=footnotes(scores) if scores else [],
        published=sentences(scores, manifest) if scores else [], bars=bars_of(scores) if scores else [],
        costs=costs_of(lines), failures=failures_of(lines), tiles=tiles_of(scores) if scores else [],
        bar_names=bar_names(scores) if scores else ("", ""))


def _card(number: int, sample: Sample, prediction: Prediction, score: QuestionScore | None, run: Path,
          images: _Images, scan: bool = False) -> Card:
    trace, trouble = None, ""
    if prediction.trace:
        try:
            trace = load_trace(inside(run, prediction.trace))
        except StorageError as error:
            trouble = str(error)
    views = trace.keyframes if trace else []
    proof = {e.keyframe_id: e.note for e in prediction.answer.evidence}
    first = next((k for e in prediction.answer.evidence for k in views if k.id == e.keyframe_id), None)
    begin = views[0].stamp_ns if views else 0
    strip = tuple(images.picture(k.jpeg, _caption(k, begin), k.id in proof, _THUMB_PX) for k in _spread(views, proof))
    if trace and prediction.predicates:
        strip = tuple(images.picture(trace.moments[i].view, f"after {i} step{'s' if i != 1 else ''}", False, _THUMB_PX)
                      for i in _evenly(len(trace.moments), STRIP))
    evidence = None
    if first is not None:
        drawn_in = replace(first, jpeg=proof_picture(first, proof[first.id], trace.calls if trace else ()))
        evidence = images.picture(drawn_in.jpeg, shown_note(proof[first.id]) or _caption(first, begin), True,
                                  _EVIDENCE_PX)
        evidence = replace(evidence, outlines=outlines(first, proof[first.id]) if evidence.src else ())
    drawn = map_svg(trace, sample.target, sample.start) if trace else Markup("")
    why = why_of(trace, f"q{number}-ground", sample.target, images.address) if trace and trace.decisions else None
    calls = calls_of(trace, images.address) if trace else None
    seen = scan_of(run, prediction, trace) if scan else None
    return Card(number, sample, prediction, score, trace, drawn, evidence, strip, why, trouble, calls, scan=seen,
                story=story_of(prediction, trace, evidence.weak if evidence else ""),
                sure=confidence_svg(trace, sample.target, sample.start) if trace and trace.poses else Markup(""))


def _spread(views: Sequence[Keyframe], proof: dict[int, str]) -> list[Keyframe]:
    """Return up to STRIP views: the evidence, and others at even intervals, oldest first."""
    proofs = [k for k in views if k.id in proof][:STRIP]
    others = [k for k in views if k.id not in proof]
    picked = [others[i] for i in _evenly(len(others), STRIP - len(proofs))]
    return sorted(proofs + picked, key=lambda k: k.id)


def _evenly(count: int, most: int) -> list[int]:
    """Return at most `most` of `count` indices at even intervals, the first and the last among them."""
    n = min(most, count)
    return [round(i * (count - 1) / max(1, n - 1)) for i in range(n)]


def _caption(view: Keyframe, begin_ns: int) -> str:
    where = view.region or view.caption
    return f"{(view.stamp_ns - begin_ns) / 1e9:.0f} s" + (f" · {where}" if where else "")


class _Images:
    """Provides the images of pages: embedded, or as files in report/."""

    def __init__(self, run: Path, embed: bool) -> None:
        self._run, self._embed = run, embed

    def picture(self, jpeg: bytes, caption: str, proves: bool, width: int) -> CardImage:
        """Return an image of a card, at most `width` pixels wide."""
        try:
            data = shrunk(jpeg, width)
        except BadFrame as error:
            return CardImage("", f"{caption}: image cannot be read ({error})", proves)
        width, height = size_of(data)
        return CardImage(self.address(data), caption, proves, width=width, height=height)

    def address(self, data: bytes) -> str:
        """Return the URL by which a page shows a JPEG."""
        if self._embed:
            return embedded(data)
        name = f"{hashlib.sha256(data).hexdigest()[:20]}.jpg"  # next to the episode's page
        write_bytes(self._run / PAGES / name, data)
        return name
