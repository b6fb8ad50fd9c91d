"""Packages import only what lies below them: the order stands in docs/architecture.md; imports inside functions count.

Modules of one package import each other in one direction, too: whether a cycle fails depends on which is loaded first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.fixtures.paths import ROOT

PACKAGES = ("eqa_nodes", "sim_bridge")
PAGE = ROOT / "docs/architecture.md"


def modules_of(root: Path, packages: tuple[str, ...] = PACKAGES) -> dict[str, Path]:
    """Return the files of packages by the names of their modules."""
    files = (file for package in packages for file in (root / package).rglob("*.py"))
    return {".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def imports_of(tree: ast.AST, lazy: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports of a module but those for type checkers; lazy: those inside functions, too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        elif lazy or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imports_of(node, lazy)


def imported(modules: dict[str, Path], name: str, lazy: bool) -> set[str]:
    """Return the modules that a module names in its imports."""
    found = set[str]()
    for node in imports_of(ast.parse(modules[name].read_text()), lazy):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module and node.level == 0:
            found |= {full if (full := f"{node.module}.{alias.name}") in modules else node.module
                      for alias in node.names}
    return found & modules.keys()


def layers(heading: str) -> list[list[str]]:
    """Return the layers that the page lists below a heading, the lowest last."""
    _, found, rest = PAGE.read_text().partition(f"\n## {heading}\n")
    assert found, f"{PAGE.name} has no heading {heading!r}"
    return [line.split("#")[0].split() for line in rest.split("```")[1].splitlines()[1:] if line.strip()]


def room_of(module: str, prefix: str) -> str:
    """Return the package of a module right below a prefix, or the module itself: "bench" of "eqa_nodes.bench.x"."""
    parts = module.removeprefix(prefix).split(".")
    return module.split(".")[0] if not module.startswith(prefix) else parts[0]


def upward(modules: dict[str, Path], order: list[list[str]], prefix: str) -> list[str]:
    """Return the imports that do not go down in an order of the rooms below a prefix."""
    height = {room: -n for n, rooms in enumerate(order) for room in rooms}
    inside = [name for name in modules if prefix == "eqa_nodes." or name.startswith(prefix)]
    wrong = []
    for name in inside:
        for other in imported(modules, name, lazy=True):
            one, two = room_of(name, prefix), room_of(other, prefix)
            if one != two and other in inside and height[one] <= height[two]:
                wrong.append(f"{name} -> {other}")
    return wrong


@cache
def ours() -> dict[str, Path]:
    """Return the modules of this project that have a place in the order."""
    return {name: file for name, file in modules_of(ROOT).items() if name not in ("eqa_nodes", "eqa_nodes.__main__")}


@pytest.mark.parametrize(("heading", "prefix"), [("Layers", "eqa_nodes."), ("Layers of the core", "eqa_nodes.core.")])
def test_imports_go_down_the_layers(heading: str, prefix: str) -> None:
    order = layers(heading)
    rooms = {room_of(name, prefix) for name in ours() if prefix == "eqa_nodes." or name.startswith(prefix)}
    assert sorted(room for layer in order for room in layer) == sorted(rooms)
    assert upward(ours(), order, prefix) == []


def cycle_of(root: Path, packages: tuple[str, ...]) -> list[str]:
    """Return modules of which each loads the next, the first and the last being the same; empty without a cycle."""
    modules = modules_of(root, packages)
    try:
        TopologicalSorter({name: imported(modules, name, lazy=False) - {name} for name in modules}).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_modules_import_each_other_in_one_direction() -> None:
    assert cycle_of(ROOT, PACKAGES) == []


@pytest.mark.parametrize(("b", "cycle", "up"), [
    ("from pack.a import A", True, True), ("import pack.a", True, True), ("from pack import a", True, True),
    ("def later() -> None:\n    import pack.a", False, True),
    ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pack.a", False, False)])
def test_wrong_imports_are_found(tmp_path: Path, b: str, cycle: bool, up: bool) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "a.py").write_text("from pack.b import B\n")
    (pack / "b.py").write_text(b)
    assert bool(cycle_of(tmp_path, ("pack",))) == cycle
    assert bool(upward(modules_of(tmp_path, ("pack",)), [["a"], ["b"]], "pack.")) == up
