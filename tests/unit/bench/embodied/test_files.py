"""Folders of tasks in the project's own form: round trips, scans, and bad files that are named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.embodied.files import read_tasks, record_of, write_tasks
from eqa_nodes.bench.embodied.tasks import Predicate, check_doable, sample_of, task_in
from eqa_nodes.bench.samples import opened_by
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.samples import TASKS
from tests.fixtures.junk_records import FUZZ, JUNK, refusal
from tests.fixtures.tasks import TASK


def test_files_round_trip(tmp_path: Path) -> None:
    other = replace(TASK, index=5, kind="Navigation", options=(), predicates=(Predicate("agent_at", point=3),),
                    expert_steps=None, expert=(), start=Pose2(1.0, -2.0, 2.5))
    write_tasks(tmp_path, [TASK, other])
    back = read_tasks(tmp_path)
    assert json.loads((tmp_path / "tasks" / "tasks.json").read_text()) == [
        {"index": 4, "task_file": "AttrQA/0004.json"}, {"index": 5, "task_file": "Navigation/0005.json"}]
    assert [replace(b, start=t.start) for b, t in zip(back, [TASK, other], strict=True)] == [TASK, other]
    assert [b.start for b in back] == [pytest.approx(t.start) for t in (TASK, other)]
    record = json.loads((tmp_path / "tasks" / "AttrQA" / "0004.json").read_text())
    assert {"scene_path", "task_text", "agent_position", "agent_rotation", "options", "predicates"} <= record.keys()
    assert record["predicates"][0] == {"predicate_type": "choose", "right_answer_content": "yes"}
    samples = open_dataset("embodied-eval", folder=tmp_path, task=TASKS)
    assert [(s.id, s.category, s.answer, s.choices, s.reference_steps) for s in samples] == [
        ("0004", "AttrQA", "yes", ("yes", "no"), 2), ("0005", "Navigation", "", (), None)]
    assert task_in(samples[0]) == back[0]


def test_a_scene_file_is_a_scan_that_unity_has_mirrored(tmp_path: Path) -> None:
    going = replace(TASK, kind="Navigation", scene="mesh:scenes/HSSD/x.glb", options=(), expert=(),
                    predicates=(Predicate("agent_at", point=3),), start=Pose2(1.0, -2.0, 2.5), start_height_m=3.0,
                    points=tuple(p._replace(z=3.0) for p in TASK.points))
    write_tasks(tmp_path, [going])
    record = json.loads((tmp_path / "tasks" / "Navigation" / "0004.json").read_text())
    assert record["scene_path"] == "scenes/HSSD/x.glb"
    # The importer turns glTF's x, y, z into Unity's -x, y, z, and the map's x is glTF's -z, its y glTF's -x.
    assert record["agent_position"] == [-2.0, 3.0, -1.0]
    (back,) = read_tasks(tmp_path)
    assert replace(back, start=going.start) == going and back.start == pytest.approx(going.start)
    sample = sample_of(back)
    assert (sample.scene, sample.start_height_m) == ("mesh:scenes/HSSD/x.glb", 3.0)
    (other,) = opened_by("habitat", [sample])
    assert task_in(other).scene == "habitat:scenes/HSSD/x.glb"
    check_doable(sample)
    taking = replace(going, predicates=(Predicate("grab", object=9), Predicate("agent_at", point=3)))
    with pytest.raises(ConfigError, match="needs grab, and in the scan 'mesh:scenes/HSSD/x.glb' nothing can be"):
        check_doable(sample_of(taking))
    for outside in ("../x.glb", "/x.glb", "scenes/../../x.glb"):
        record["scene_path"] = outside
        (tmp_path / "tasks" / "Navigation" / "0004.json").write_text(json.dumps(record))
        with pytest.raises(ConfigError, match="must lie in the data folder"):
            read_tasks(tmp_path)


@pytest.mark.parametrize(("changes", "why"), [
    ({"task_text": " "}, "'task_text' must be a text"), ({"predicates": []}, "'predicates' is empty"),
    ({"predicates": [{"predicate_type": "fly"}]}, r"predicates\[0\].*unknown predicate 'fly': known are agent_at"),
    ({"predicates": [{"predicate_type": "choose", "right_answer_content": "maybe"}]}, "one of the options: 'maybe'"),
    ({"predicates": [{"predicate_type": "agent_at", "point": 99}]}, "not a point of the navigation graph: 99"),
    ({"predicates": [{"predicate_type": "grab"}]}, "'object' is missing"),
    ({"options": [{"option_type": "Answer", "option_text": "a"}] * 2}, "has a text twice: 'a'"),
    ({"options": [{"option_type": "Interaction", "option_text": "a", "action": "juggle", "object": 1}]}, "'juggle'"),
    ({"navigation_graph": {"points": [], "edges": []}}, "needs points"),
    ({"navigation_graph": {"points": [{"id": 0, "position": [0, 0, 0]}], "edges": [[0, 1]]}}, "needs edges"),
    ({"agent_position": [0, 0]}, "'agent_position' must be 3 finite numbers"), ({"expert_steps": -1}, "expert_steps")])
def test_broken_tasks_are_named(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    write_tasks(tmp_path, [TASK])
    file = tmp_path / "tasks" / "AttrQA" / "0004.json"
    file.write_text(json.dumps({**record_of(TASK), **changes}))
    with pytest.raises(ConfigError, match=why) as caught:
        read_tasks(tmp_path)
    assert "AttrQA/0004.json" in str(caught.value) or "navigation_graph" in str(caught.value)


@given(st.dictionaries(st.sampled_from([*record_of(TASK), "expert", "expert_steps"]), JUNK, min_size=1, max_size=3))
@FUZZ
def test_junk_in_tasks_is_named(tmp_path: Path, changes: dict[str, Any]) -> None:
    write_tasks(tmp_path, [TASK])
    (tmp_path / "tasks" / "AttrQA" / "0004.json").write_text(json.dumps({**record_of(TASK), **changes}))
    why = refusal(lambda: [sample_of(task) for task in read_tasks(tmp_path)])
    assert not why or "task AttrQA/0004.json" in why or "navigation_graph" in why


@pytest.mark.parametrize("name", ["../secret.json", "/etc/passwd"])
def test_a_task_file_lies_beside_the_list(tmp_path: Path, name: str) -> None:
    (tmp_path / "tasks.json").write_text(json.dumps([{"index": 0, "task_file": name}]))
    with pytest.raises(ConfigError, match="must lie beside tasks.json"):
        read_tasks(tmp_path)
