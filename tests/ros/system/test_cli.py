"""The command line as a person meets it: it does what it says, or says in one line what to do."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
from pathlib import Path

import pytest

from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.cli import main
from eqa_nodes.recordings.bags.history import BagHistory

SMALL = ["--image", "160x120", "--max-steps", "30"]


def test_a_demo_leaves_everything_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main(["demo", "--questions", "1", "--out", str(run), *SMALL]) == 0
    printed = capsys.readouterr().out
    assert "1 asked, 0 asked before, 0 failed" in printed and "judge" in printed and "blind" in printed
    for name in ("manifest.json", "predictions.jsonl", "predictions.json", "scores.json", "openeqa_scores.json",
                 "report.html"):
        assert (run / name).stat().st_size > 0, name
    (bag,) = (run / "bags").iterdir()
    assert list(bag.glob("*.mcap")) and (bag / "metadata.yaml").exists()
    (prediction,) = read_predictions(run).predictions.values()
    frames = sum(1 for _ in BagHistory(bag))
    assert frames == prediction.answer.receipt.steps + 1  # every observation, the first one included
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["dataset_sha256"] and manifest["config"]["nodes"]["explorer"]["policy"] == "best"
    assert prediction.answer.receipt.privileged == () and "perceiver" in (run / "report.html").read_text()


def test_a_run_resumes_and_asks_nothing_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "run", "--questions", "2", "--split", "train", "--through", "process", "--out", str(tmp_path),
             *SMALL]
    assert main(words) == 0
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines()
    killed_while_it_wrote = lines[0] + "\n" + lines[1][: len(lines[1]) // 2]
    (tmp_path / "predictions.jsonl").write_text(killed_while_it_wrote)
    capsys.readouterr()
    assert main(words) == 0
    assert "1 asked, 1 asked before" in capsys.readouterr().out
    assert len((tmp_path / "predictions.jsonl").read_text().splitlines()) == 2
    assert main(["bench", "score", str(tmp_path)]) == 0 and main(["report", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(("more", "privileged"), [([], False), (["--labels"], True)])
def test_one_question_in_a_house(more: list[str], privileged: bool, tmp_path: Path,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ask", "What color is the sofa?", "--scene", "house:1001", "--through", "process", "--out", str(tmp_path),
             *SMALL, *more]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "steps" in printed and ("privileged: LabelAnswerer" in printed) is privileged


@pytest.mark.parametrize(("words", "complaint"), [
    (["ask", "Where is it?", "--scene", "house:77777"], "house:77777.*0.*1999"),
    (["ask", "Where is it?", "--scene", "castle:1"], "castle:1.*house"),
    (["ask", "Where is it?", "--policy", "bets"], "policy 'bets'.*frontier.*random"),
    (["ask", "Where is it?", "--answerer", "oracle"], "answerer 'oracle'.*label"),
    (["ask", "Where is it?", "--answerer", "vlm"], "EQA_VLM_BASE_URL|EQA_VLM_MODEL"),
    (["ask", "Where is it?", "--image", "big"], "WIDTHxHEIGHT"),
    (["ask", "  "], "no words"),
    (["bench", "run", "--dataset", "imagenet"], "imagenet.*house"),
    (["bench", "score", "nowhere"], "nowhere"),
    (["report", "nowhere"], "nowhere"),
    (["graph", "--check", "nowhere.yaml"], "nowhere.yaml")])
def test_wrong_use_is_one_line_with_the_remedy(words: list[str], complaint: str, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    import re

    for name in ("EQA_VLM_BASE_URL", "EQA_VLM_MODEL", "EQA_VLM_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    through = ["--through", "process"] if words[0] == "ask" else []
    assert main([*words, *through]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("eqa: ") and re.search(complaint, printed), printed


def test_doctor_and_graph(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    names = {check["name"] for check in json.loads(capsys.readouterr().out)}
    assert names >= {"python", "ros", "interfaces", "house", "disk"}
    assert main(["graph"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("bridge", "mapper", "memory", "explorer", "navigator", "answerer", "agent"))


def test_help_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert all(verb in printed for verb in ("demo", "ask", "bench", "report", "doctor", "graph", "exit codes"))
