"""Every command line of README.md and docs/ is parsed by the real parser, and run where this machine can."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shlex
import shutil
import textwrap
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import pytest
import yaml

from eqa_nodes.cli import main
from eqa_nodes.cli.verbs import parser
from eqa_nodes.config.graph import read_file
from eqa_nodes.launching.arguments import ARGUMENTS
from tests.fixtures import documented
from tests.fixtures.documented import ALIKE, INSTEAD, NEEDS, ROOT, RUNS, SHELLS, SMALL, STEPS, Line, lines, mentions

EQA = [line for line in lines() if line.text.startswith("eqa ")]
RUN = {line.text: line for line in EQA if line.text in RUNS}


@cache
def whole_parser() -> argparse.ArgumentParser:
    """Return the parser with all options of all verbs; it keeps nothing of a line."""
    return parser()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return documented.install_components(tmp_path_factory.mktemp("site"))


@pytest.fixture(autouse=True)
def _installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))


def words(line: str) -> list[str]:
    """Return the words of a command line, less where its output goes."""
    return shlex.split(line.partition(" > ")[0])


def reason(line: str) -> str:
    """Return what a line needs that this machine lacks, "" for nothing known."""
    have = words(line)
    return next((why for why, begins in NEEDS.items() for begin in begins if fits(begin, have)), "")


def fits(begin: str, have: list[str]) -> bool:
    """Say whether a row of NEEDS is about a line of these words; one that ends with a colon is the begin of a word."""
    return all(any(word == w or (w.endswith(":") and word.startswith(w)) for word in have) for w in begin.split())


@pytest.mark.parametrize("line", EQA, ids=lambda line: f"{line.where} {line.text}")
def test_a_line_is_parsed_and_is_run_or_says_what_it_needs(line: Line, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        whole_parser().parse_args(words(line.text)[1:])
    except SystemExit:
        pytest.fail(f"{line.where}: {line.text}: {capsys.readouterr().err.splitlines()[-1]}")
    known = line.text in RUNS or line.text in STEPS or line.text in INSTEAD
    assert known or reason(line.text), f"{line.where}: {line.text!r} is not in tests/fixtures/documented.py"


def test_the_table_holds_no_line_that_is_nowhere() -> None:
    assert {*RUNS, *STEPS, *INSTEAD} <= {line.text for line in EQA} and set(RUNS) >= ALIKE
    used = {begin for line in EQA for begins in NEEDS.values() for begin in begins
            if fits(begin, words(line.text))}
    assert {begin for begins in NEEDS.values() for begin in begins} <= used


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the lines are about, made by lines of the same kind: two scored runs, a recording, a memory, a table."""
    folder = tmp_path_factory.mktemp("documented")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, policy in (("a", "frontier"), ("b", "random")):
            run = ["bench", "run", "--questions", "2", "--policy", policy, "--out", f"runs/{name}", *SMALL.split()]
            assert main(run) == 0 and main(["bench", "score", f"runs/{name}"]) == 0
        recording = ["history", "record", "house:3", "BAG", "--to", "bag", "--kind", "express", "--image", "64x48"]
        assert main(recording) == 0
    memory = next((folder / "runs" / "a" / "memory").glob("*.sqlite"))
    shutil.copy(memory, folder / "FILE")
    shutil.copytree(folder / "BAG", folder / "PATH")
    shutil.copytree(folder / "runs" / "a", folder / "RUN")
    (folder / "FOLDER").mkdir()
    (folder / "FOLDER" / "questions.csv").write_text("question,answer,scene\nIs there a chair?,yes,corridor:2\n")
    return folder


@pytest.mark.parametrize("text", [pytest.param(text, marks=[pytest.mark.thorough] if text in ALIKE else [])
                                  for text in RUN], ids=lambda text: f"{RUN[text].where} {text}")
def test_a_line_does_what_it_says(text: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "a folder with blanks"
    shutil.copytree(made, place)
    monkeypatch.chdir(place)
    for name in ("EQA_VLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    if text.startswith("eqa history video"):
        pytest.importorskip("av", reason="PyAV is absent: pip install 'eqa-nodes[video]'")
    code = main([*words(text)[1:], *RUNS[text].split()])
    out, err = capsys.readouterr()
    assert code == 0, f"{RUN[text].where}: {text} ended with {code}: {err or out}"
    assert out and "Traceback" not in err


def subparser(have: list[str]) -> tuple[argparse.ArgumentParser, list[str]]:
    """Return the parser of the verbs at the begin of some words, and the words that are left."""
    found, left = whole_parser(), have
    while left and (actions := [a for a in found._actions if isinstance(a, argparse._SubParsersAction)]):
        if left[0] not in actions[0].choices:
            break
        found, left = actions[0].choices[left[0]], left[1:]
    return found, left


@pytest.mark.parametrize("line", mentions("eqa"), ids=lambda line: f"{line.where} {line.text}")
def test_what_a_sentence_mentions_is_there(line: Line) -> None:
    found, left = subparser(shlex.split(line.text)[1:])
    assert found is not whole_parser() and len(left) < len(shlex.split(line.text)) - 1, f"{line.where}: no such verb"
    for word in left:
        if word.startswith("--"):
            assert word in found._option_string_actions, f"{line.where}: {line.text}: no option {word}"


@pytest.mark.parametrize("line", [*(one for one in lines() if one.text.startswith("make ")), *mentions("make")],
                         ids=lambda line: f"{line.where} {line.text}")
def test_a_target_of_make_is_there(line: Line) -> None:
    text = (ROOT / "Makefile").read_text() + (ROOT / "scripts" / "setup").read_text()
    for word in words(line.text)[1:]:
        name, equals, _ = word.partition("=")
        known = rf"\$[({{]?{name}\b" if equals else rf"^{name}:"
        assert re.search(known, text, re.M), f"{line.where}: make has no {name}"


@pytest.mark.parametrize("line", [one for one in [*lines(), *mentions("ros2")] if "eqa_nodes" in one.text.split()
                                  and one.text.startswith("ros2 ")], ids=lambda line: f"{line.where} {line.text}")
def test_a_launch_line_names_arguments_and_nodes_that_are_there(line: Line) -> None:
    _, verb, _, what, *rest = words(line.text)
    if verb == "run":
        assert (ROOT / "resource" / "nodes" / what).is_file(), f"{line.where}: no node {what}"
        return
    world = what.removesuffix(".launch.py")
    assert verb == "launch" and (ROOT / "launch" / what).is_file()
    for word in (word for word in rest if not word.startswith("--")):
        name, mark, value = word.partition(":=")
        assert mark and name in ARGUMENTS[world], f"{line.where}: {what} has no argument {name}"
        choices = ARGUMENTS[world][name].choices
        assert not choices or value in choices, f"{line.where}: {name} is not {value}"


@pytest.mark.parametrize("line", [one for one in [*lines(), *mentions("python -m"), *mentions("pip install")]
                                  if one.text.startswith(("python -m", "pip install"))],
                         ids=lambda line: f"{line.where} {line.text}")
def test_a_module_and_an_extra_are_there(line: Line) -> None:
    have = words(line.text)
    if have[1] == "-m":
        ours = have[2].split(".")[0] in ("eqa_nodes", "sim_bridge", "benchmarks")
        assert not ours or importlib.util.find_spec(have[2]), f"{line.where}: no module {have[2]}"
        return
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    for extra in re.findall(r"(?:eqa-nodes|\.)\[([\w,]+)\]", line.text):
        assert set(extra.split(",")) <= set(setup["options.extras_require"]), f"{line.where}: no extra {extra}"


@pytest.mark.parametrize("page", documented.PAGES, ids=lambda page: page.name)
def test_snippets_compile_and_parameters_are_taken(page: Path, tmp_path: Path) -> None:
    for language, block in documented.blocks(page):
        where, text = f"{page.name}:{block[0][0] if block else 0}", "\n".join(line for _, line in block)
        if language == "python":
            compile(textwrap.dedent(text), where, "exec")
        elif language == "yaml":
            assert yaml.safe_load(text) is not None, where
        if language in (*SHELLS, "yaml") and text.startswith("/**"):
            file = tmp_path / "parameters.yaml"
            file.write_text(text)
            assert read_file(file), where


def test_the_examples_of_the_help_are_parsed() -> None:
    examples = [line.strip() for line in (whole_parser().epilog or "").splitlines() if line.startswith("  eqa ")]
    commands = [part.strip() for line in examples for part in re.split(r"\s{2,}", line)[0].split("&&")]
    assert len(commands) >= 8
    for command in commands:
        whole_parser().parse_args(words(command)[1:])
