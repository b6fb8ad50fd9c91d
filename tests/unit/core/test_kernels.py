"""The name of a kernel changes with all that its machine code depends on."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from eqa_nodes.core import kernels
from eqa_nodes.core.driving import planning, viewpoints


def test_a_change_of_the_cost_of_a_line_gives_viewpoints_new_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    function = viewpoints._clear_lines.py_func
    before = kernels._digest(function)
    assert before == kernels._digest(function)
    monkeypatch.setattr(viewpoints, "line_cost", planning._shorten)  # a kernel of another name, as after a change
    assert kernels._digest(function) != before


def test_a_kernel_is_named_by_its_file_the_kernels_and_the_numbers_that_it_uses(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    head = "from eqa_nodes.core.kernels import njit\n"

    def names(number: int, step: int, inner: str) -> tuple[str, str]:
        """Return the names of two kernels, of which the outer one calls the inner one and uses a number."""
        (tmp_path / f"inner_{number}.py").write_text(f"{head}@njit()\ndef inner(x):\n    return x + {inner}\n")
        (tmp_path / f"outer_{number}.py").write_text(
            f"{head}from inner_{number} import inner\nSTEP = int(open(__file__ + '.step').read())\n"
            "@njit()\ndef outer(x):\n    return inner(x) + STEP\n")
        (tmp_path / f"outer_{number}.py.step").write_text(str(step))
        importlib.invalidate_caches()
        module = importlib.import_module(f"outer_{number}")
        sys.modules.pop(f"outer_{number}")
        return module.inner.py_func.__qualname__, module.outer.py_func.__qualname__

    first = names(1, 10, "1")
    assert names(1, 20, "1")[1] != first[1], "another number, the same file"
    assert names(1, 10, "1") == first
    other = names(2, 10, "2")
    assert other[0] != first[0] and other[1] != first[1]
