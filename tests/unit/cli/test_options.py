"""Verbs as data, options as fields: what is parsed, what the help lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.cli.options import FOLDER, Parser, add_options, argument, flag, group, option, typed, written_paths
from eqa_nodes.cli.verbs import VERBS, Verb, command_of
from eqa_nodes.cli.verbs import parser as whole_parser


@dataclass(frozen=True, kw_only=True)
class Inner:
    """Options in a group."""

    many: tuple[str, ...] = option((), "several")
    kinds: tuple[str, ...] = option(("usual",), "kinds")
    out: Path | None = option(None, "folder", writes=FOLDER)
    size: float = option(1.5, "size, metres")


@dataclass(frozen=True, kw_only=True)
class Outer:
    """Options with a group, and another of the same with a prefix."""

    name: str = argument("who")
    quiet: bool = flag("say nothing")
    inner: Inner = group(Inner, "inner")
    other: Inner = group(Inner, "other", prefix="other")
    path: str = option("", "where", rare=True)


def parser() -> Parser:
    made = Parser(prog="eqa")
    add_options(made, Outer)
    return made


def leaves(verbs: tuple[Verb, ...] = VERBS, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Verb]]:
    """Yield the words of every verb that does something, with it."""
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


@pytest.mark.parametrize(("words", "kinds"), [
    ([], ("usual",)), (["--kinds", "a", "b"], ("a", "b")), (["--kinds", "usual", "--kinds", "a"], ("usual", "a"))])
def test_the_first_words_replace_the_default_and_later_ones_are_added(words: list[str], kinds: tuple[str, ...]) -> None:
    assert typed(Outer, parser().parse_args(["me", *words])).inner.kinds == kinds
    assert typed(Outer, parser().parse_args(["me"])).inner.kinds == ("usual",)


def test_an_option_without_a_value_is_declared_as_a_flag() -> None:
    with pytest.raises(TypeError, match="declare it as a flag"):
        option(False, "takes no value")


def test_a_rare_option_stands_in_the_long_help_alone(capsys: pytest.CaptureFixture[str]) -> None:
    for word, listed in (("--help", False), ("--help-all", True)):
        with pytest.raises(SystemExit, match="0"):
            parser().parse_args([word])
        said = capsys.readouterr().out
        assert ("--path" in said) is listed and "--help-all" in said
    assert typed(Outer, parser().parse_args(["me", "--path", "x"])).path == "x"


def test_the_help_of_a_question_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    lines = {}
    for word in ("--help", "--help-all"):
        with pytest.raises(SystemExit, match="0"):
            command_of(["ask", word])
        lines[word] = capsys.readouterr().out.count("\n")
    assert lines["--help"] <= 80 < lines["--help-all"]
    found = whole_parser()._subparsers
    assert found is not None
    assert "--cassette-mode" in found._group_actions[0].choices["ask"].format_help()  # type: ignore[index]


@pytest.mark.parametrize(("words", "said"), [
    (["askk", "Where?"], "unknown verb 'askk' (did you mean ask?): known are ask, "),
    (["bench", "runn"], "unknown verb 'runn' (did you mean run?): known are "),
    (["bench", "run", "--datset=house"], "unknown option --datset (did you mean --dataset"),
    (["bench", "run", "--xyzzy"], "unrecognized arguments: --xyzzy"),
    (["ask"], "the following arguments are required: question")])
def test_a_wrong_word_is_answered_with_one_like_it(words: list[str], said: str, capsys: pytest.CaptureFixture[str]
                                                   ) -> None:
    with pytest.raises(SystemExit, match="2"):
        command_of(words)
    assert said in capsys.readouterr().err


def test_no_word_is_answered_with_a_short_guide(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        command_of([])
    said = capsys.readouterr().out
    assert "eqa demo" in said and "eqa --help lists all verbs" in said and said.count("\n") < 20


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_verb_is_a_class_with_a_docstring_beside_what_it_does(words: tuple[str, ...]) -> None:
    module, _, name = LEAVES[words].command.partition(":")
    found: Any = getattr(import_module(f"eqa_nodes.cli.{module}"), name)
    assert callable(found.run) and found.__doc__.rstrip().endswith(".") and LEAVES[words].help


@pytest.mark.parametrize("words", [
    ("ask", "Where?", "--history", "BAG"), ("listen", "--history", "BAG"),
    ("doctor", "--bag", "BAG"), ("history", "info", "BAG"), ("history", "export", "BAG", "O"),
    ("history", "video", "BAG", "OUT.mp4"), ("scan", "BAG"), ("replay", "BAG"),
    ("bench", "run", "--task", "em", "--histories", "BAGS")], ids=" ".join)
def test_every_verb_that_reads_a_bag_has_the_same_options(words: tuple[str, ...]) -> None:
    command = command_of([*words, "--remap", "depth:=/d", "--namespace", "r1", "--map-frame", "world", "--base-frame",
                          "body"])
    assert "remap=('depth:=/d',), namespace='r1', map_frame='world', base_frame='body'" in repr(command)
