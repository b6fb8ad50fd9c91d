"""`eqa console` on the command line: its options, and wrong use in one line with the remedy."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from eqa_nodes.cli.ask import Ask
from eqa_nodes.cli.console import ServeConsole
from eqa_nodes.cli.verbs import command_of


def test_it_listens_on_this_machine_unless_told_otherwise() -> None:
    command = command_of(["console"])
    assert isinstance(command, ServeConsole)
    assert (command.page.host, command.page.token, command.robot.attach) == ("127.0.0.1", False, False)
    assert command.runs == Path("runs")
    assert command.config.limits.steps == 300 and command.config.named.answerer == "label"


@pytest.mark.parametrize(("words", "complaint"), [
    (["--through", "process"], "--through must be graph or isolated"),
    (["--agent", "tests.fixtures.own_agents:active"], "--agent must not be a function"),
    (["--keep-memory"], "they need --attach"), (["--driver", "oak"], "they need --attach"),
    (["--attach", "--drive", "dry"], "launch the running graph with drive:=dry instead"),
    (["--attach", "--reconstruct"], "launch the running graph with reconstruct:=true instead"),
    (["--namespace", "robot1"], "they need --attach"), (["--remap", "color:=/front"], "they need --attach"),
    (["--base-frame", "r1/base"], "they need --attach"),
    (["--dead-man", "1"], "--dead-man is 1: it must be 0 (off) or 2 to 3600 seconds"),
    (["--attach", "--area", "0,0 1"], "--area is '0,0 1'")])
def test_wrong_use_is_one_line(words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                               capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert main(["console", *words]) == 2
    assert complaint in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_missing_library_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["console"]) == 2
    assert "starlette is not installed: pip install 'eqa-nodes[console]'" in capsys.readouterr().err


def test_asking_a_graph_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    command = command_of(["ask", "Where?", "--attach", "--namespace", "robot1", "--remap", "color:=/front", "--show"])
    assert isinstance(command, Ask) and not command.scene  # the running episode continues; a robot has no scenes
    bag = command.recording.bag
    assert (bag.namespace, bag.remap, command.show) == ("robot1", ("color:=/front",), True)
    assert main(["ask", "Where?", "--namespace", "robot1"]) == 2 and "need --attach" in capsys.readouterr().err
    assert main(["ask", "Where?", "--history", "no-bag", "--show"]) == 2
    assert "leave out --show" in capsys.readouterr().err


def test_an_interrupt_says_what_becomes_of_the_drive(monkeypatch: pytest.MonkeyPatch,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    class Client:
        """Of a graph that is asked for ever, until Ctrl-C."""

        def __init__(self, *words: object, **options: object) -> None:
            self.reply = None

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None:
            """Nothing is open."""

        def ask(self, *_: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr("eqa_nodes.ros.environment.ensure_ros", lambda: None)
    monkeypatch.setitem(sys.modules, "eqa_nodes.ros.client", types.SimpleNamespace(GraphClient=Client))
    assert main(["ask", "Where?", "--attach"]) == 130
    assert capsys.readouterr().err.endswith("eqa: the question and the robot's drive were cancelled\n"
                                            "eqa: interrupted\n")
