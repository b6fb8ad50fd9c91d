"""The container file agrees with the checkout and with the documented set-up. No engine runs here: nothing is built."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch

import pytest

from eqa_nodes.cli.console import ServeConsole
from eqa_nodes.cli.verbs import command_of
from tests.fixtures.paths import ROOT

KNOWN = {"FROM", "ENV", "SHELL", "RUN", "WORKDIR", "COPY", "EXPOSE", "VOLUME", "ENTRYPOINT", "CMD"}
# What the shell and the base image bring; all else has to be named by the set-up or the documentation.
EVERYWHERE = {"source", "export", "exec", "rm"}


def instructions() -> Iterator[tuple[str, str]]:
    """Yield each instruction with its words, continued lines joined, comments left out."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(str.strip, text.splitlines()):
        name, _, words = line.partition(" ")
        yield name, words.strip()


def commands() -> Iterator[str]:
    """Yield the shell commands of RUN and ENTRYPOINT."""
    for name, words in instructions():
        if name == "RUN":
            yield from (part.strip() for part in words.split("&&"))
        elif name == "ENTRYPOINT":
            yield from (part.strip() for part in json.loads(words)[2].split("&&"))


def documented() -> str:
    """The words of scripts/setup, the Makefile and docs/install.md."""
    return "\n".join((ROOT / path).read_text() for path in ("scripts/setup", "Makefile", "docs/install.md"))


def test_the_instructions_are_known_and_begin_with_the_base() -> None:
    names = [name for name, _ in instructions()]
    assert set(names) <= KNOWN and names[0] == "FROM" and names.count("CMD") == names.count("ENTRYPOINT") == 1
    base = dict(instructions())["FROM"]
    assert base == "docker.io/library/ros:kilted-ros-base"
    assert all("/opt/ros/kilted/" in command for command in commands() if "/opt/ros" in command)


def test_every_copied_file_exists_and_reaches_the_engine() -> None:
    sources = [source for name, words in instructions() if name == "COPY" for source in words.split()[:-1]]
    assert len(sources) > 10 and [source for source in sources if not (ROOT / source).exists()] == []
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert sorted(kept) == sorted(sources), "what is copied and what is kept differ"


@pytest.mark.parametrize("command", list(commands()))
def test_each_command_is_one_of_the_documented_set_up(command: str) -> None:
    program, *words = command.split()
    text = documented()
    assert program in EVERYWHERE or re.search(rf"\b{re.escape(program)}\b", text), f"{program} is documented nowhere"
    if command.startswith("apt-get install"):
        packages = [word for word in words[1:] if not word.startswith("-")]
        assert [package for package in packages if not re.search(rf"\b{re.escape(package)}(?!\w)", text)] == []
    if program == "make":
        assert all(re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE) for target in words)
    if program == "source" and words[0].startswith(("ros2_ws", ".venv")):
        assert re.search(rf"source (\S*/)?{re.escape(words[0].removeprefix('ros2_ws/'))}", text)


def test_what_the_set_up_reads_is_copied() -> None:
    """scripts/setup hashes and installs these: each has to be in the image before it runs."""
    sources = [source for name, words in instructions() if name == "COPY" for source in words.split()[:-1]]
    found = re.search(r"find (.*?) -type f", (ROOT / "scripts" / "setup").read_text().replace("\\\n", " "))
    assert found is not None
    read = [path for path in found[1].split() if path != "\\"]
    assert len(read) > 5
    for path in read:
        assert any(path == source or fnmatch(path, f"{source}/*") for source in sources), f"{path} is not copied"


def test_the_default_command_is_a_command_of_the_project() -> None:
    said = dict(instructions())
    command = command_of(json.loads(said["CMD"]))
    assert isinstance(command, ServeConsole) and str(command.page.port) == said["EXPOSE"]
    assert command.page.host == "0.0.0.0"  # any address but loopback requires a token
    assert said["VOLUME"] == f"{said['WORKDIR']}/{command.runs}"
