"""The example packages in examples/, installed by pip: one new file each, and every command knows its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from tests.fixtures.examples import EXAMPLES, install_examples

SMALL = ("--through", "process", "--image", "64x48", "--max-steps", "30")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_examples(tmp_path_factory.mktemp("examples"))


@pytest.fixture(autouse=True)
def _installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))


def test_each_example_is_one_file() -> None:
    packages = [path.parent for path in EXAMPLES.glob("*/pyproject.toml")]
    assert len(packages) == 5 and all(len(list(package.glob("**/*.py"))) == 1 for package in packages)


def test_the_policy_drives_by_its_parameters(tmp_path: Path) -> None:
    params = tmp_path / "walls.yaml"
    params.write_text("/**/explorer: {ros__parameters: {params.wall_follower.side: left}}\n")
    assert main(["ask", "Where is the fridge?", "--scene", "corridor:2", "--policy", "wall_follower", *SMALL,
                 "--params", str(params), "--out", str(tmp_path / "run")]) == 0
    params.write_text("/**/explorer: {ros__parameters: {params.wall_follower.side: north}}\n")
    assert main(["ask", "Where is the fridge?", "--scene", "corridor:2", "--policy", "wall_follower", *SMALL,
                 "--params", str(params), "--out", str(tmp_path / "not")]) == 2


def test_check_knows_the_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = tmp_path / "walls.yaml"
    params.write_text("/**/explorer: {ros__parameters: {policy: wall_follower, params.wall_follower.leg_m: 1.5}}\n")
    assert main(["graph", "--check", str(params)]) == 0
    params.write_text("/**/explorer: {ros__parameters: {params.wall_follower.legs: 1.5}}\n")
    assert main(["graph", "--check", str(params)]) == 2
    assert "params.wall_follower.leg_m" in capsys.readouterr().err


def test_the_data_set_the_answerer_and_the_simulator_run_together(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text("question,answer,scene\nHow many chairs are there?,1,corridor:2\n")
    out = tmp_path / "run"
    assert main(["bench", "run", "--dataset", "csv", "--data", str(tmp_path), "--answerer", "counting", *SMALL,
                 "--out", str(out)]) == 0
    row = json.loads((out / "predictions.jsonl").read_text().splitlines()[0])
    assert row["id"] == "csv-2" and row["answer"]["receipt"]["privileged"] == ["CountingAnswerer"]


def test_an_unknown_name_lists_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["ask", "Where?", "--policy", "wall_folower", *SMALL, "--scene", "corridor:2",
                 "--out", str(tmp_path)]) == 2
    assert "wall_follower" in capsys.readouterr().err
