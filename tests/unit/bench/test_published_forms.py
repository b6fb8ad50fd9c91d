"""Results of EXPRESS-Bench and EmbodiedEval, written as their code writes them, scored again by one command."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.bench.judges.base import GivenMarks
from eqa_nodes.bench.metrics.scores import Row, score_run
from eqa_nodes.bench.published import read_lengths, read_published, write_run
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.core.types.samples import Sample
from tests.fixtures.data import shared_data

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
def test_a_file_of_another_form_is_refused(tmp_path: Path, results: Any, complaint: str) -> None:
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


def scored(out: Path, found: Any, lengths: dict[str, float]) -> Row:
    write_run(out, "mine", TASKS, found, lengths, "theirs")
    return score_run(out, GivenMarks({}, "none")).rows[0]


def test_trajectories_are_scored_as_by_their_own_scorer(tmp_path: Path) -> None:
    results, people = tmp_path / "results", tmp_path / "people"
    trajectory(results, 0, [[0], [1]], done=-1)  # stood still too long: of a single predicate done_after_action counts
    trajectory(results, 1, [[0, 1, 0]] * 12 + [[1, 1, -1]], done=-1)
    trajectory(results, 2, [[0, 0, 0], [-1]], done=-1, whole=True)  # the list ends with the first -1
    trajectory(results, 3, [[0, 0, 0]] * 4 + [[1, 1, 1]], done=1)
    for number, length in enumerate((2, 2, 2, 4)):
        trajectory(people, number, [[1]] * length, done=1)
    found = read_published(results)
    assert found.steps == {"0000": 2, "0001": 13, "0002": 2, "0003": 5}
    row = scored(tmp_path / "run", found, read_lengths(people))
    means = {name: row.metrics[name].mean for name in ("succ", "gcs", "task_spl")}
    assert means == pytest.approx({"succ": 1 / 4, "gcs": (0 + 2 / 3 + 0 + 1) / 4, "task_spl": (4 / 5) / 4})
    assert row.missing == 1


def test_whether_a_task_is_done_is_what_the_results_say(tmp_path: Path) -> None:
    """An episode that an error ends keeps an older list of predicates; one that stands still too long has failed."""
    results, people = tmp_path / "results", tmp_path / "people"
    for number, done in ((1, 0), (2, -1), (3, 1)):
        trajectory(results, number, [[0, 0, 0], [1, 1, 1]], done=done)
        trajectory(people, number, [[1, 1, 1]] * 2, done=1)
    row = scored(tmp_path / "run", read_published(results), read_lengths(people))
    means = {name: row.metrics[name].mean for name in ("succ", "gcs", "task_spl")}
    assert means == pytest.approx({"succ": 1 / 3, "gcs": 1, "task_spl": 1 / 3})


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
