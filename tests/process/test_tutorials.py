"""The tutorials of docs/tutorials from top to bottom: commands, files, excerpts of the examples, and tests."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from tests.fixtures.documented import INSTEAD, SHELLS, SHOWN, STEPS, TUTORIALS, blocks, lines
from tests.fixtures.examples import EXAMPLES, install_examples

FILE = re.compile(r"`([\w.]+\.(?:yaml|json))`:$")  # how the paragraph before the content of a file ends


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_examples(tmp_path_factory.mktemp("examples"))


@pytest.fixture(autouse=True)
def _installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))
    for name in ("EQA_VLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def texts(page: Path) -> Iterator[tuple[str, int, str]]:
    """Yield language, number of the first line and text of each block."""
    for language, block in blocks(page):
        yield language, block[0][0], "\n".join(line for _, line in block)


def commands(page: Path, number: int, text: str) -> list[str]:
    """Return the commands of `eqa` in the block that begins at a line and can be run here, in order."""
    within = range(number, number + len(text.splitlines()))
    here = [line.text for line in lines() if line.where in [f"{page.name}:{at}" for at in within]]
    return [line for line in here if line in STEPS or line in INSTEAD]


def is_program(text: str) -> bool:
    """Say whether Python code can be run as it is; else it is an excerpt."""
    return re.search(r"^(import|from) ", text, re.M) is not None


def run_program(where: str, text: str) -> None:
    """Run Python code, and the tests that it defines."""
    made: dict[str, object] = {}
    exec(compile(text, where, "exec"), made)
    for check in [one for name, one in made.items() if name.startswith("test_") and inspect.isfunction(one)]:
        check()


def file_before(page: Path, number: int) -> str:
    """Return the name of the file that the block at a line is the content of, "" for none: the page says it before."""
    before = page.read_text(encoding="utf-8").splitlines()[:number - 2]
    found = FILE.search("\n".join(before).rstrip())
    return found[1] if found else ""


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_from_top_to_bottom(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    ran, output = [], ""
    for language, number, text in texts(page):
        if name := file_before(page, number):
            Path(name).write_text(f"{text}\n", encoding="utf-8")
        if language == "text" and output:
            assert text.strip() in output, f"{page.name}:{number} is not what is printed: {output}"
        if language == "python" and is_program(text):
            run_program(f"{page.name}:{number}", text)
        output = ""
        for line in commands(page, number, text) if language in SHELLS else ():
            code = main([*shlex.split(INSTEAD.get(line, line))[1:], *shlex.split(STEPS.get(line, ""))])
            out, err = capsys.readouterr()
            assert code == 0, f"{page.name}: {line} ended with {code}: {err or out}"
            ran.append(line)
            output = out if line in SHOWN else ""
    assert ran


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_code_that_is_no_program_stands_in_an_example(page: Path) -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*/*.*")))
    for language, number, text in texts(page):
        if language == "toml" or (language == "python" and not is_program(text)):
            assert text in sources, f"{page.name}:{number} is in no file of examples/"
