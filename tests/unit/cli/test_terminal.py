"""The command line at any terminal: help, wrong words, Ctrl-C, closed and full outputs, other encodings."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from eqa_nodes.cli import main, verbs
from eqa_nodes.cli.graph import Graph
from eqa_nodes.cli.verbs import parser


def below(found: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...],
                                                                                        argparse.ArgumentParser]]:
    """Yield every verb with its parser."""
    yield words, found
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, verb in action.choices.items():
                yield from below(verb, (*words, name))


VERBS = dict(below(parser()))


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_has_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*words, "--help"])
    printed = capsys.readouterr().out
    assert end.value.code == 0 and printed.startswith(f"usage: eqa {' '.join(words)}".strip())
    assert not re.search(r"%\(|\bNone\b", printed)


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_a_wrong_option_is_named(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*words, "--no-such-option"])
    error = capsys.readouterr().err.splitlines()[-1]
    assert end.value.code == 2 and error.startswith("eqa") and ": error: " in error


def test_an_unknown_verb_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["aks"])
    error = capsys.readouterr().err
    assert "'aks'" in error and all(words[0] in error for words in VERBS if words)


def test_an_interrupt_is_one_line_while_modules_load_and_while_a_verb_runs(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Graph, "run", interrupted)
    assert main(["graph"]) == 130
    monkeypatch.setattr(verbs, "parser", interrupted)
    assert main(["graph"]) == 130
    assert capsys.readouterr() == ("", "eqa: interrupted\neqa: interrupted\n")
