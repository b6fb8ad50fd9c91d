"""Runs as rows of the tables of the papers: which cells they fill, with what error, and what the footnotes say."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.bench.judges.base import GivenMarks, JudgeMark
from eqa_nodes.bench.metrics.compare import ScoredRun
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.metrics.values import value_of
from eqa_nodes.bench.published import PublishedRun, write_run
from eqa_nodes.bench.report.paper_tables import (
    PaperCell,
    PaperTable,
    comma_separated,
    paper_markdown,
    paper_tables,
    read_runs,
    write_tables,
)
from eqa_nodes.bench.running.manifest import MANIFEST, finish_manifest, read_manifest
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.samples import ACTIVE, EM, Sample

MARKS = {"s1": 5.0, "s2": 1.0, "h1": 3.0, "h2": 5.0}


def openeqa(name: str) -> Sample:
    folder = "scannet-v0" if name.startswith("s") else "hm3d-v0"
    return Sample(name, "What is it?", "a cup", category="object recognition" if name.endswith("1") else
                  "world knowledge", metadata={"episode_history": f"{folder}/000-x", "ambiguous": name == "s1"},
                  reference_metres=4.0)


def run(out: Path, marks: Mapping[str, float] = MARKS, task: str = EM, answers: Mapping[str, str | None] | None = None,
        blind: Mapping[str, float] | None = None) -> str:
    """Make a scored run of OpenEQA and return its path."""
    samples = [openeqa(name) for name in marks]
    found = PublishedRun(answers or dict.fromkeys(marks, "a cup"), dict.fromkeys(marks, 8.0) if task == ACTIVE else {})
    write_run(out, "openeqa", samples, found, {}, "ours")
    finish_manifest(out, task=task)
    score_run(out, GivenMarks(marks, "m"), blind=None if blind is None else GivenMarks(blind, "blind"))
    return str(out)


def of(table: PaperTable, row: str) -> dict[str, PaperCell]:
    return dict(zip(table.headings, next(r.cells for r in table.rows if r.name == row), strict=True))


def notes(table: PaperTable, row: str) -> list[str]:
    return [table.notes[n - 1] for n in next(r.notes for r in table.rows if r.name == row)]


def test_a_run_fills_the_columns_of_its_task_by_source_and_category(tmp_path: Path) -> None:
    two, _, four, five = paper_tables(read_runs([run(tmp_path / "ours")]))
    cells = of(two, "ours")
    assert [cells[f"EM-EQA {source} C"].value for source in ("ScanNet", "HM3D", "all")] == [50.0, 75.0, 62.5]
    assert [cells[f"EM-EQA {source} C"].n for source in ("ScanNet", "HM3D", "all")] == [2, 2, 4]
    assert cells["EM-EQA ScanNet C"].error == pytest.approx(100 * 0.5 / 2 ** 0.5, rel=0.05)  # s / sqrt(n)
    assert cells["A-EQA C"] == PaperCell()
    by = of(four, "ours")
    assert (by["object recognition"].value, by["world knowledge"].value) == (75.0, 50.0)
    assert by["functional reasoning"] == PaperCell() and set(of(five, "ours").values()) == {PaperCell()}


def test_published_rows_stand_above_as_they_were_printed(tmp_path: Path) -> None:
    two, three, four, five = paper_tables(read_runs([run(tmp_path / "ours")]))
    assert [c.text for c in of(two, "GPT-4V").values()] == ["51.3±2.5", "46.6±3.1", "49.6±2.0", "41.8±3.2", "7.5±0.6",
                                                            "–"]
    assert of(two, "3D-Mem (GPT-4o)")["A-EQA E (metres)"].text == "42.0"
    assert [c.text for c in of(three, "GPT-4 with ConceptGraphs").values()] == ["36.5", "18.5", "34.4", "12.4"]
    assert [c.text for c in of(four, "human").values()][-2:] == ["87.2", "86.8±0.6"]
    assert [c.text for c in of(five, "GPT-4V").values()][-2:] == ["36.6", "41.8±3.2"]
    svm = "LLaMA-2 with sparse voxel map"  # the supplement prints another error of the same value
    assert (of(two, svm)["EM-EQA all C"].text, [*of(four, svm).values()][-1].text) == ("34.3±1.0", "34.3±1.1")
    assert [c.text for c in of(three, "LLaMA-2 blind").values()] == ["27.7", "–", "28.8", "–"]
    assert [r.own for r in two.rows] == [False] * 23 + [True] and len(five.rows) == len(three.rows) == 11


def test_runs_of_one_name_fill_one_row(tmp_path: Path) -> None:
    em = run(tmp_path / "em")
    active = run(tmp_path / "active", {"h1": 3.0, "h2": 5.0}, ACTIVE)
    part = run(tmp_path / "part", {"h1": 3.0, "h2": 5.0})
    found = paper_tables(read_runs([f"our agent={em}", f"our agent={active}", f"part={part}"]), ["2"])[0]
    assert of(found, "part")["EM-EQA HM3D C"].value == 75.0 and of(found, "part")["EM-EQA all C"] == PaperCell()
    cells = of(found, "our agent")
    assert (cells["EM-EQA all C"].value, cells["A-EQA C"].value, cells["A-EQA E (metres)"].value) == (62.5, 75.0, 37.5)
    with pytest.raises(ConfigError, match="two runs of the task em are called 'a'"):
        read_runs([f"a={em}", f"a={em}"])


def test_both_values_stand_in_a_table_with_one_column(tmp_path: Path) -> None:
    """A table that printed the value with guesses alone said 87.5 where `score` prints 62.5."""
    answers = {"s1": "a cup", "s2": None, "h1": "a cup", "h2": "a cup"}
    ours = run(tmp_path / "ours", answers=answers, blind=dict.fromkeys(MARKS, 5.0))
    two, three, four, _ = paper_tables(read_runs([ours]))
    for table, column in ((two, "EM-EQA all C"), (four, "EM-EQA all C"), (four, "world knowledge")):
        plain, forced = of(table, "ours")[column].value, of(table, "ours, forced to guess")[column].value
        assert (plain, forced) == ((50.0, 100.0) if column == "world knowledge" else (62.5, 87.5))
    cells = of(three, "ours")
    assert (cells["EM-EQA all C, forced"].value, cells["EM-EQA all C, not forced"].value) == (87.5, 62.5)
    assert "1 of its answers is \"I don't know\"" in notes(two, "ours, forced to guess")[0]
    assert [row.name for row in three.rows if row.own] == ["ours"]
    assert not any("comparable" in note for note in notes(two, "ours"))
    assert any("comparable" in note for note in notes(two, "ours, forced to guess"))


def test_captions_say_what_values_rest_on_in_every_format(tmp_path: Path) -> None:
    ours, other = run(tmp_path / "ours"), run(tmp_path / "other")
    path = tmp_path / "other" / MANIFEST
    write_json(path, replace(read_manifest(path.parent), asked="gpt_4o", whole=184))
    scores = json.loads((path.parent / "scores.json").read_text())
    (path.parent / "scores.json").write_text(json.dumps({**scores, "privileged": ["LabelReader"]}))
    two = paper_tables(read_runs([ours, other]), ["2"])[0]
    for words in ("ours: 4 questions, judge marks of m, answerer ours, privileged: nothing",
                  "other: 4 of 184 questions, judge marks of m, answerer ours, model gpt_4o, privileged: LabelReader"):
        assert words in paper_markdown(two).splitlines()[0]
    rows = {row["row"]: row for row in csv.DictReader(io.StringIO(comma_separated(two)))}
    assert [rows["other"][name] for name in ("questions", "judge", "answerer", "privileged")] == [
        "4 of 184 questions", "marks of m", "answerer ours, model gpt_4o", "LabelReader"]
    assert rows["GPT-4V"]["judge"].startswith("LLM-Match") and rows["GPT-4V"]["privileged"] == ""


def test_a_guess_counts_in_the_efficiency_as_it_does_in_the_mark(tmp_path: Path) -> None:
    ours = run(tmp_path / "ours", {"h1": 1.0, "h2": 5.0}, ACTIVE, {"h1": None, "h2": "a cup"}, {"h1": 3.0, "h2": 5.0})
    cells = of(paper_tables(read_runs([ours]), ["2"])[0], "ours, forced to guess")
    assert (cells["A-EQA C"].value, cells["A-EQA E (metres)"].value) == (75.0, 37.5)  # paths of twice the shortest
    assert not any("abstentions count with mark 1" in note
                   for note in notes(paper_tables(read_runs([ours]), ["2"])[0], "ours"))


@pytest.mark.parametrize(("failed", "c", "e"), [("leave-out", None, None), ("lowest", 0.0, 0.0), ("blind", 0.5, 0.0)])
def test_failed_questions_count_the_same_with_and_without_guesses(tmp_path: Path, failed: str, c: float | None,
                                                                  e: float | None) -> None:
    marked = ScoredRun(Path(run(tmp_path / "ours", {"h1": 5.0}, ACTIVE, blind={"h1": 3.0}))).scores.questions[0]
    score = replace(marked, status="failed")
    for suffix in ("", "_forced"):
        assert value_of(score, f"openeqa_c{suffix}", failed) == c
        assert value_of(score, f"openeqa_e_metres{suffix}", failed) == e


def test_footnotes_say_what_is_not_comparable(tmp_path: Path) -> None:
    ours, other = run(tmp_path / "ours"), run(tmp_path / "other", dict.fromkeys(MARKS, 3.0))
    table = paper_tables(read_runs([ours, other]), ["2"])[0]
    said = "\n".join(notes(table, "ours"))
    assert "4 questions of openeqa, task em, answerer ours, judge marks of m" in said
    assert "another judge (marks of m); other questions (4 here, 1636 there)" in said
    assert "other questions (which questions they are is not published)" in said
    assert not any("differ" in note for note in notes(table, "ours"))
    assert notes(table, "other")[1] == f"{other} and {ours} differ in the judge"
    assert notes(table, "GPT-4V")[0].startswith("Majumdar et al. 2024, OpenEQA, table 2: those in ScanNet of 500")
    assert "62.3 % of the questions of openeqa are ambiguous (EXPRESS-Bench, section 5.2)" in table.notes
    assert "25.0 % of 4 questions are marked as ambiguous" in table.notes


def test_footnotes_are_about_the_values_of_their_table(tmp_path: Path) -> None:
    """Tables 2, 3 and 4 print C of all of EM-EQA: each names its own, once."""
    two, three, four, _ = paper_tables(read_runs([run(tmp_path / "ours")]))
    for table, own in ((two, "OpenEQA, table 2"), (three, "supplement, table 3"), (four, "supplement, table 4")):
        said = "\n".join(notes(table, "ours"))
        assert own in said
        for other in {"OpenEQA, table 2", "supplement, table 3", "supplement, table 4"} - {own}:
            assert other not in said
    assert notes(three, "GPT-4 with ConceptGraphs")[0].count("n 1636") == 1


@pytest.mark.parametrize(("task", "differ"), [(EM, False), (ACTIVE, True)])
def test_a_limit_of_steps_ends_no_question_about_a_recording(tmp_path: Path, task: str, differ: bool) -> None:
    marks = {"h1": 3.0, "h2": 5.0}
    for name, steps in (("one", 0), ("two", 300)):
        run(tmp_path / name, marks, task)
        manifest = replace(read_manifest(tmp_path / name), config={"limits": {"steps": steps, "seconds": 9}})
        write_json(tmp_path / name / MANIFEST, manifest)
    table = paper_tables(read_runs([str(tmp_path / "one"), str(tmp_path / "two")]), ["2"])[0]
    assert any("differ in their limits" in note for note in table.notes) == differ


def express(out: Path) -> str:
    samples = [Sample(f"{k}", "Is it on?", "yes", category="state", reference_metres=4.0) for k in range(2)]
    marks = {"0": JudgeMark(5.0, 1.0), "1": JudgeMark(4.0, 0.5)}
    write_run(out, "express", samples, PublishedRun(dict.fromkeys(marks, "yes"), {"0": 8.0, "1": 4.0}, marks,
                                                 {"0": 1.0, "1": 3.0}), {}, "theirs")
    score_run(out, GivenMarks(marks, "m"))
    return str(out)


def test_express_has_its_own_tables(tmp_path: Path) -> None:
    two, three, four = paper_tables(read_runs([f"ours={express(tmp_path / 'x')}"]))
    cells = of(two, "ours")
    assert [cells[name].value for name in ("C", "C*", "E_path", "d_T (m)")] == [70.0, 90.0, 45.0, 2.0]
    assert [c.text for c in of(two, "human").values()] == ["83.99", "–", "–", "–", "–"]
    assert [r.name for r in three.rows] == ["Fine-EQA without FBE", "Fine-EQA without GOE", "Fine-EQA", "ours"]
    assert [c.text for c in of(three, "Fine-EQA without GOE").values()] == ["39.63", "60.74", "14.64", "6.54"]
    assert [c.text for c in of(four, "Fine-EQA").values()] == ["0.34", "0.59", "0.22"]
    assert of(four, "ours")["NPL"].value == 0.75 and of(four, "Fine-EQA")["NPL"].value == 0.34
    assert any("9.7 % of the questions of express" in note for note in two.notes)


def explora(out: Path, split: str, policy: str = "topo") -> str:
    """Make a scored run of three questions of ExploraQA, two about objects; its paths are 4 m for references of 2."""
    samples = [Sample(name, "Is it on?", "yes", category=category, start=Pose2(0.0, 0.0, 0.0), reference_metres=2.0,
                      viewpoints=((2.0, 0.0),), target=(2.0, 0.0), metadata={"split": split})
               for name, category in (("a", "state recognition"), ("b", "object recognition"),
                                      ("c", "functional reasoning"))]
    marks = {"a": 5.0, "b": 1.0, "c": 3.0}
    write_run(out, "exploraqa", samples, PublishedRun(dict.fromkeys(marks, "yes"), dict.fromkeys(marks, 4.0)), {},
              "ours")
    finish_manifest(out, task=ACTIVE, run={"policy": policy})  # type: ignore[arg-type]
    score_run(out, GivenMarks(marks, "m"))
    return str(out)


@pytest.mark.parametrize(("split", "scenes", "last"), [
    ("train", "seen", "46.7"), ("test-seen", "seen", "46.7"), ("validation", "unseen", "45.4"),
    ("test-unseen", "unseen", "45.4")])
def test_exploraqa_has_its_own_tables(tmp_path: Path, split: str, scenes: str, last: str) -> None:
    two, five, six, seven = paper_tables(read_runs([f"ours={explora(tmp_path, split)}"]))
    assert [table.number for table in (two, five, six, seven)] == ["2", "5", "6", "7"]
    assert all(f"{scenes} scenes" in table.title for table in (two, five, six, seven))
    assert {name: cell.value for name, cell in of(two, "ours").items()} == {
        "object C": 50.0, "object TL (m)": 4.0, "object E": 25.0, "spatial C": 50.0, "spatial TL (m)": 4.0,
        "spatial E": 25.0, "all C": 50.0, "all E": 25.0}
    assert [row.name for row in two.rows] == ["random", "Seq2Seq", "RecBERT", "ETPNav", "AQ-Nav", "ours"]
    assert of(two, "AQ-Nav")["all C"].text == last
    assert of(five, "ours").keys() == {"NE (m)", "OSR", "SR", "SPL"} and len(five.rows) == 5
    assert of(six, "ours")["state recognition"].value == 100.0 and of(seven, "ours")["state recognition"].value == 50.0
    assert of(six, "ours")["spatial reasoning"] == PaperCell() and len(six.headings) == len(seven.headings) == 7


def test_tables_of_trained_policies_are_refused_for_others(tmp_path: Path) -> None:
    topo = explora(tmp_path / "topo", "test-unseen")
    with pytest.raises(ConfigError, match=r"table 3, 8 of ExploraQA compares trained policies \(aqnav\), and the "
                                          "policies of these runs are topo"):
        paper_tables(read_runs([topo]), ["3", "8"])
    assert main(["bench", "table", topo, "--tables", "8"]) == 2
    learned = explora(tmp_path / "learned", "test-unseen", "aqnav")
    three, eight = paper_tables(read_runs([learned]), ["3", "8"])
    assert [row.name for row in three.rows] == ["AQ-Nav without TAKS", "learned"]
    assert [row.name for row in eight.rows][:2] == ["AQ-Nav, lambda 0.00", "AQ-Nav, lambda 0.25"]
    seen = explora(tmp_path / "seen", "test-seen")
    with pytest.raises(ConfigError, match="one split of ExploraQA, and these runs have test-seen, test-unseen"):
        paper_tables(read_runs([topo, seen]))


def test_one_question_of_another_data_set_has_no_error_and_no_published_rows(tmp_path: Path) -> None:
    """LA-EQA has no published values here; its runs get OpenEQA's tables without published rows."""
    write_run(tmp_path, "laeqa", [Sample("a", "Is it on?", "yes", category="state recognition")],
              PublishedRun({"a": "yes"}, {"a": 8.0}), {}, "ours")
    finish_manifest(tmp_path, task=ACTIVE)
    score_run(tmp_path, GivenMarks({"a": 4.0}, "m"))
    table = paper_tables(read_runs([f"ours={tmp_path}"]), ["2"])[0]
    assert [row.name for row in table.rows] == ["ours"]
    assert of(table, "ours")["A-EQA C"] == PaperCell("75.0", 75.0, None, 1)


def test_every_format_holds_the_same_values(tmp_path: Path) -> None:
    name = "100 % of_ours & more"
    tables = paper_tables(read_runs([f"{name}={run(tmp_path / 'ours')}"]), ["2"])
    files = write_tables(tables, tmp_path / "out")
    assert [f.name for f in files] == ["table-2.md", "table-2.csv"]
    lines = files[0].read_text().splitlines()
    assert {line.count("|") for line in lines if line.startswith("|")} == {8}
    assert any(line.startswith(f"| **{name}** [") and "62.5±" in line for line in lines)
    rows = list(csv.DictReader(io.StringIO(files[1].read_text())))
    assert rows[-1]["row"] == name and float(rows[-1]["EM-EQA all C"]) == 62.5 and rows[-1]["EM-EQA all C n"] == "4"
    assert float(rows[0]["EM-EQA ScanNet C"]) == 32.5 and rows[0]["EM-EQA ScanNet C standard error"] == "1.2"
    assert all(None not in row.values() for row in rows)


def test_wrong_requests_are_refused(tmp_path: Path) -> None:
    ours, theirs = run(tmp_path / "ours"), express(tmp_path / "theirs")
    with pytest.raises(ConfigError, match="a table has one data set, and these runs have express, openeqa"):
        paper_tables(read_runs([ours, theirs]))
    with pytest.raises(ConfigError, match="9"):
        paper_tables(read_runs([ours]), ["9"])
    with pytest.raises(StorageError, match="not scored yet"):
        read_runs([str(tmp_path)])


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = run(tmp_path / "ours")
    assert main(["bench", "table", ours, "--tables", "2,3", "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "Table 2. Correctness C and efficiency E. ours: 4 questions, judge marks of m" in out and "Table 3" in out
    assert "62.5±" in out and "4 files in" in out
    assert len(list((tmp_path / "out").iterdir())) == 4
