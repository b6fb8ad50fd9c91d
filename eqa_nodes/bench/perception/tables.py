"""The figures of detectors side by side, as tables for the terminal and as a folder with a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.bench.perception.failures import SHEETS, FailurePictures, contact_sheet
from eqa_nodes.bench.perception.figures import DetectorFigures, GroupScore, Rate, rate
from eqa_nodes.bench.perception.measure import MeasuredDetector
from eqa_nodes.bench.perception.recall import RECALLED, RecallTally
from eqa_nodes.bench.report.text_tables import markdown_table
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.core.storage.text import file_name

REPORT, PAGE = "report.json", "report.md"
_NONE, _EVERY = "-", 10_000
_TITLES = {"missed": "missed objects wider than 20 px within 4 m, the largest first",
           "false": "detections that match no object, the surest first",
           "confused": "objects found under a wrong name, the surest first"}


class Section(NamedTuple):
    """One table, with a note below its title."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def sections(figures: Sequence[DetectorFigures], kinds: int) -> list[Section]:
    """Return all tables; kinds: maximum number of rows of the table of kinds."""
    names = tuple(f.name for f in figures)
    found = [_summary(figures, names), _groups(figures, names), _kinds(figures, names, kinds)]
    found += [_confusions(f) for f in figures if f.confusions]
    found += [_calibration(f) for f in figures if len(f.bins) > 1]
    found += [_errors(f) for f in figures if f.errors or f.unusable]
    return found


def _summary(figures: Sequence[DetectorFigures], names: tuple[str, ...]) -> Section:
    first = figures[0]
    rows: list[tuple[str, Callable[[DetectorFigures], str]]] = [
        ("recall, wanted", lambda f: with_interval(f.wanted.recall)),
        ("precision, wanted", lambda f: with_interval(f.wanted.precision)),
        ("recall, all", lambda f: with_interval(f.all.recall)),
        ("precision, all", lambda f: with_interval(f.all.precision)),
        ("mean IoU of kinds", lambda f: percent(f.miou)),
        *((f"{one.name}, right (left out)", partial(_attribute, k=k)) for k, one in enumerate(first.attributes)),
        ("calibration error of scores", lambda f: percent(f.ece)),
        ("false detections, parts of objects", lambda f: f"{f.false}, {f.parts}"),
        ("time, median and 95th percentile", _time),
        ("reads the simulator's labels", lambda f: "yes" if f.privileged else "no"),
        ("views with an error", lambda f: str(sum(f.errors.values())))]
    scenes = f"{first.scenes} scene{'s' * (first.scenes != 1)}"
    note = f"{first.views} views of {scenes}. Wanted: {first.wanted.name}. Percent, with 95 % intervals over scenes."
    return Section("Detectors", ("", *names), tuple((name, *map(cell, figures)) for name, cell in rows), note)


def _groups(figures: Sequence[DetectorFigures], names: tuple[str, ...]) -> Section:
    rows = tuple((groups[0].name, str(groups[0].recall.of), *map(both, groups))
                 for groups in zip(*((*f.sizes, *f.distances) for f in figures), strict=True))
    return Section("By width in the picture and by distance", ("", "objects", *names), rows,
                   "Recall / precision, percent. Widths are those in a picture 320 px wide.")


def _kinds(figures: Sequence[DetectorFigures], names: tuple[str, ...], most: int) -> Section:
    scores = [{k.kind: k for k in f.kinds} for f in figures]
    objects = {kind: max(by[kind].all.recall.of for by in scores if kind in by)
               for kind in dict.fromkeys(kind for by in scores for kind in by)}
    order = sorted(objects, key=lambda kind: (-objects[kind], kind))
    rows = [(kind, str(objects[kind]), *(both(by[kind].wanted) if kind in by else _NONE for by in scores))
            for kind in order[:most]]
    left = f"; {len(order) - most} rarer kinds are left out" if len(order) > most else ""
    return Section("By kind", ("", "objects", *names), tuple(rows),
                   f"Recall / precision of objects {figures[0].wanted.name}, percent{left}.")


def _confusions(f: DetectorFigures) -> Section:
    return Section(f"{f.name}: most frequent confusions", ("object", "found as", "times"),
                   tuple((c.true_kind, c.found_as, str(c.times)) for c in f.confusions))


def _calibration(f: DetectorFigures) -> Section:
    rows = tuple((f"{b.low:.1f} to {b.high:.1f}", str(b.detections), percent(b.score), percent(b.right))
                 for b in f.bins)
    return Section(f"{f.name}: calibration of scores", ("score", "detections", "mean score", "right"), rows)


def _errors(f: DetectorFigures) -> Section:
    rows = [(message, str(count)) for message, count in sorted(f.errors.items(), key=lambda i: (-i[1], i[0]))]
    rows += [("detections with an invalid box, mask or score", str(f.unusable))] if f.unusable else []
    return Section(f"{f.name}: errors", ("", "times"), tuple(rows),
                   "A view with an error counts as one without detections.")


def recall_section(tallies: Mapping[str, RecallTally]) -> Section:
    """Return the table of recall from memory. Raises ConfigError without descriptions."""
    first = next(iter(tallies.values()))
    if not first.asked:
        raise ConfigError("no object in these scenes has a colour and a material and another object beside it: show "
                          "more views of each (--views), or other scenes")
    rows = tuple((name, with_interval(rate(t.by_names)), with_interval(rate(t.with_vectors)),
                  percent(t.chance / t.asked)) for name, t in tallies.items())
    note = (f"{first.asked} descriptions of things in {len(first.by_names)} scene{'s' * (len(first.by_names) != 1)}. "
            f"Percent of them for which one of {RECALLED} recalled views shows what is meant, with 95 % intervals over "
            "scenes.")
    return Section("Recall from memory", ("", "names and captions", "and vectors", "views at random"), rows, note)


def percent(share: float | None) -> str:
    """Return a share in percent, with one decimal."""
    return _NONE if share is None else f"{100 * share:.1f}"


def with_interval(rate: Rate) -> str:
    """Return a share in percent with its interval."""
    if rate.low is None or rate.high is None:
        return percent(rate.value)
    return f"{percent(rate.value)} ({100 * rate.low:.0f}-{100 * rate.high:.0f})"


def both(group: GroupScore) -> str:
    """Return recall / precision."""
    return f"{percent(group.recall.value)} / {percent(group.precision.value)}"


def _attribute(f: DetectorFigures, k: int) -> str:
    score = f.attributes[k]
    return _NONE if score.left_out is None else f"{percent(score.accuracy.value)} ({percent(score.left_out)})"


def _time(f: DetectorFigures) -> str:
    return _NONE if f.median_ms is None or f.p95_ms is None else f"{f.median_ms:.0f}, {f.p95_ms:.0f} ms"


def write_report(folder: Path, measured: Sequence[MeasuredDetector], head: str) -> list[Path]:
    """Write report.json, report.md and the contact sheets; return the files. head: what was measured, one line."""
    figures = [m.figures for m in measured]
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / REPORT, {"measured": head, "detectors": figures})
    pictures = [picture for m in measured if m.failures is not None
                for picture in _pictures(folder, m.figures.name, m.failures)]
    parts = [f"# Detectors against a simulator's labels\n\n{head}\n", *map(_markdown, sections(figures, _EVERY)),
             *(f"## {title}\n\n![]({path.name})\n" for title, path in pictures)]
    (folder / PAGE).write_text("\n".join(parts), encoding="utf-8")
    return [folder / REPORT, folder / PAGE, *(path for _, path in pictures)]


def _pictures(folder: Path, name: str, failures: FailurePictures) -> Iterator[tuple[str, Path]]:
    """Write the contact sheets of a detector that have pictures; yield their titles and files."""
    for sheet in SHEETS:
        if failures.count(sheet):
            title = f"{name}: {failures.count(sheet)} {_TITLES[sheet]}"
            path = folder / f"{file_name(name.replace('=', '-'))}-{sheet}.png"
            contact_sheet(failures.worst(sheet), title).save(path)
            yield title, path


def _markdown(section: Section) -> str:
    return "\n\n".join(filter(None, (f"## {section.title}", section.note,
                                     markdown_table(section.headings, section.rows))))
