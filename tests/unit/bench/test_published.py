"""Published results of other projects, scored again: every form is read, and figures are those of their own scorers."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from eqa_nodes.bench.judges.base import GivenMarks
from eqa_nodes.bench.metrics.scores import Row, read_scores, score_run
from eqa_nodes.bench.published import PublishedRun, read_numbers, read_published, write_run
from eqa_nodes.bench.report.tables import footnotes
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.core.types.samples import Sample
from tests.fixtures.data import shared_data

SAMPLES = [Sample(name, f"What is {name}?", "a lamp", category=kind, reference_steps=30, reference_metres=8.0)
           for name, kind in (("a", "object recognition"), ("b", "object recognition"), ("c", "attribute recognition"),
                              ("d", "attribute recognition"))]
MARKS = {"a": 5, "b": 0, "c": 3}
BLIND = {"a": 1, "b": 1, "c": 1, "d": 4}
LENGTHS = {"a": 4.0, "b": 6.0, "c": 3.0, "d": 9.0, "of another subset": 1.0}


def results(folder: Path, parts: bool = False) -> Path:
    """Write a result folder as 3D-Mem writes it: three answers and their path lengths."""
    folder.mkdir()
    answers = [{"question_id": "a", "answer": "a lamp"}, {"question_id": "b", "answer": None},
               {"question_id": "c", "answer": "a chair. I think"}]
    metres = {"a": 8.0, "b": 1.0, "c": 3.0}
    names = ("_0.0_0.5", "_0.5_1.0") if parts else ("",)
    for index, name in enumerate(names):
        chosen = answers[index::len(names)]
        (folder / f"gpt_answer{name}.json").write_text(json.dumps(chosen))
        (folder / f"path_length_list{name}.pkl").write_bytes(
            pickle.dumps({each["question_id"]: metres[str(each["question_id"])] for each in chosen}))
    return folder


def scored(out: Path, failed: str = "leave-out", marks: dict[str, float] | None = None) -> Row:
    return score_run(out, GivenMarks(marks or MARKS, "marks.json"), failed=failed,
                     blind=GivenMarks(BLIND, "blind.json")).rows[0]


@pytest.mark.parametrize("parts", [False, True])
def test_a_result_folder_is_read_whole_or_in_parts(tmp_path: Path, parts: bool) -> None:
    found = read_published(results(tmp_path / "results", parts))
    assert found.answers == {"a": "a lamp", "b": None, "c": "a chair. I think"}
    assert found.metres == {"a": 8.0, "b": 1.0, "c": 3.0}


@pytest.mark.parametrize(("failed", "n", "c", "e"), [
    ("leave-out", 3, (1 + 0 + 0.5) / 3, (4 / 8 + 0 + 0.5) / 3),
    ("lowest", 4, (1 + 0 + 0.5 + 0) / 4, (4 / 8 + 0 + 0.5 + 0) / 4),
    ("blind", 4, (1 + 0 + 0.5 + 0.75) / 4, (4 / 8 + 0 + 0.5 + 0) / 4)])  # the blind mark 4, and an infinite path
def test_questions_without_an_answer_count_as_chosen(tmp_path: Path, failed: str, n: int, c: float, e: float) -> None:
    published = read_published(results(tmp_path / "results"))
    lost = write_run(tmp_path / "run", "mine", SAMPLES, published, LENGTHS, "theirs")
    assert lost == ["d"]
    row = scored(tmp_path / "run", failed)
    assert (row.metrics["openeqa_c"].n, row.missing) == (n, 4 - 3 if failed == "leave-out" else 0)
    assert row.metrics["openeqa_c"].mean == pytest.approx(c)
    assert row.metrics["openeqa_e_metres"].mean == pytest.approx(e)
    assert row.metrics["metres"].mean == pytest.approx(4.0)  # of what was answered
    assert row.metrics["openeqa_e_steps"].n == 0, "steps are not published"
    assert row.metrics["blind_c"].n == 3


@pytest.mark.parametrize(("failed", "c"), [("lowest", (1 + 0) / 2), ("blind", (1 + 0.75) / 2)])
def test_an_answer_that_the_marks_do_not_name_counts_as_absent(tmp_path: Path, failed: str, c: float) -> None:
    """Also where a run that is there already is scored by a file of marks."""
    write_run(tmp_path, "mine", [SAMPLES[0], SAMPLES[3]], PublishedRun({"a": "a lamp", "d": "a bed"}), {}, "theirs")
    row = scored(tmp_path, failed, marks={"a": 5})
    assert (row.metrics["openeqa_c"].mean, row.metrics["openeqa_c"].n, row.failed) == (pytest.approx(c), 2, 1)


def test_a_path_and_a_reference_path_of_no_length_are_said(tmp_path: Path) -> None:
    """Published scorers divide 0 by 0 there."""
    write_run(tmp_path, "mine", SAMPLES[:2], PublishedRun({"a": "a lamp", "b": "a bed"}, {"a": 0.0, "b": 0.0}),
              {"a": 0.0, "b": 4.0}, "theirs")
    scores = score_run(tmp_path, GivenMarks({"a": 5, "b": 5}, "m"))
    assert scores.rows[0].metrics["openeqa_e_metres"].mean == 1.0
    assert any(note.startswith("1 question with a path of 0 m counts in E") for note in footnotes(scores))


def test_a_question_without_a_blind_mark_is_said_to_be_in_no_mean(tmp_path: Path) -> None:
    write_run(tmp_path, "mine", SAMPLES, read_published(results(tmp_path / "results")), LENGTHS, "theirs")
    scores = score_run(tmp_path, GivenMarks(MARKS, "m"), failed="blind", blind=GivenMarks({"a": 1}, "b"))
    assert scores.rows[0].metrics["openeqa_c"].n == 2
    assert any(note.startswith("2 of them have no blind mark and are in no mean") for note in footnotes(scores))
    all_known = score_run(tmp_path, GivenMarks(MARKS, "m"), failed="blind", blind=GivenMarks(BLIND, "b"))
    assert not any("no blind mark" in note for note in footnotes(all_known))


def test_answers_without_path_lengths_have_no_efficiency(tmp_path: Path) -> None:
    write_run(tmp_path, "mine", SAMPLES, PublishedRun({"a": "a lamp", "b": None}), LENGTHS, "theirs")
    row = scored(tmp_path)
    assert row.metrics["openeqa_c"].n == 2 and row.metrics["openeqa_e_metres"].n == 0
    assert read_json(tmp_path / "predictions.json") == [{"question_id": "a", "answer": "a lamp"},
                                                        {"question_id": "b", "answer": None}]


def test_a_question_without_a_given_mark_is_unscored(tmp_path: Path) -> None:
    write_run(tmp_path, "mine", SAMPLES, PublishedRun({"a": "a lamp", "b": "a bed"}), {}, "theirs")
    row = scored(tmp_path, marks={"a": 7})
    assert (row.unscored, row.metrics["openeqa_c"].mean) == (1, 1.0)  # 7 is clipped to 5
    assert "1 mark off the scale of 1 to 5 was clipped, as OpenEQA's scorer does" in footnotes(read_scores(tmp_path))


@pytest.mark.parametrize(("name", "text", "complaint"), [
    ("p.json", "{}", "list of {question_id, answer}"), ("p.json", '[{"id": 1}]', "entry 0"),
    ("p.json", '[{"question_id": "a", "answer": 3}]', "text or null"), ("p.json", "[", "cannot be read")])
def test_a_file_of_another_form_is_named(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=complaint):
        read_published(tmp_path / name)
    with pytest.raises(ConfigError, match="no gpt_answer.json"):
        read_published(tmp_path)


def test_numbers_are_read_as_data(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return print, ("run",)

    (tmp_path / "evil.pkl").write_bytes(pickle.dumps({"a": Evil()}))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_numbers(tmp_path / "evil.pkl")
    (tmp_path / "marks.json").write_text('{"a": "five"}')
    with pytest.raises(ConfigError, match="finite number"):
        read_numbers(tmp_path / "marks.json")


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'strange'"):
        write_run(tmp_path / "x", "mine", SAMPLES, PublishedRun({"strange": "a"}), {}, "theirs")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("failed", ["leave-out", "blind"])
def test_an_answer_whose_path_length_alone_is_missing_has_an_infinite_path(tmp_path: Path, failed: str) -> None:
    """Pred-EQA writes answers of all episodes, and path lengths of those that ended with a choice."""
    published = PublishedRun({"a": "a lamp", "b": "a bed"}, {"a": 8.0})
    write_run(tmp_path, "mine", SAMPLES[:2], published, LENGTHS, "theirs")
    scores = score_run(tmp_path, GivenMarks({"a": 3, "b": 5}, "m"), failed=failed, blind=GivenMarks(BLIND, "b"))
    row = scores.rows[0]
    means = {name: row.metrics[name].mean for name in ("openeqa_c", "openeqa_e_metres", "metres")}
    assert means == pytest.approx({"openeqa_c": (0.5 + 1) / 2, "openeqa_e_metres": (0.5 * 4 / 8 + 0) / 2, "metres": 8})
    assert any(note.startswith("1 answer has no path length") for note in footnotes(scores))


def test_the_command_scores_published_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shared_data("aeqa_questions-41.json").parent
    first = json.loads((data / "aeqa_questions-41.json").read_text())[0]["question_id"]
    (tmp_path / "marks.json").write_text(json.dumps({first: 5}))
    given = ["--marks", str(tmp_path / "marks.json")]
    asked = ["--dataset", "openeqa", "--split", "aeqa-41", "--data", str(data)]
    assert main(["bench", "score", str(tmp_path / "run"), *given, *asked, "--failed", "lowest"]) == 0
    said = capsys.readouterr().out
    assert "1 answers" in said and "40 questions have none" in " ".join(said.split())
    row = read_json(tmp_path / "run" / "scores.json")["rows"][0]
    assert row["metrics"]["openeqa_c"]["mean"] == pytest.approx(1 / 41)
    assert main(["bench", "score", str(tmp_path / "new"), "--predictions", str(tmp_path / "marks.json")]) == 2
    assert "need --dataset" in capsys.readouterr().err
