"""Published results of other projects, scored again: every form is read, and figures are those of their own scorers."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.bench.judges.base import GivenMarks
from eqa_nodes.bench.metrics.scores import Row, read_scores, score_run
from eqa_nodes.bench.published import PublishedRun, read_lengths, read_numbers, read_published, write_run
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


def test_a_question_without_a_given_mark_is_unscored(tmp_path: Path) -> None:
    write_run(tmp_path, "mine", SAMPLES, PublishedRun({"a": "a lamp", "b": "a bed"}), {}, "theirs")
    row = scored(tmp_path, marks={"a": 7})
    assert row.metrics["openeqa_e_metres"].n == 0, "no path lengths, no efficiency"
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


QUESTIONS = [Sample(f"e{n}", f"What is {n}?", "a lamp", reference_steps=30, reference_metres=9.0) for n in range(4)]
TASKS = [Sample(f"{n:04d}", "Go.", "", metadata={"predicates": ["agent_at"]}, reference_steps=4) for n in range(5)]


def result(index: int, eac: str, path_len: float, goal_dis: float, **more: Any) -> dict[str, Any]:
    """Return one result of EXPRESS-Bench; l is 6 m."""
    return {"question_ind": index, "regs_list": ["bedroom"], "scene": "s", "type": "state",
            "path": {"step_0": {"pts": np.array([1.0, 2.0, 3.0], np.float32)}}, "question": f"What is {index}?",
            "answer": "a lamp", "geodesic_distance": 6.0, "cnt_step": 2, "gen_answer": "A lamp.", "EAC": eac,
            "end_pts": np.zeros(3, np.float32), "goal_dis": goal_dis, "path_len": path_len, **more}


RESULTS = [result(0, "1, 5", 12.0, 1.5), result(1, "0.5, 4", 3.0, math.inf),
           result(2, "Your mark: 0.75, 0", np.float64(6.0), 0.5), result(3, "1, 5", math.inf, 3.0)]


def express(path: Path, results: Any = None) -> Path:
    path.write_bytes(pickle.dumps(RESULTS if results is None else results, protocol=4))
    return path


def test_express_results_are_scored_as_by_their_own_scorer(tmp_path: Path) -> None:
    """Question 3, whose path is infinite, counts in d_T alone; question 1, whose target is unreachable, not there."""
    found = read_published(express(tmp_path / "results.pkl"), QUESTIONS)
    assert read_published(tmp_path, QUESTIONS) == found, "a folder with results.pkl is the same"
    write_run(tmp_path / "run", "mine", QUESTIONS, found, {}, "theirs")
    row = score_run(tmp_path / "run", GivenMarks(found.marks, "results.pkl")).rows[0]
    means = {name: row.metrics[name].mean for name in ("express_c", "express_c_star", "express_e_path", "express_d_t")}
    assert means == pytest.approx({"express_c": (1 + 0.4 + 0) / 3, "express_c_star": (1 + 0.8 + 0) / 3,
                                   "express_e_path": (0.5 + 0.4 + 0) / 3, "express_d_t": (1.5 + 0.5 + 3) / 3})
    assert (row.unscored, row.metrics["express_c"].n) == (1, 3)


@pytest.mark.parametrize(("results", "complaint"), [
    ({}, "list of results"), ([{"question_ind": 0}], "no 'question'"), ([result(9, "1, 5", 1, 1)], "question_ind 9"),
    ([result(0, "1, 5", 1, 1, question="Why?")], "'Why.' there and 'What is 0.' in the data set"),
    ([result(0, "1, 5", -1, 1)], "negative"), ([result(0, "1, 5", 1, 1)] * 2, "twice"),
    ([result(0, "1, 5", 1, 1, gen_answer=3)], "must be texts"),
    ([result(0, "1, 5", 1, 1, scene=Path("x"))], "refused")])
def test_express_results_of_another_form_are_refused(tmp_path: Path, results: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read_published(express(tmp_path / "results.pkl", results), QUESTIONS)


def trajectory(folder: Path, number: int, states: list[list[int]], done: int, whole: bool = False) -> None:
    """Write a trajectory as EmbodiedEval does; states: predicates_done after each step."""
    home = folder / f"traj{number:04d}"
    home.mkdir(parents=True)
    steps = [{"step": n, "action": "move forward", "predicates_done": state, "feedback": "success", "action_choice": 0,
              "done_after_action": done if n == len(states) - 1 else 0} for n, state in enumerate(states)]
    predicates = ["agent_at 3"] if number == 0 else ["choose x", "agent_at 3", "grab 4"]
    (home / "task.json").write_text(json.dumps({"scene": {"task_instance": {"predicates": predicates}}}))
    if whole:
        (home / "traj.json").write_text(json.dumps(steps))
        return
    for step in steps:
        (home / f"{step['step']:04d}a.json").write_text(json.dumps(step))


def task_row(out: Path, found: Any, lengths: dict[str, float]) -> Row:
    write_run(out, "mine", TASKS, found, lengths, "theirs")
    return score_run(out, GivenMarks({}, "none")).rows[0]


def test_trajectories_are_scored_as_by_their_own_scorer(tmp_path: Path) -> None:
    results, people = tmp_path / "results", tmp_path / "people"
    trajectory(results, 0, [[0], [1]], done=-1)  # stood still too long: of a single predicate done_after_action counts
    trajectory(results, 1, [[0, 1, 0]] * 12 + [[1, 1, -1]], done=-1)
    trajectory(results, 2, [[0, 0, 0], [-1]], done=-1, whole=True)  # the list ends with the first -1
    trajectory(results, 3, [[0, 0, 0]] * 4 + [[1, 1, 1]], done=1)
    trajectory(results, 4, [[1, 1, 1]], done=0)  # an episode that an error ends keeps an older list
    for number, length in enumerate((2, 2, 2, 4, 1)):
        trajectory(people, number, [[1]] * length, done=1)
    found = read_published(results)
    assert found.steps == {"0000": 2, "0001": 13, "0002": 2, "0003": 5, "0004": 1}
    row = task_row(tmp_path / "run", found, read_lengths(people))
    means = {name: row.metrics[name].mean for name in ("succ", "gcs", "task_spl")}
    assert means == pytest.approx({"succ": 1 / 5, "gcs": (0 + 2 / 3 + 0 + 1 + 1) / 5, "task_spl": (4 / 5) / 5})


def test_a_broken_trajectory_is_named(tmp_path: Path) -> None:
    trajectory(tmp_path, 1, [[0, 5, 0]], done=0)
    with pytest.raises(ConfigError, match="traj0001.*predicates_done"):
        read_published(tmp_path)
    (tmp_path / "traj0001" / "0000a.json").unlink()
    with pytest.raises(ConfigError, match="traj0001 has no steps"):
        read_published(tmp_path)


def test_the_command_takes_the_marks_of_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shared_data("express-bench-slim.json").parent
    asked = json.loads((data / "express-bench-slim.json").read_text())
    given = [result(n, "1, 5" if n else "0, 3", 2.0, 1.0, question=asked[n]["question"]) for n in range(2)]
    results = express(tmp_path / "results.pkl", given)
    said = ["bench", "score", str(tmp_path / "run"), "--predictions", str(results), "--dataset", "express",
            "--data", str(data)]
    assert main(said) == 0
    assert "judge marks of results.pkl" in " ".join(capsys.readouterr().out.split())
    means = {name: read_json(tmp_path / "run" / "scores.json")["rows"][0]["metrics"][name]["mean"]
             for name in ("express_c", "express_c_star", "express_d_t")}
    assert means == pytest.approx({"express_c": 0.5, "express_c_star": 0.8, "express_d_t": 1.0})


def test_abstentions_count_as_3d_mem_counts_them(tmp_path: Path) -> None:
    """3D-Mem's scorer takes no null answers, so that they have no mark: the blind mark and an infinite path."""
    samples = [Sample(name, "?", "a", reference_metres=4.0) for name in "ab"]
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "gpt_answer.json").write_text(json.dumps(
        [{"question_id": "a", "answer": "x"}, {"question_id": "b", "answer": None}]))
    (tmp_path / "p" / "path_length_list.pkl").write_bytes(pickle.dumps({"a": 4.0, "b": 1.0}))
    write_run(tmp_path / "run", "mine", samples, read_published(tmp_path / "p"), {}, "theirs")
    row = score_run(tmp_path / "run", GivenMarks({"a": 3, "b": 1}, "m"), failed="blind",
                    blind=GivenMarks({"a": 1, "b": 5}, "b")).rows[0]
    assert row.metrics["openeqa_c"].mean == pytest.approx((0.5 + 1) / 2)
    assert row.metrics["openeqa_e_metres"].mean == pytest.approx((0.5 + 0) / 2)
