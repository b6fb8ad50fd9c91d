"""No module imports, directly or through others, a module that imports it.

Whether a cycle fails depends on which module is loaded first, so that tests of single parts may pass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.fixtures.paths import ROOT

PACKAGES = ("eqa_nodes", "sim_bridge")


def modules_of(root: Path, packages: tuple[str, ...]) -> dict[str, Path]:
    """Return the files of packages by the names of their modules."""
    files = (file for package in packages for file in (root / package).rglob("*.py"))
    return {".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def executed_imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run when a module is loaded: neither those of functions nor those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from executed_imports(node)


def imported(modules: dict[str, Path], name: str) -> set[str]:
    """Return the modules that loading a module loads, those apart that are being loaded already: its own packages."""
    found = set[str]()
    for node in executed_imports(ast.parse(modules[name].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module and node.level == 0:
            found |= {full if (full := f"{node.module}.{alias.name}") in modules else node.module
                      for alias in node.names}
    packages = {".".join(parts[:n]) for parts in (one.split(".") for one in found) for n in range(1, len(parts))}
    return {one for one in found | packages if one in modules and not f"{name}.".startswith(f"{one}.")}


def cycle_of(root: Path, packages: tuple[str, ...]) -> list[str]:
    """Return modules of which each imports the next, the first and the last being the same; empty without a cycle."""
    modules = modules_of(root, packages)
    try:
        TopologicalSorter({name: imported(modules, name) for name in modules}).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_modules_import_each_other_in_one_direction() -> None:
    assert len(modules_of(ROOT, PACKAGES)) > 500
    assert cycle_of(ROOT, PACKAGES) == []


@pytest.mark.parametrize(("b", "cycle"), [
    ("from pack.a import A", True), ("import pack.a", True), ("from pack import a", True),
    ("def later() -> None:\n    import pack.a", False),
    ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pack.a", False)])
def test_a_cycle_is_found(tmp_path: Path, b: str, cycle: bool) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "__init__.py").touch()
    (pack / "a.py").write_text("from pack.b import B\n")
    (pack / "b.py").write_text(b)
    assert bool(cycle_of(tmp_path, ("pack",))) == cycle
