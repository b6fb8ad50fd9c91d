"""Verbs as data, options as fields: what is parsed, renamed, completed, and how little is loaded for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.cli.options import FOLDER, Parser, add_options, argument, flag, group, option, typed, written_paths
from eqa_nodes.cli.verbs import VERBS, Verb

HEAVY = ("numpy", "scipy", "numba", "rich", "yaml", "rclpy", "torch", "PIL")


@dataclass(frozen=True, kw_only=True)
class Inner:
    """Options in a group."""

    many: tuple[str, ...] = option((), "several")
    out: Path | None = option(None, "folder", writes=FOLDER)
    size: float = option(1.5, "size, metres")


@dataclass(frozen=True, kw_only=True)
class Outer:
    """Options with a group, and another of the same with a prefix."""

    name: str = argument("who")
    quiet: bool = flag("say nothing")
    inner: Inner = group(Inner, "inner")
    other: Inner = group(Inner, "other", prefix="other")
    path: str = option("", "where", formerly=("--way",))


def parser() -> Parser:
    made = Parser(prog="eqa")
    add_options(made, Outer)
    return made


def leaves(verbs: tuple[Verb, ...] = VERBS, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Verb]]:
    for verb in verbs:
        yield from leaves(verb.verbs, (*words, verb.name)) if verb.verbs else [((*words, verb.name), verb)]


LEAVES = dict(leaves())


def test_words_become_a_typed_value() -> None:
    words = ["me", "--quiet", "--many", "a", "b", "--many", "c", "--out", "x", "--other-size", "2", "--other-many", "d"]
    value = typed(Outer, parser().parse_args(words))
    assert value == Outer(name="me", quiet=True, inner=Inner(many=("a", "b", "c"), out=Path("x")),
                          other=Inner(size=2.0, many=("d",)))
    assert list(written_paths(value)) == [(FOLDER, Path("x"))]
    assert "size, metres (default: 1.5)" in parser().format_help()


def test_a_renamed_option_names_its_successor(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["me", "--way", "x"], ["me", "--way=x"]):
        with pytest.raises(SystemExit):
            parser().parse_args(words)
        assert "error: --way is called --path" in capsys.readouterr().err
    from eqa_nodes.cli import main

    with pytest.raises(SystemExit):
        main(["generate", "express", "--per-way", "3"])
    assert "--per-way is called --per-path" in capsys.readouterr().err


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_verb_is_a_class_with_a_docstring_beside_what_it_does(words: tuple[str, ...]) -> None:
    module, _, name = LEAVES[words].command.partition(":")
    found: Any = getattr(import_module(f"eqa_nodes.cli.{module}"), name)
    assert callable(found.run) and found.__doc__.rstrip().endswith(".") and LEAVES[words].help


def test_help_loads_nothing_heavy() -> None:
    code = f"""
import contextlib, io, sys
from eqa_nodes.cli import main
for words in {[list(words) for words in ((), *LEAVES)]!r}:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main([*words, "--help"])
    loaded = sorted(set({HEAVY!r}) & set(sys.modules))
    assert not loaded, (words, loaded)
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
source <(eqa completion bash)
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9
read -ra COMP_WORDS <<<"$1"; [[ "$1" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete eqa "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(("line", "words"), [
    ("eqa be", {"bench"}), ("eqa bench r", {"run", "robustness"}), ("eqa bench run --pol", {"--policy"}),
    ("eqa ask x --through ", {"graph", "isolated", "process"}), ("eqa ask x --policy fro", {"frontier"}),
    ("eqa bag check BA", {"BAG.mcap"})])
def test_bash_completes_verbs_options_names_and_files(line: str, words: set[str], eqa: dict[str, str],
                                                      tmp_path: Path) -> None:
    (tmp_path / "BAG.mcap").touch()
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", line], env=eqa, cwd=tmp_path, capture_output=True,
                          text=True, timeout=60, check=True)
    assert {word.strip() for word in done.stdout.split()} == words, done.stderr


def test_fish_completes(eqa: dict[str, str]) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed: apt-get install fish")
    done = subprocess.run(["fish", "-c", "eqa completion fish | source; complete -C 'eqa bench r'"], env=eqa,
                          capture_output=True, text=True, timeout=60, check=True)
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"run", "robustness"}


def test_zsh_knows_what_completes(eqa: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed: apt-get install zsh")
    script = (f"autoload -Uz compinit; compinit -u -d {tmp_path}/dump; source <(eqa completion zsh); "
              "print ${_comps[eqa]}")
    done = subprocess.run(["zsh", "-f", "-c", script], env=eqa, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "_python_argcomplete"
