"""Answers of several runs in one run directory: as many of each, nobody told whose, marked and compared as any run."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from eqa_nodes.bench.mixing import mix, read_sources
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import SequentialEngine, run_with
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, NavigationError
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import EM, EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace


class _Agent:
    """Answers with its own name; abstains from q1 and fails at q2."""

    def __init__(self, name: str) -> None:
        self._name = name

    def run(self, sample: Sample) -> EpisodeResult:
        if sample.id == "q2":
            raise NavigationError("blocked")
        answer = Answer(abstained=True) if sample.id == "q1" else Answer(f"{self._name} says {sample.id}", 0.5)
        return EpisodeResult(sample.id, answer, None, EpisodeTrace(sample.question, answer=answer))

    def blind(self, sample: Sample) -> Answer:
        return Answer("a guess")

    def close(self) -> None:
        pass


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    samples = [Sample(f"q{i}", f"What is thing {i}?", f"answer {i}", scene="house:1") for i in range(12)]
    folders = {name: tmp_path / name for name in ("blind", "frames", "human")}
    for name, folder in folders.items():
        run_with(SequentialEngine(_Agent(name)), samples, folder, lambda *_: None, dataset="house", seed=0, model=name,
                 task=EM)
    return folders


def of_run(out: Path) -> Counter[str]:
    return Counter(source.run for source in read_sources(out).values())


def test_as_many_of_each_run_and_no_question_twice_while_others_are_left(runs: dict[str, Path], tmp_path: Path) -> None:
    counts = mix(runs, tmp_path / "mixed", 9, seed=1)
    assert counts == of_run(tmp_path / "mixed") == {"blind": 3, "frames": 3, "human": 3}
    assert read_manifest(tmp_path / "mixed").task == EM  # as that of the runs
    sources = read_sources(tmp_path / "mixed")
    assert len({s.question for s in sources.values()}) == 9
    samples = {s.id: s for s in read_samples(tmp_path / "mixed" / "samples.jsonl")}
    predictions = read_predictions(tmp_path / "mixed").predictions
    assert samples.keys() == predictions.keys() == sources.keys()
    for name, source in sources.items():
        assert predictions[name].answer.text == f"{source.run} says {source.question}"
        assert samples[name].answer == f"answer {source.question[1:]}"
        assert predictions[name].blind is None and source.run not in name and source.question not in name
        assert (tmp_path / "mixed" / predictions[name].trace).is_file()


def test_all_answers_that_can_be_marked_are_drawn_and_the_seed_decides(runs: dict[str, Path], tmp_path: Path) -> None:
    assert sum(mix(runs, tmp_path / "all").values()) == 30  # 12 questions, one abstained from, one failed, three runs
    drawn = [frozenset((s.run, s.question) for s in read_sources(tmp_path / f"{seed}").values())
             for seed in range(4) if mix(runs, tmp_path / f"{seed}", 6, seed)]
    mix(runs, tmp_path / "again", 6, 3)
    assert {(s.run, s.question) for s in read_sources(tmp_path / "again").values()} == drawn[3] and len(set(drawn)) > 2


def test_a_run_with_few_answers_gives_what_it_has(runs: dict[str, Path], tmp_path: Path) -> None:
    few = [Sample("z", "What is this?", "x", scene="house:1")]
    run_with(SequentialEngine(_Agent("few")), few, tmp_path / "few", lambda *_: None, dataset="house", seed=0,
             model="f")
    counts = mix({**runs, "few": tmp_path / "few"}, tmp_path / "mixed", 11)
    assert counts["few"] == 1 and sorted(counts.values()) == [1, 3, 3, 4]


@pytest.mark.parametrize(("count", "complaint"), [(31, "the runs have 30"), (-1, "-1 answers")])
def test_more_than_there_are_is_refused(count: int, complaint: str, runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=complaint):
        mix(runs, tmp_path / "mixed", count)
    with pytest.raises(ConfigError, match="two runs or more"):
        mix({"blind": runs["blind"]}, tmp_path / "mixed")
    with pytest.raises(ConfigError, match="already contains a run"):
        mix(runs, runs["blind"])


def test_a_study_of_judges_and_people_over_a_mixture(runs: dict[str, Path], tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mixed"
    assert main(["bench", "mix", *map(str, runs.values()), "--out", str(out), "--questions", "18"]) == 0
    assert "6 answers of human" in capsys.readouterr().out
    assert main(["bench", "mark-page", str(out), "--blind"]) == 0
    page = (out / "mark.html").read_text()
    assert "several runs" not in page and not any(str(folder) in page for folder in runs.values())
    sources = read_sources(out)
    for person, shift in (("ann", 0), ("bob", 1)):
        with (tmp_path / f"{person}.csv").open("w", newline="") as file:
            rows = [(i, 5 if s.run == "human" else 1 + shift + n % 3) for n, (i, s) in enumerate(sources.items())]
            csv.writer(file).writerows([("id", "mark"), *rows])
    capsys.readouterr()
    assert main(["bench", "agree", str(out), "--judges", "offline", "--marks", str(tmp_path / "ann.csv"),
                 str(tmp_path / "bob.csv"), "--json", str(tmp_path / "study.json")]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in runs)
    study = json.loads((tmp_path / "study.json").read_text())
    pair = next(p for p in study["pairs"] if p["a"].endswith("ann.csv") and p["b"].endswith("bob.csv"))
    assert pair["n"] == 18 and sum(map(sum, pair["confusion"])) == 18 and pair["confusion"][4][4] == 6
    assert [p["n"] for p in study["runs"]["human"]] == [6, 6, 6]
    people = next(p for p in study["runs"]["blind"] if p["a"].endswith("ann.csv"))
    assert people["equal"] == 0.0 and people["mean_b"] == pytest.approx(people["mean_a"] + 1)


def test_runs_of_one_name_keep_apart(runs: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "more" / "blind"
    other.parent.mkdir()
    runs["frames"].rename(other)
    assert main(["bench", "mix", str(runs["blind"]), str(other), "--out", str(tmp_path / "m"), "--questions", "4"]) == 0
    assert of_run(tmp_path / "m") == {str(runs["blind"]): 2, str(other): 2}
    assert main(["bench", "mix", str(other), str(other), "--out", str(tmp_path / "n")]) == 2
