"""Episodes of VLN-CE as paths with directions: what is read, what is refused by name, and questions made from them."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.types.geometry import Pose2, position_to_habitat
from eqa_nodes.generate.pipeline import generate, read_path
from eqa_nodes.generate.results import READERS, begin, end, read_manifest
from eqa_nodes.generate.scene_paths import make_path
from eqa_nodes.generate.values import REJECTED
from eqa_nodes.generate.vln_episodes import VlnEpisode, read_vln_episodes
from eqa_nodes.tours.tours import RECIPES, plan_tour
from tests.fixtures.generating import Model, cast, job, small

SAID = "Go through the door and turn left. Wait at the desk."


def episode(**changes: Any) -> dict[str, Any]:
    """Return an episode as in the published files: 2 m to the east, begun with a look to the south."""
    south = math.sqrt(0.5)
    return {"episode_id": 7, "trajectory_id": 4, "scene_id": "mp3d/17DRP5sb8fy/17DRP5sb8fy.glb",
            "start_position": [1.0, 0.1, 3.0], "start_rotation": [0.0, -south, 0.0, south],
            "info": {"geodesic_distance": 2.0}, "goals": [{"position": [3.0, 0.1, 3.0], "radius": 3.0}],
            "instruction": {"instruction_text": f"{SAID}\n", "instruction_tokens": [3, 0]},
            "reference_path": [[1.0, 0.1, 3.0], [2.0, 0.1, 3.0], [3.0, 0.2, 3.0]], **changes}


def written(folder: Path, *episodes: Any, packed: bool = False) -> Path:
    """Write a split and return its file."""
    data = json.dumps({"episodes": list(episodes), "instruction_vocab": {"word_list": []}}).encode()
    file = folder / ("train.json.gz" if packed else "train.json")
    file.write_bytes(gzip.compress(data) if packed else data)
    return file


def in_the_flat() -> dict[str, Any]:
    """Return an episode along a path of the toy flat."""
    tour = plan_tour("toy:flat", RECIPES["exploraqa"], 3)
    start = tour.poses[0]
    places = [list(position_to_habitat((pose.x, pose.y, tour.z))) for pose in tour.poses[::6]]
    places.append(list(position_to_habitat((tour.poses[-1].x, tour.poses[-1].y, tour.z))))
    return episode(scene_id="toy:flat", start_position=places[0], reference_path=places,
                   start_rotation=[0.0, math.sin(start.yaw / 2), 0.0, math.cos(start.yaw / 2)])


@pytest.mark.parametrize("packed", [False, True])
def test_an_episode_is_read_into_the_map_frame(tmp_path: Path, packed: bool) -> None:
    found = read_vln_episodes(written(tmp_path, episode(), packed=packed))[0]
    assert (found.id, found.scene, found.instruction) == ("7", "habitat:mp3d/17DRP5sb8fy", SAID)
    assert found.start == pytest.approx(Pose2(-3.0, -1.0, -math.pi / 2))
    assert found.path == ((-3.0, -1.0, 0.1), (-3.0, -2.0, 0.1), (-3.0, -3.0, 0.2)) and found.one_floor


@pytest.mark.parametrize(("changes", "why"), [
    ({"reference_path": None}, "episode '7' of train.json cannot be read: field 'reference_path' is missing: the split "
                               "'test' has no paths"),
    ({"reference_path": [[1.0, 0.1, 3.0]]}, "has a single place"), ({"reference_path": [[1.0, 0.1]]}, "reference_path"),
    ({"reference_path": [[1.0, float("nan"), 3.0]] * 2}, "three finite numbers"),
    ({"start_rotation": [0.0, 0.0, 0.0, 2.0]}, r"'start_rotation' \(x, y, z, w\): .*unit quaternion"),
    ({"start_rotation": [0.0, 1.0]}, "must be 4 finite numbers"), ({"scene_id": ""}, "scene_id"),
    ({"instruction": "Go left."}, "instruction cannot be read"), ({"instruction": {}}, "instruction_text"),
    ({"instruction": {"instruction_text": " "}}, "instruction_text"), ({"episode_id": None}, "episode_id")])
def test_a_broken_episode_is_named(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        read_vln_episodes(written(tmp_path, episode(**changes)))


@pytest.mark.parametrize(("content", "why"), [
    (b"", "cannot read the episodes"), (b"[]", "holds no episodes of VLN-CE"), (b'{"episodes": []}', "an empty list"),
    (b'{"episodes": [3]}', "episode number 0"), (gzip.compress(b"{}", mtime=0)[:-9], "cannot read the episodes"),
    (b"\x1f\x8bno", "cannot read the episodes"), (b"{" * 100_000, "cannot read the episodes")])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "train.json"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=why):
        read_vln_episodes(file)
    with pytest.raises(ConfigError, match="cannot read the episodes"):
        read_vln_episodes(tmp_path / "none.json")


def test_questions_are_made_at_the_ends_of_episodes(tmp_path: Path) -> None:
    kind, model = small("exploraqa"), Model()
    order = job(count=1, scenes=(), episodes=tuple(read_vln_episodes(written(tmp_path, in_the_flat()))))
    begin(tmp_path / "out", kind, order, {"generator": "scripted"}, ["paths"])
    file = end(tmp_path / "out", kind, generate(kind, order, cast(kind, model), tmp_path / "out"))
    path, sample = read_path(tmp_path / "out", 0), READERS["exploraqa"](file)[0]
    assert sample.instruction == path.instruction == SAID and sample.scene == path.scene == "toy:flat"
    planned = order.episodes[0]
    assert math.dist(path.poses[-1][:2], planned.path[-1][:2]) <= 0.25 and path.poses[0] == pytest.approx(planned.start)
    assert not any(role == "instruct" for role, _ in model.texts)
    assert len(str(read_manifest(tmp_path / "out").settings["episodes"])) == 16
    with pytest.raises(ConfigError, match="another settings"):
        begin(tmp_path / "out", kind, job(count=1), {"generator": "scripted"}, ["paths"])


def test_episodes_that_cannot_be_driven_are_rejected_with_the_reason(tmp_path: Path) -> None:
    kind = small("exploraqa")
    flat = read_vln_episodes(written(tmp_path, in_the_flat()))[0]
    up = flat._replace(path=(*flat.path, (*flat.path[-1][:2], 3.0)))
    away = flat._replace(path=(flat.path[0], (500.0, 500.0, flat.path[0][2])))
    wall = flat._replace(start=Pose2(500.0, 500.0, 0.0))
    for wrong, why in ((up, "leads over stairs"), (away, "no path on one floor"), (wall, "cannot begin there")):
        with pytest.raises(SimulatorError, match=why):
            made(kind, wrong)
    order = job(count=1, tries=1, scenes=(), episodes=(up,))
    record = generate(kind, order, cast(kind, Model()), tmp_path / "out").records[0]
    assert record.status == REJECTED and record.reason == (
        "no way: episode 7 leads over stairs to another floor, and a path here stays on one")


def made(kind: Any, one: VlnEpisode) -> object:
    return make_path(kind, one.scene, 0, 0, 1, False, one)


def test_the_command_names_a_file_without_episodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "exploraqa", "--episodes", str(tmp_path / "no.json.gz"), "--out", str(tmp_path)]) == 2
    assert "cannot read the episodes" in capsys.readouterr().err
