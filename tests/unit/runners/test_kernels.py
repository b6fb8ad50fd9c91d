"""What set-up compiles: every simulator is tried, and one whose packages are missing is named."""

from __future__ import annotations

import re

import pytest

from eqa_nodes.runners import kernels


@pytest.mark.thorough
def test_every_simulator_is_tried_with_a_real_question() -> None:
    pytest.importorskip("embreex", reason="the house is not installed: pip install 'eqa-nodes[house]'")
    lines: list[str] = []
    assert kernels.compile_kernels(lines.append)
    assert [re.sub(r"\d+ s", "N s", line) for line in lines] == [
        f"{name}: its kernels are compiled (N s)" for name in ("toy", "house", "mesh")]


def test_a_missing_package_is_named_and_the_others_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(scene: str, folder: object) -> None:
        asked.append(scene)
        if scene.startswith("house"):
            raise ModuleNotFoundError("No module named 'embreex'", name="embreex")
    monkeypatch.setattr(kernels, "_ask", ask)
    monkeypatch.setattr(kernels, "_ask_in_scan", lambda folder: ask("mesh", folder))
    lines: list[str] = []
    assert not kernels.compile_kernels(lines.append)
    assert asked == ["toy:room", "house:0", "mesh"]
    assert lines[1] == "house: left out, embreex is not installed (pip install 'eqa-nodes[house]')"


def test_a_module_of_our_own_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(scene: str, folder: object) -> None:
        raise ModuleNotFoundError("No module named 'sim_bridge.house.gone'", name="sim_bridge.house.gone")
    monkeypatch.setattr(kernels, "_ask", ask)
    with pytest.raises(ModuleNotFoundError, match="gone"):
        kernels.compile_kernels()
