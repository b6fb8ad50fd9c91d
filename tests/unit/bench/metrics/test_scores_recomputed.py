"""Every mean of scores.json once more, from the files of a run by plain loops: formulas, categories, intervals."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.judges.base import JudgeMark
from eqa_nodes.bench.metrics.scores import Scores, score_run
from eqa_nodes.bench.metrics.values import METRICS
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from tests.fixtures.scripted_runner import ScriptedRunner

N = 60


class SplitJudge:
    """Marks "sigma delta" as it is said; blind answers say sigma alone."""

    name, version, sees = "split", "0", False

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        if not answer_text:
            return JudgeMark(1, 0.0)
        sigma, _, delta = answer_text.partition(" ")
        return JudgeMark(None if sigma == "?" else float(sigma), float(delta) if delta else None)


class Straight:
    """Distances as the crow flies; nothing can be reached beyond x = 30 m."""

    def geodesic(self, scene: str, a: tuple[float, ...], b: tuple[float, ...]) -> float:
        return float("inf") if b[0] > 30 else ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5

    def grounding(self, scene: str, targets: Any, pose: Pose2) -> float | None:
        return None


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scores]:
    draw, samples, results, blind = random.Random(5), [], {}, {}
    for n in range(N):
        name = f"q{n}"
        choices = ("a", "b") if n % 5 == 0 else ()
        samples.append(Sample(name, "?", "a", category="cab"[n % 3], start=Pose2(draw.uniform(0, 9), 0, 0),
                              target=(40.0 if n % 11 == 0 else draw.uniform(0, 9), 1.0), choices=choices,
                              reference_steps=None if n % 7 == 0 else draw.randint(1, 60),
                              reference_metres=draw.uniform(0.5, 12.0)))
        receipt = Receipt(draw.randint(0, 90), draw.uniform(0, 20), draw.uniform(0, 9), draw.randint(0, 9),
                          draw.randint(0, 999), draw.randint(0, 99), money=draw.choice((0.0, 0.25, 0.5)))
        said = f"{draw.choice('12345?')} {draw.choice(('0', '0.5', '1'))}"
        answer = Answer(said, round(draw.random(), 3), n % 9 == 1, receipt=receipt)
        results[name] = ModelError("none") if n % 13 == 4 else EpisodeResult(
            name, answer, Pose2(draw.uniform(0, 9), 0, 0),
            predicates=tuple(draw.random() < 0.6 for _ in range(n % 4)))
        blind[name] = Answer(draw.choice("12345"))
    out = tmp_path_factory.mktemp("run")
    run_benchmark(samples, ScriptedRunner(results, blind), out)
    return out, score_run(out, SplitJudge(), Straight())


def ratio(reference: float, taken: float) -> float:
    return 1.0 if max(reference, taken) == 0 else reference / max(reference, taken)


def values_by_hand(sample: dict[str, Any], line: dict[str, Any]) -> dict[str, float | None]:
    """Return every metric of one question, worked out from the two JSON lines."""
    answer, receipt = line["answer"], line["answer"]["receipt"]
    if answer["error"] != "NONE":
        return {}
    said, _, ground = answer["text"].partition(" ")
    sigma = 1.0 if answer["abstained"] else None if said == "?" else float(said)
    delta = 0.0 if answer["abstained"] else float(ground)
    away = sample["target"][0] <= 30
    l_m, l_steps, p_m = sample["reference_metres"], sample["reference_steps"], receipt["metres"]
    end, target = line["final_pose"], sample["target"]
    d_t = ((end["x"] - target[0]) ** 2 + (end["y"] - target[1]) ** 2) ** 0.5 if away else None
    blind = float(line["blind"]["text"])
    c = None if sigma is None else (sigma - 1) / 4
    holds = line["predicates"]
    values = {
        "openeqa_c": c, "blind_c": (blind - 1) / 4, "ace": answer["confidence"], "express_d_t": d_t,
        "openeqa_c_forced": (blind - 1) / 4 if answer["abstained"] else c,
        "steps": receipt["steps"], "metres": p_m, "seconds": receipt["seconds"], "calls": receipt["calls"],
        "tokens": receipt["tokens_in"] + receipt["tokens_out"], "money": receipt["money"],
        "npl": ratio(l_m, p_m) if away else None,
        "wce": answer["confidence"] * ratio(l_m, p_m) if away else None}
    forced = values["openeqa_c_forced"]
    if forced is not None and away:
        values["openeqa_e_metres_forced"] = forced * ratio(l_m, p_m)
        if l_steps is not None:
            values["openeqa_e_steps_forced"] = forced * ratio(l_steps, receipt["steps"])
    if sigma is not None and c is not None:
        values |= {"express_c_star": sigma / 5, "express_c": sigma * delta / 5}
        values["express_e_path"] = sigma * delta / 5 * ratio(l_m, p_m)  # also where the target cannot be reached
        if away:
            values["openeqa_e_metres"] = c * ratio(l_m, p_m)
            if l_steps is not None:
                values["openeqa_e_steps"] = c * ratio(l_steps, receipt["steps"])
        if sample["choices"]:
            values["hm_eqa_accuracy"] = 1.0 if sigma == 5 else 0.0
    if d_t is not None:
        values |= {"sr": float(d_t <= 3), "osr": float(d_t <= 3), "spl": ratio(l_m, p_m) if d_t <= 3 else 0.0}
    else:
        values["osr"] = 0.0  # it ended, and no end is near what cannot be reached
    if holds:
        values |= {"succ": float(all(holds)), "gcs": sum(holds) / len(holds)}
        if l_steps is not None:
            values["task_spl"] = ratio(l_steps, receipt["steps"]) if all(holds) else 0.0
    return values


def test_every_mean_and_count(run: tuple[Path, Scores]) -> None:
    out, scores = run
    samples = [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]
    lines = {(d := json.loads(line))["id"]: d for line in (out / "predictions.jsonl").read_text().splitlines()}
    by_hand = [(s["category"], values_by_hand(s, lines[s["id"]])) for s in samples]
    assert [row.name for row in scores.rows] == ["all", "a", "b", "c"]
    for row in scores.rows:
        mine = [v for category, v in by_hand if row.name in ("all", category)]
        for name in METRICS:
            used = [x for v in mine if (x := v.get(name)) is not None]
            found = row.metrics[name]
            assert (found.n, found.excluded) == (len(used), len(mine) - len(used)), name
            assert found.mean == (pytest.approx(sum(used) / len(used)) if used else None), name
        gains = [v["openeqa_c"] - v["blind_c"] for v in mine if v.get("openeqa_c") is not None]
        assert row.metrics["gain_over_blind"].mean == pytest.approx(sum(gains) / len(gains))
        assert row.questions == len(mine) and row.failed == sum(not v for v in mine)
        assert row.metrics["openeqa_c_failed_lowest"].n == len(mine) - row.unscored
