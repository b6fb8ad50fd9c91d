"""EM-EQA end to end without a robot: one question, a benchmark on OpenEQA's files, what is missing is said first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import KeptRun, run_benchmark
from eqa_nodes.cli import main
from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.core.errors import BadQuestion, ConfigError, ErrorCode, StorageError
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.samples import EM, EpisodeResult, Sample
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.episode_history import EpisodeHistory
from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.history_views import ViewSelection
from eqa_nodes.runners.history import HistoryRunner, HistorySource, file_source, tour_source
from eqa_nodes.tours.tours import RECIPES, TourHistory, plan_tour
from tests.fixtures.bags import needs_messages
from tests.fixtures.histories import seen_on, walk
from tests.fixtures.scripted_runner import ScriptedRunner

pytestmark = needs_messages
SECOND = 10**9


@pytest.fixture(scope="module")
def tour() -> TourHistory:
    planned = plan_tour("toy:flat", RECIPES["express"], 2)
    return TourHistory(replace(planned, robot=replace(planned.robot, camera=CameraModel(160, 120, height_m=1.5))))


@pytest.fixture(scope="module")
def bag(tour: TourHistory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("em") / "tour"
    write_bag(tour, folder, labels=tour.labels)
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQA_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("frames", ["uniform", "recalled"])
def test_an_answer_says_where_in_the_bag_its_evidence_is(frames: str, tour: TourHistory, bag: Path,
                                                         tmp_path: Path) -> None:
    runner = HistoryRunner(lambda sample: file_source(bag), AnswererSettings(), ViewSelection(frames, 12, labels=True),
                           tmp_path)
    result = runner.run(Sample("q", f"Is there a {seen_on(tour)}?", "yes"))
    runner.close()
    assert result.answer.text == "yes" and result.answer.evidence
    original = {r.index: r for r in open_history(bag).recorded()}
    for e in result.answer.evidence:
        r = original[e.frame]
        assert (e.stamp_ns, e.offset_ns, e.pose) == (r.frame.stamp_ns, r.offset_ns, r.frame.pose)
    receipt = result.answer.receipt
    assert (receipt.steps, receipt.metres, receipt.calls, receipt.privileged) == (0, 0.0, 0, ("LabelAnswerer",))
    assert result.final_pose is None and result.trace is not None
    assert len(result.trace.poses) == len(tour) and 0 < len(result.trace.keyframes) <= 12


def test_a_tour_needs_no_file(tour: TourHistory, tmp_path: Path) -> None:
    runner = HistoryRunner(lambda sample: tour_source(tour.tour), AnswererSettings(),
                           ViewSelection("uniform", 12, labels=True), tmp_path)
    answer = runner.run(Sample("q", f"Is there a {seen_on(tour)}?", "yes")).answer
    assert answer.text == "yes" and {e.offset_ns for e in answer.evidence} == {-1}
    assert runner.blind(Sample("q", "Is there a piano?", "no")).message == "blind guess: no views"
    with pytest.raises(BadQuestion):
        runner.run(Sample("q", " ", "yes"))


def test_nothing_recalled_is_no_answer_unless_a_guess_is_wanted(bag: Path, tmp_path: Path) -> None:
    for guess in (False, True):
        runner = HistoryRunner(lambda sample: file_source(bag), AnswererSettings(),
                               ViewSelection("recalled", labels=True), tmp_path, guess)
        answer = runner.run(Sample("q", "What colour is the helicopter?", "red")).answer
        assert answer.abstained is not guess and bool(answer.text) is guess
        runner.close()


def test_a_model_is_shown_k_images(bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eqa_nodes.models.scripted import ScriptedBackend
    from eqa_nodes.runners import answerers

    reply = {"answer": "a table", "confidence": 0.8, "images": [20], "points": [[0.5, 0.5]], "why": "it stands there",
             "abstain": False}
    backend = ScriptedBackend([json.dumps(reply)])
    monkeypatch.setattr(answerers, "open_model", lambda config: backend)
    runner = HistoryRunner(lambda sample: file_source(bag), AnswererSettings(answerer="vlm"),
                           ViewSelection("uniform", 20), tmp_path)
    result = runner.run(Sample("q", "What is there?", "a table"))
    answer = result.answer
    message = backend.requests[0][1]
    assert sum(isinstance(part, bytes) for part in message.parts) == 20
    assert (answer.text, answer.receipt.calls, answer.receipt.privileged) == ("a table", 1, ())
    assert [e.frame for e in answer.evidence] == [len(open_history(bag)) - 1]  # the last of those evenly spaced
    assert result.trace is not None
    call = result.trace.calls[0]
    assert (call.kind, call.answer, call.reasons, len(call.pictures)) == ("answer", "a table", "it stands there", 20)
    assert call.pictures[19].points and result.trace.poses[-1] == (call.stamp_ns, call.pose)
    with KeptRun(tmp_path / "run", "a model") as kept:
        kept.keep("What is there?", "", result)
    page = write_report(tmp_path / "run").read_text()
    assert "What the robot did" not in page and "How it was answered" in page and "What the model said" in page
    assert "<b>1</b> model call<" in page and "</b> steps" not in page and "the model saw its evidence" in page


def _seen_last(tour: TourHistory) -> str:
    """A kind of thing that the tour loses sight of: the memory of that is older than the history's end."""
    last = {tour.labels[i].kind: r.frame.stamp_ns for r in tour.recorded() if r.frame.labels is not None
            for i in np.flatnonzero(np.bincount(r.frame.labels.ravel()) > 200).tolist() if i in tour.labels}
    return min(sorted(set(last) - {"stairs", "wall", "door", "window"}), key=lambda kind: last[kind])


@pytest.fixture(scope="module")
def house() -> TourHistory:
    planned = plan_tour("house:3", RECIPES["express"], 1)
    return TourHistory(replace(planned, robot=replace(planned.robot, camera=CameraModel(160, 120, height_m=1.5))))


def test_memory_of_a_history_tells_when_something_was_seen_last(house: TourHistory, tmp_path: Path) -> None:
    folder = tmp_path / "tour"
    write_bag(house, folder, labels=house.labels)
    runner = HistoryRunner(lambda sample: file_source(folder), AnswererSettings(),
                           ViewSelection("objects", 12, labels=True), tmp_path / "cache")
    kind = _seen_last(house)
    result = runner.run(Sample("q", f"When did you last see the {kind}?", ""))
    answer = result.answer
    assert "s after the start" in answer.text and not answer.abstained
    assert (answer.receipt.calls, answer.receipt.privileged) == (0, ("labels",))
    original = {r.index: r for r in open_history(folder).recorded()}
    for e in answer.evidence:
        r = original[e.frame]
        assert (e.stamp_ns, e.offset_ns, e.pose) == (r.frame.stamp_ns, r.offset_ns, r.frame.pose)
        assert any(house.labels[i].kind == kind for i in np.unique(r.frame.labels).tolist() if i in house.labels)
    assert result.trace is not None
    assert [k.id for k in result.trace.keyframes] == [e.keyframe_id for e in answer.evidence]
    assert result.trace.view == result.trace.keyframes[0].jpeg  # the best evidence
    other = runner.run(Sample("q", f"Is there a {kind}?", "yes")).answer
    assert other.receipt.privileged == ("LabelAnswerer",)  # a question about what is there is the answerer's
    never = runner.run(Sample("q", "When did you last see the helicopter?", "")).answer
    assert never.receipt.privileged == ("LabelAnswerer",)
    runner.close()


@pytest.mark.parametrize("answerer", ["label", "blind"])
def test_memory_is_not_asked_where_it_must_not_be(answerer: str, bag: Path, tour: TourHistory, tmp_path: Path) -> None:
    """With options to choose from, and where answers are to be blind; without labels it knows no things."""
    runner = HistoryRunner(lambda sample: file_source(bag), AnswererSettings(answerer=answerer),
                           ViewSelection("uniform", 12, labels=True), tmp_path)
    choices = ("today", "never") if answerer == "label" else ()
    sample = Sample("q", f"When did you last see the {seen_on(tour)}?", "today", choices=choices)
    assert runner.run(sample).answer.receipt.privileged != ("labels",)
    # no memory was made beside the views; the rules do not understand the question, so that no view was read for it
    assert [folder.name.count("tour") for folder in tmp_path.iterdir()] == [1] * (answerer == "blind")
    runner.close()


def test_what_cannot_be_read_is_not_read_for_each_question(tmp_path: Path) -> None:
    opened = []

    def fail() -> EpisodeHistory:
        opened.append(1)
        raise StorageError("damaged")

    runner = HistoryRunner(lambda sample: HistorySource("bag", {}, fail), AnswererSettings(), ViewSelection("uniform"),
                           tmp_path)
    for _ in range(3):
        with pytest.raises(StorageError, match="damaged"):
            runner.run(Sample("q", "Is there a cup?", "yes"))
    assert len(opened) == 1


def test_one_question_on_the_command_line(tour: TourHistory, bag: Path, tmp_path: Path,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ask", f"Is there a {seen_on(tour)}?", "--history", str(bag), "-k", "12"]
    assert main([*words, "--evidence", str(tmp_path / "proof")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "yes" in printed and "s into the bag)" in printed and "frame " in printed
    assert "0 calls" in printed and " steps" not in printed  # of a robot that was not there
    images = sorted((tmp_path / "proof").iterdir())
    assert images and all(Image.open(image).size == (160, 120) for image in images)
    assert f"1-frame-{int(images[0].stem[-6:]):06d}" == images[0].stem
    for more, complaint in ((["--frames", "best"], "unknown choice of frames 'best'"), (["-k", "0"], "k is 0"),
                            (["--attach"], "leave out --history"), (["--remap", "depth=/x"], "no topic '/x'")):
        assert main([*words, *more]) == 2
        assert complaint in capsys.readouterr().err
    write_openeqa(walk(3), tmp_path / "plain")
    assert main(["ask", "Is there a cup?", "--history", str(tmp_path / "plain")]) == 2
    assert "has no labels" in capsys.readouterr().err


def questions(folder: Path, tour: TourHistory) -> Path:
    """OpenEQA's file with two questions about a history that is there, one about a broken one, one about none."""
    kind = seen_on(tour)
    records = [{"question": text, "answer": answer, "category": "object recognition", "question_id": f"q{i}",
                "episode_history": f"hm3d-v0/{history}"} for i, (text, answer, history) in enumerate((
                    ("Is there a helicopter?", "no", "missing"), (f"Is there a {kind}?", "yes", "there"),
                    (f"What is the {kind}?", "a thing", "broken"), (f"Is there a {kind}?", "yes", "there")))]
    (folder / "open-eqa-v0.json").write_text(json.dumps(records))
    return folder


def test_a_benchmark_says_first_what_is_missing_and_goes_on(tour: TourHistory, bag: Path, tmp_path: Path,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    histories = tmp_path / "histories" / "hm3d-v0"
    histories.mkdir(parents=True)
    (histories / "there").symlink_to(bag)
    (histories / "broken").mkdir()
    out = tmp_path / "run"
    words = ["bench", "run", "--task", "em", "--dataset", "openeqa", "--data", str(questions(tmp_path, tour)),
             "--histories", str(tmp_path / "histories"), "--out", str(out), "-k", "12"]
    assert main(words) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "histories of hm3d-v0 (StorageError): 2 questions; 2 histories, the first: the history hm3d-v0/missing is" \
        in printed
    assert "4 asked, 0 asked before, 2 failed" in printed
    predictions = read_predictions(out).predictions
    assert list(predictions) == ["q0", "q1", "q2", "q3"]
    missing, broken = predictions["q0"].answer, predictions["q2"].answer
    assert (missing.error, broken.error) == (ErrorCode.STORAGE, ErrorCode.STORAGE)
    assert "put its frames there" in missing.message and "holds no episode history" in broken.message
    assert all(p.blind is not None for p in predictions.values())
    assert predictions["q1"].answer.text == "yes" and predictions["q1"].answer.evidence[0].frame >= 0
    assert load_trace(out / predictions["q1"].trace).answer == predictions["q1"].answer
    manifest = read_manifest(out)
    assert (manifest.task, manifest.config["frames"], manifest.config["k"]) == ("em", "uniform", 12)
    row = score_run(out, OfflineJudge()).rows[0]
    assert (row.answered, row.failed, row.metrics["openeqa_c"].mean) == (2, 2, 1.0)
    assert row.metrics["openeqa_e_steps"].n == row.metrics["express_d_t"].n == 0  # nothing was driven
    assert main(["report", str(out)]) == 0 and main(words) == 0
    assert "0 asked, 4 asked before" in capsys.readouterr().out
    (histories / "missing").symlink_to(bag)
    assert main([*words, "--retry-failed"]) == 0
    assert "2 asked, 2 asked before, 1 failed" in capsys.readouterr().out
    write_openeqa(walk(3), histories / "plain")
    records = json.loads((tmp_path / "open-eqa-v0.json").read_text())
    (tmp_path / "open-eqa-v0.json").write_text(json.dumps([{**r, "episode_history": "hm3d-v0/plain"} for r in records]))
    assert main([*words[:-3], str(tmp_path / "other")]) == 2  # the default answerer could answer none of them
    assert "none of the 4 questions" in (said := capsys.readouterr().err) and "plain has no labels" in said
    assert main([*words[:-3], str(tmp_path / "other"), "--frames", "best"]) == 2 and not (tmp_path / "other").exists()
    (tmp_path / "open-eqa-v0.json").write_text(json.dumps(records))
    capsys.readouterr()
    assert main([*words, "--frames", "recalled"]) == 2
    assert "a run with another config" in capsys.readouterr().err


def test_a_run_is_of_one_task(tmp_path: Path) -> None:
    samples = [Sample("q0", "What is it?", "a cup", scene="habitat:hm3d/x")]
    runner = ScriptedRunner({"q0": EpisodeResult("q0", Answer("a cup"))})

    def refuse(sample: Sample) -> None:
        raise StorageError("no such history")

    run_benchmark(samples, runner, tmp_path / "refused", task=EM, preflight=refuse)
    assert runner.asked == [] and read_predictions(tmp_path / "refused").predictions["q0"].failed
    run_benchmark(samples, runner, tmp_path / "run", task=EM)  # a Habitat scene need not be opened for its history
    assert runner.asked == ["q0"]
    with pytest.raises(ConfigError, match="another task"):
        run_benchmark([replace(samples[0], scene="house:3")], runner, tmp_path / "run")


def test_a_report_keeps_some_of_many_views_and_all_evidence(tour: TourHistory, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqa_nodes.runners.history._SHOWN", 3)
    runner = HistoryRunner(lambda sample: tour_source(tour.tour), AnswererSettings(),
                           ViewSelection("uniform", 12, labels=True), tmp_path)
    result = runner.run(Sample("q", f"Is there a {seen_on(tour)}?", "yes"))
    assert result.trace is not None
    kept = [view.id for view in result.trace.keyframes]
    assert {e.keyframe_id for e in result.answer.evidence} <= set(kept) and 3 <= len(kept) <= 6 and kept == sorted(kept)


def test_nothing_is_read_for_a_question_that_nobody_understands(tmp_path: Path) -> None:
    def unread(sample: Sample) -> HistorySource:
        raise AssertionError("the history is read")

    for guess in (False, True):
        runner = HistoryRunner(unread, AnswererSettings(), ViewSelection("uniform", 4, labels=True), tmp_path, guess)
        answer = runner.run(Sample("q", "sofa", "")).answer
        assert answer.abstained is not guess and understand("sofa").refusal in answer.message and not answer.error
        runner.close()
