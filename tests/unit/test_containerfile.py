"""The container file agrees with the checkout. No engine runs here: nothing is built."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch

from eqa_nodes.cli.console import ServeConsole
from eqa_nodes.cli.verbs import command_of
from tests.fixtures.paths import ROOT


def instructions() -> Iterator[tuple[str, str]]:
    """Yield each instruction with its words, continued lines joined, comments left out."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(str.strip, text.splitlines()):
        name, _, words = line.partition(" ")
        yield name, words.strip()


def test_every_copied_file_exists_and_reaches_the_engine() -> None:
    sources = [source for name, words in instructions() if name == "COPY" for source in words.split()[:-1]]
    assert len(sources) > 10 and [source for source in sources if not (ROOT / source).exists()] == []
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert sorted(kept) == sorted(sources), "what is copied and what is kept differ"


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
