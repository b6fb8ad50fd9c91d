"""README's example and the tutorials from top to bottom: commands, what they print, files, pictures, and tests.

`make pages` (--rewrite-pages) writes what is printed into the pages, and the pictures into docs/images.
"""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.cli import main
from tests.fixtures.documented import INSTEAD, LIVE, PICTURES, README, SHELLS, STEPS, TUTORIALS, blocks, lines
from tests.fixtures.examples import EXAMPLES, install_examples
from tests.fixtures.paths import ROOT
from tests.fixtures.printed import holds, renewed
from tests.fixtures.screenshots import screenshot

FILE = re.compile(r"`([\w.]+\.(?:yaml|json))`:$")  # how the paragraph before the content of a file ends
ALIKE = 3.0  # of 255, the mean difference of two pictures that another version of Pillow has compressed
Run = Callable[[str], str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_examples(tmp_path_factory.mktemp("examples"))


@pytest.fixture(autouse=True)
def _installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))
    for name in ("EQA_VLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Give what runs a command line and returns what it prints."""
    def ran(line: str) -> str:
        code = main([*shlex.split(INSTEAD.get(line, line))[1:], *shlex.split(STEPS.get(line, ""))])
        out, err = capsys.readouterr()
        assert code == 0, f"{line} ended with {code}: {err or out}"
        return out

    return ran


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


def outputs(page: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[int, str, str]]:
    """Run a page; yield the number of the first line of each printed text, the text, and what was printed.

    What a robot recorded (LIVE) is printed by no other machine; those texts are left out.
    """
    ran, printed = 0, ""
    for language, number, text in texts(page):
        if name := file_before(page, number):
            Path(name).write_text(f"{text}\n", encoding="utf-8")
        if language == "text" and text.startswith("$ eqa "):
            first = text.splitlines()[0]
            assert main(shlex.split(first)[2:]) != 0, f"{page.name}:{number} is no error"
            printed = f"{first}\n{capsys.readouterr().err}"
        if language == "text" and printed:
            yield number, text, printed
        if language == "python" and page != README and is_program(text):
            run_program(f"{page.name}:{number}", text)
        here = commands(page, number, text) if language in SHELLS else []
        ran += len(here)
        printed = "".join([run(line) for line in here])
        if set(here) & {*LIVE, *INSTEAD}:
            printed = ""
    assert ran


@pytest.mark.timeout(1500)  # on two cores a minute, but other tests may run beside it
@pytest.mark.parametrize("page", [README, *(pytest.param(page, marks=pytest.mark.thorough) for page in TUTORIALS)],
                         ids=lambda page: page.stem)
def test_a_page_runs_from_top_to_bottom_and_shows_what_is_printed(
        page: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
        pytestconfig: pytest.Config) -> None:
    monkeypatch.chdir(tmp_path)
    printed = list(outputs(page, run, capsys))
    if pytestconfig.getoption("--rewrite-pages"):
        rewrite(page, printed)
    other = [f"{page.name}:{number} shows:\n{text}\nand this is printed:\n{now}" for number, text, now in printed
             if not holds(text, now)] if not pytestconfig.getoption("--rewrite-pages") else []
    assert printed and not other, "\n".join(["make pages writes them again", *other])
    pictures = [name for name in PICTURES if name in page.read_text(encoding="utf-8")]
    old = [name for name in pictures if not same_picture(ROOT / "docs" / "images" / name, made(PICTURES[name]))]
    assert not old, f"{', '.join(old)} in docs/images show something else: make pages"


def rewrite(page: Path, printed: list[tuple[int, str, str]]) -> None:
    """Write what was printed into a page, and the pictures that it shows."""
    rows = page.read_text(encoding="utf-8").splitlines()
    for number, text, now in reversed(printed):
        if not holds(text, now):
            new = renewed(text, now)
            assert holds(new, now), f"{page.name}:{number} cannot be written: {new}"
            rows[number - 1:number - 1 + len(text.splitlines())] = new.splitlines()
    page.write_text("\n".join(rows) + "\n", encoding="utf-8")
    for name in [name for name in PICTURES if name in "\n".join(rows)]:
        target, source = ROOT / "docs" / "images" / name, made(PICTURES[name])
        if source.suffix == ".html":
            screenshot(source, target, said(source))
        elif not same_picture(target, source):
            shutil.copyfile(source, target)


def made(pattern: str) -> Path:
    """Return the file of a page's run that a picture is made of."""
    found, = Path().glob(pattern)
    return found


def said(report: Path) -> str:
    """Return what a report said when its picture was taken: its story and costs, without seconds and markup."""
    text = report.read_text(encoding="utf-8")
    parts = re.findall(r'<div class="story">.*?</div>|<p class="receipt">.*?</p>', text, re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>|[\d.]+(?:</b>)? s\b", " ", " ".join(parts))).strip()


def same_picture(kept: Path, source: Path) -> bool:
    """Say whether a kept picture is that of a file: by its pixels; of a report by what the report said then."""
    if not kept.exists():
        return False
    with Image.open(kept) as old:
        if source.suffix == ".html":
            return bytes(old.info.get("comment", b"")).decode() == said(source)
        with Image.open(source) as new:
            if (old.size, getattr(old, "n_frames", 1)) != (new.size, getattr(new, "n_frames", 1)):
                return False
            ends = {0, getattr(old, "n_frames", 1) - 1}
            return all(float(np.abs(_pixels(old, end) - _pixels(new, end)).mean()) < ALIKE for end in ends)


def _pixels(picture: Image.Image, frame: int) -> np.ndarray:
    picture.seek(frame)
    return np.asarray(picture.convert("RGB"), np.float64)


def test_the_first_page_of_the_site_shows_the_readme_s_example() -> None:
    index = [text for language, _, text in texts(ROOT / "docs" / "index.md") if language == "text"]
    assert index and set(index) <= {text for language, _, text in texts(README) if language == "text"}


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_code_that_is_no_program_stands_in_an_example(page: Path) -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*/*.*")))
    for language, number, text in texts(page):
        if language == "toml" or (language == "python" and not is_program(text)):
            assert text in sources, f"{page.name}:{number} is in no file of examples/"
