"""What a start of `eqa` loads, and how a shell completes its words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eqa_nodes.cli.verbs import VERBS

HEAVY = ("numpy", "scipy", "numba", "rich", "yaml", "rclpy", "torch", "PIL")
LINES = [[], *([verb.name] for verb in VERBS), *([verb.name, below.name] for verb in VERBS for below in verb.verbs)]


def test_help_loads_nothing_heavy() -> None:
    code = f"""
import contextlib, io, sys
from eqa_nodes.cli import main
for words in {LINES!r}:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main([*words, "--help"])
    loaded = sorted(set({HEAVY!r}) & set(sys.modules))
    assert not loaded, (words, loaded)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_memory_loads_no_search_trees_and_no_compiler() -> None:
    """They take half a second and 100 MB in every process that touches memory, and most never need them."""
    code = """
import sys
import eqa_nodes.core.observing, eqa_nodes.config.nodes
loaded = sorted({"scipy", "numba"} & set(sys.modules))
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_package_runs_as_the_command() -> None:
    printed = [subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, timeout=60,
                              check=True).stdout for module in ("eqa_nodes", "eqa_nodes.cli")]
    assert printed[0] == printed[1] and printed[0].startswith("usage: eqa")


@pytest.fixture
def eqa(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has a command `eqa`."""
    pytest.importorskip("argcomplete", reason="argcomplete is not installed: pip install argcomplete")
    script = tmp_path / "bin" / "eqa"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m eqa_nodes "$@"\n')
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}


BASH = r"""
eval "$(register-python-argcomplete eqa)"
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9
read -ra COMP_WORDS <<<"$1"; [[ "$1" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete eqa "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(("line", "words"), [
    ("eqa bench r", {"run", "robustness"}), ("eqa bench run --pol", {"--policy"}),
    ("eqa ask x --policy fro", {"frontier"}), ("eqa doctor --bag BA", {"BAG.mcap"})])
def test_bash_completes_verbs_options_names_and_files(line: str, words: set[str], eqa: dict[str, str],
                                                      tmp_path: Path) -> None:
    (tmp_path / "BAG.mcap").touch()
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", line], env=eqa, cwd=tmp_path, capture_output=True,
                          text=True, timeout=60, check=True)
    assert {word.strip() for word in done.stdout.split()} == words, done.stderr
