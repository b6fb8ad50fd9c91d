"""`eqa generate` without a model: the built-in house's own questions, from the command line to the files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.types.views import Keyframe, Sighting
from eqa_nodes.generate.house_roles import HouseRoles
from eqa_nodes.generate.pipeline import read_path, read_records
from eqa_nodes.generate.results import read_manifest
from eqa_nodes.generate.values import ACCEPTED, QuestionAnswer, ScenePath, benchmark
from sim_bridge.house.questions import candidates
from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS
from sim_bridge.house.world import label_of, storeyed, world

pytest.importorskip("embreex", reason="the house needs embreex: pip install 'eqa-nodes[house]'")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two accepted questions of a house of the training seeds."""
    folder = tmp_path_factory.mktemp("generated") / "express"
    assert main(["generate", "express", "--scene", "house:3", "--seed", "1", "--count", "2", "--elsewhere", "1",
                 "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def path(out: Path) -> ScenePath:
    return read_path(out, 0)


def test_accepted_questions_are_true_and_their_things_in_view(out: Path) -> None:
    asked = {c.question: c for group in candidates(world(3).house).values() for c in group}
    accepted = [record for record in read_records(out) if record.status == ACCEPTED]
    assert len(accepted) == 2
    for record in accepted:
        assert record.pair is not None
        candidate = asked[record.pair.question]
        seen = {s.label.instance: s.pixels * 1.5625 for s in read_path(out, record.way).views[0].sightings}
        sizes = sorted((seen.get(target, 0.0) for target in candidate.targets), reverse=True)
        assert record.pair.answer == candidate.answer and sizes[candidate.need - 1] >= VIEW_PIXELS
        assert [check.name for check in record.checks] == ["new", "not guessed", "reproduced", "unique"]
    manifest = read_manifest(out)
    assert list(manifest.privileged) == ["shortest paths of the simulator", "labels", "scene graph of the house"]
    assert manifest.costs["calls"] == 0 and manifest.cast["generator"] == "label"


def test_people_have_the_last_word(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [r for r in read_records(out) if r.status == ACCEPTED]
    page = (out / "verify.html").read_text()
    assert all(record.pair is not None and record.pair.question in page for record in records)
    data = page.split('const data = "')[1].split('"')[0]
    first = records[0]
    assert first.pair is not None
    said = {first.id: {"verdict": "accept", "question": first.pair.question, "answer": first.pair.answer, "note": ""}}
    (out / "ann.json").write_text(json.dumps({"reviewer": "ann", "data": data, "verdicts": said}))
    assert main(["generate", "finish", str(out), "--verdicts", str(out / "ann.json")]) == 0
    assert "1 of 2 questions passed" in capsys.readouterr().out
    assert len(json.loads((out / "express-bench.json").read_text())) == 1


def test_the_evaluator_knows_what_is_untrue_or_out_of_view(path: ScenePath) -> None:
    roles = HouseRoles(benchmark("express"))
    assert not roles.evaluate(path, "state", QuestionAnswer("Is the moon full?", "yes"), 0).accepts(0.1)
    blind = replace(path, views=tuple(_without_things(view) for view in path.views))
    asked = next(c for c in candidates(world(3).house)["attribute recognition"])
    verdict = roles.evaluate(blind, "attribute", QuestionAnswer(asked.question, asked.answer), 0)
    assert not verdict.accepts(0.5) and "are needed" in verdict.feedback
    assert all(roles.propose(blind, category, [], [], 0) is None for category in benchmark("express").categories)


def test_proposals_are_of_their_kind_and_never_come_twice(path: ScenePath) -> None:
    kind = benchmark("exploraqa")
    roles, seen = HouseRoles(kind), {s.label.instance for s in path.views[0].sightings if s.pixels > 2 * SEEN_PIXELS}
    assert seen
    for category in kind.categories:
        known: list[str] = []
        while (pair := roles.propose(path, category, [], known, 0)) is not None:
            assert pair.question not in known
            known.append(pair.question)
    told = roles.instruct(path, 0)
    assert told.startswith("Begin in ") and "Stop" in told


def test_a_scene_without_truth_asks_for_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "express", "--scene", "toy:flat", "--out", str(tmp_path / "o")]) == 2
    assert "--model NAME" in capsys.readouterr().err


def _without_things(view: Keyframe) -> Keyframe:
    return replace(view, sightings=())


def test_a_question_of_a_home_with_two_storeys_is_of_the_storey_that_the_path_is_on() -> None:
    home, roles = storeyed(7), HouseRoles(benchmark("express"))
    asked = {c.question: c for group in candidates(home.side_by_side()).values() for c in group}
    for height_m, storey in zip((0.0, home.stairs.rise_m), home.storeys, strict=True):
        here = {t.id for t in storey.house.objects}
        start = storey.house.start
        view = Keyframe(1, 1, start.transform(height_m), b"", tuple(
            Sighting(label_of(home.house, t), 100_000, (0, 0, 9, 9), t.position, t.size)
            for t in storey.house.objects))
        path = ScenePath(0, "house:7@2", (), (start,), 1.0, height_m, (view,), (), ())
        pairs = [p for category in benchmark("express").categories if (p := roles.propose(path, category, [], [], 0))]
        assert pairs
        for pair in pairs:
            assert asked[pair.question].answer == pair.answer and here & {*asked[pair.question].targets}
            assert roles.evaluate(path, "", pair, 0).scores["clarity"] == 1.0
        room = home.storey_at(height_m).room_at(start.x, start.y)
        assert room is not None and room in storey.house.rooms and room.kind in roles.instruct(path, 0)
