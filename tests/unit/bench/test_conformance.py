"""Edge cases of the published scorers. Inputs are our own; the figures are those that the published code gave for them.

docs/judging.md says which code that was, and how many random inputs were compared beside these.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.bench.judges.base import JudgeMark, JudgeOptions
from eqa_nodes.bench.judges.marking import open_judge
from eqa_nodes.bench.judges.model_judges import ViewConfidence
from eqa_nodes.bench.judges.official import find_scorer, open_official, read_official_eac, read_official_mark
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics import formulas as metrics
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.report.tables import footnotes
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.model import Choice, Message
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.quirks import Dialect
from eqa_nodes.models.request import ModelRequest, body_of
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.synthetic_run import make_run

MUG = Sample("q", "Where's the mug?", "on the {desk}", ("it's there", 'by "the" lamp'))
PLAIN = Sample("p", "Is it dark?", "no ")


@pytest.fixture
def openeqa(tmp_path: Path) -> Path:
    """Return a checkout as OpenEQA's, with prompts of our own."""
    folder = tmp_path / "open-eqa"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts" / "mmbench.txt").write_text("\n Q {question}\nA {answer}\nP {prediction}\n\n")
    (folder / "prompts" / "mmbench-extra.txt").write_text("Q {question} A {answer} E {extra_answers} P {prediction}\n")
    return folder


@pytest.fixture
def express(tmp_path: Path) -> Path:
    """Return a checkout as EXPRESS-Bench's, with a prompt of our own."""
    folder = tmp_path / "EXPRESS-Bench"
    (folder / "prompt").mkdir(parents=True)
    (folder / "prompt" / "evaluation.txt").write_text("[system]:\nYou mark.\n[user]:\nLook.\n\nInput:\n")
    return folder


def asked(folder: Path, sample: Sample, text: str, view: bytes | None = None, reply: str = "1, 3") -> Any:
    """Return the body of the request that an official judge sends."""
    scorer = find_scorer(folder)
    backend = ScriptedBackend([reply])
    open_official(scorer, backend).judge(sample, text, view)
    messages = [Message(m.role, m.parts) for m in backend.requests[-1]]
    return body_of(ModelRequest(messages, scorer.max_tokens, 0), "m", scorer.model({}), Dialect(), scorer.max_tokens)


@pytest.mark.parametrize(("reply", "mark"), [
    ("5", 5), ("0", 0), ("17", 17), ("٣", 3), ("Your mark: 4", 4), ("Your mark: 4\nbecause 2", 4), ("Your mark:+5", 5),
    ("Your mark: -2", -2), ("Your mark: Your mark: 3", 3), ("Your mark: 1_1", 11),
    ("so\nYour mark: 2\nYour mark: 5", 2)])
def test_openeqa_reads_these_replies(reply: str, mark: int) -> None:
    assert read_official_mark(reply) == mark


@pytest.mark.parametrize("reply", [" 4", "4 ", "4.", "5\n", "-1", "+3", "1_0", "²", "", "four", "My mark: 4",
                                   "Your Mark: 4", "Your mark:", "Your mark: \n4", "Your mark: 4/5", "Your mark: 4.0",
                                   "4 because"])
def test_openeqa_refuses_these_replies(reply: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_official_mark(reply)


@pytest.mark.parametrize(("reply", "both"), [
    ("1, 5", (5, 1.0)), ("0.5,4", (4, 0.5)), ("Your mark: 0.75, 0", (0, 0.75)), (" .5 , 3 \n", (3, 0.5)),
    ("1,2,reason", (2, 1.0)), ("2, 7", (7, 2.0)), ("-1, -3", (-3, -1.0))])
def test_express_reads_these_replies(reply: str, both: tuple[int, float]) -> None:
    assert read_official_eac(reply) == both


@pytest.mark.parametrize("reply", ["0.5", "0.5 4", "a, 4", "0.5, 4.0", "0.5, four", "", "1/2, 4", "0.5;4", "(1, 5)",
                                   "1, 5.", "1, 5 because"])
def test_express_refuses_these_replies(reply: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_official_eac(reply)


def test_openeqa_is_asked_as_by_its_own_scorer(openeqa: Path) -> None:
    body = asked(openeqa, PLAIN, "It is not. I think", reply="4")
    assert body == {"model": "m", "max_tokens": 32, "seed": 1234, "temperature": 0.2, "messages": [
        {"role": "user", "content": "Q Is it dark?\nA no \nP It is not."}]}  # stripped file, cut at the full stop
    extra = asked(openeqa, MUG, "{prediction}", reply="4")["messages"]
    assert extra == [{"role": "user", "content": "Q Where's the mug? A on the {desk} E "
                      "[\"it's there\", 'by \"the\" lamp'] P {prediction}"}]
    said = Sample("s", "?", "a", ("b",), metadata={"extra_answers": ["b", ""]})
    assert "E ['b', ''] P" in asked(openeqa, said, "x", reply="4")["messages"][0]["content"]


def test_express_is_asked_as_by_its_own_scorer(express: Path) -> None:
    body = asked(express, MUG, "there. Or not", b"\x89PNG")
    assert "temperature" not in body
    assert body["messages"] == [
        {"role": "system", "content": "You mark.\n"},
        {"role": "user", "content": [
            {"type": "text", "text": "Look.\n\nInput:\nQuestion: Where's the mug?\nAnswer: on the {desk}\n"
             "Response: there. Or not\nYour mark: "},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,iVBORw=="}}]}]


def test_a_refused_reply_leaves_the_answer_unscored_and_is_not_asked_again(openeqa: Path) -> None:
    backend = ScriptedBackend(["I give a 4.", "4"])
    mark = open_official(find_scorer(openeqa), backend).judge(PLAIN, "no")
    assert mark.sigma is None and "official parser refuses the reply 'I give a 4.'" in mark.note
    assert backend.usage.calls == 1


def test_no_answer_costs_no_call(openeqa: Path, express: Path) -> None:
    for folder, delta in ((openeqa, None), (express, 0.0)):
        backend = ScriptedBackend()
        assert open_official(find_scorer(folder), backend).judge(PLAIN, "") == JudgeMark(1, delta, "no answer")
        assert backend.usage.calls == 0


def test_what_does_not_fit_is_refused(openeqa: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a checkout of open-eqa"):
        find_scorer(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="fixes temperature at 0.2: leave --judge-temperature out"):
        find_scorer(openeqa).model({"temperature": 0.0})
    with pytest.raises(ConfigError, match="contains the official llm-match, not eac"):
        open_judge("eac", JudgeOptions(official=openeqa), lambda config: ScriptedBackend())
    (openeqa / "prompts" / "mmbench.txt").write_text("{anything}")
    with pytest.raises(ConfigError, match="cannot be filled in"):
        find_scorer(openeqa)


def test_the_checkout_and_the_model_decide_the_version(openeqa: Path) -> None:
    def judge(model: str = "a") -> Any:
        return open_official(find_scorer(openeqa), ScriptedBackend(model=model))

    first = judge()
    assert first.version == judge().version != judge("b").version
    assert first.name.startswith("llm-match official (a, prompt ")
    (openeqa / "prompts" / "mmbench.txt").write_text("{question} {answer} {prediction}")
    assert first.version != judge().version and first.name != judge().name


def test_the_command_needs_both_options(tmp_path: Path, openeqa: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "score", str(tmp_path), "--judging", "official"]) == 2
    assert "--prompts DIR belong together" in " ".join(capsys.readouterr().err.split())
    given = ["--judging", "official", "--prompts", str(openeqa), "--no-extra-answers"]
    assert main(["bench", "score", str(tmp_path), *given]) == 2
    assert "leave --judge-prompt" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("sigma", "delta", "c", "c_star"), [
    (0, 1.0, 0.0, 0.0), (4, 0.75, 0.6, 0.8), (5, 2.0, 1.0, 1.0), (7, 0.5, 0.7, 1.0), (-3, -1.0, 0.6, 0.0),
    (1, 0.0, 0.0, 0.2)])
def test_express_marks_off_the_scale(sigma: float, delta: float, c: float, c_star: float) -> None:
    assert metrics.express_c(sigma, delta) == pytest.approx(c, abs=1e-12)
    assert metrics.express_c_star(sigma) == pytest.approx(c_star, abs=1e-12)


@pytest.mark.parametrize(("marks", "one", "two"), [
    ((5, 5, 4, 1, 1, 1, 1, 1), "34.4", "34.38"), ((5,) * 104 + (3,) + (1,) * 95, "52.2", "52.25"),
    ((5,) * 209 + (1,) * 191, "52.2", "52.25"), ((2,) + (1,) * 199, "0.1", "0.12"), ((4,) + (1,) * 199, "0.4", "0.38"),
    ((5,) + (1,) * 399, "0.2", "0.25"), ((5,) * 3 + (1,) * 397, "0.8", "0.75"), ((0, 6, 3), "50.0", "50.00")])
def test_ties_are_printed_as_by_openeqa(marks: tuple[int, ...], one: str, two: str) -> None:
    official = np.mean(100.0 * (np.clip(np.array(marks), 1, 5) - 1) / 4)
    mean = metrics.summary([metrics.openeqa_c(m) for m in marks], resamples=2)._replace(low=None, high=None)
    assert (metrics.shown(mean, 100, 1), metrics.shown(mean, 100, 2)) == (one, two)
    assert (f"{official:.1f}", f"{official:.2f}") == (one, two)


@pytest.mark.parametrize("n", [40, 200])
def test_every_sum_of_marks_is_printed_as_by_openeqa(n: int) -> None:
    for total in range(4 * n + 1):
        marks = np.array([5] * (total // 4) + [1 + total % 4] + [1] * n)[:n]
        official = f"{np.mean(100.0 * (np.clip(marks, 1, 5) - 1) / 4):.1f}"
        mean = float(np.mean([metrics.openeqa_c(m) for m in marks]))
        assert metrics.shown(metrics.MeanInterval(mean, None, None, n, 0), 100, 1) == official


def test_paths_without_a_length() -> None:
    assert metrics.path_ratio(3.0, 0.0) == 1.0
    assert metrics.path_ratio(0.0, 0.0) == 1.0  # 0 / 0 in the published scorers: the table says how many there are
    assert metrics.path_ratio(3.0, math.inf) == 0.0


def test_the_model_keeps_what_the_scorer_does_not_fix(openeqa: Path) -> None:
    named = {"model": "gpt-4-1106-preview", "base_url": "http://localhost:1", "temperature": 0.2}
    assert find_scorer(openeqa).model(named) == ModelConfig(**named, seed=1234)


def test_confidence_is_that_of_a_model_in_the_final_view() -> None:
    backend = ScriptedBackend([Choice((0.7, 0.3), "logprobs")])
    judge = ViewConfidence(backend)
    assert judge.judge(MUG, "on the desk", b"view") == JudgeMark(0.7, None, "logprobs")
    asked_for = backend.requests[0][0].parts
    assert "Where's the mug?" in asked_for[0] and asked_for[1] == b"view" and "desk" not in asked_for[0]
    assert judge.judge(MUG, "on the desk").sigma is None  # no view, and no call
    assert judge.name.startswith("confidence of ")
    assert judge.version != ViewConfidence(ScriptedBackend(model="b")).version


def test_ace_and_wce_rest_on_the_final_view_where_a_model_is_named(tmp_path: Path) -> None:
    out = make_run(tmp_path)
    with_view = ViewConfidence(ScriptedBackend([Choice((0.6, 0.4), "logprobs")] * 9))
    scores = score_run(out, OfflineJudge(), confidence=with_view)
    seen = [q.confidence for q in scores.questions]
    assert seen.count(0.6) == 1 and set(seen) == {0.6, None}  # one of its episodes has a final view
    row = scores.rows[0]
    assert (row.metrics["ace"].mean, row.metrics["ace"].n) == (pytest.approx(0.6), 1)
    assert any("confidence of" in note and "in the final view, n 1" in note for note in footnotes(scores))
