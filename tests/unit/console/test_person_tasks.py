"""A person as an agent of tasks, over HTTP: options, views, refusals, and a result that is saved like an agent's."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import json
from dataclasses import replace
from pathlib import Path

from eqa_nodes.bench.embodied.tasks import FORWARD
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.cli.bench.human import Human
from tests.fixtures.person_page import choosing
from tests.fixtures.tasks import TASK, YES


def test_a_person_carries_out_a_task(tmp_path: Path) -> None:
    with choosing(tmp_path, [TASK]) as page:
        state = page.get("state")
        assert (state["kind"], state["steps"], state["max_steps"], state["views"]) == ("task", 0, 24, 1)
        assert state["options"][0] == FORWARD and YES in state["options"] and state["question"] == TASK.text
        assert page.raw("view/0.jpg")[0][:2] == b"\xff\xd8"
        page.post("act", id="0004", step=0, option=1)
        state = page.get("state")
        assert (state["steps"], state["views"], state["last"]) == (1, 2, [FORWARD, "success"])
        page.post("act", id="0004", step=1, option=state["options"].index(YES) + 1)
        assert page.get("state") == {"over": True, "done": 1, "total": 1}
    (prediction,) = read_predictions(tmp_path).predictions.values()
    assert prediction.predicates == (True, True) and prediction.answer.text == "yes"
    assert prediction.answer.receipt.privileged == ()
    steps = json.loads((tmp_path / "results" / "traj0004" / "traj.json").read_text())
    assert [step["action"] for step in steps] == [FORWARD, YES]


def test_what_cannot_be_chosen_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with choosing(tmp_path, [replace(TASK, index=7)]) as page:
        assert page.refused("act", id="0007", step=0, option=99)[1] == "an option is a number from 1 to 8, not 99"
        assert page.refused("act", id="0007", step=3, option=1)[1].startswith("this page shows an old step")
        assert page.refused("act", id="0008", step=0, option=1)[0] == 409
        assert page.refused("view/9.jpg")[0] == page.refused("map/0.svg")[0] == 404
        assert page.get("state")["steps"] == 0
        page.post("act", id="0007", step=0, option=page.get("state")["options"].index('answer "no"') + 1)
        page.get("state")
    assert not read_predictions(tmp_path).predictions["0007"].predicates[0]


def test_data_sets_of_tasks_are_recognised() -> None:
    expected = {"house-tasks": ("tasks", 24), "embodied-eval": ("tasks", 24), "house": ("active", 300)}
    for dataset, (task, steps) in expected.items():
        human = Human(dataset=dataset)
        assert (human._task, human._limit) == (task, steps)
