"""The documentation site as `make docs` builds it: without warnings, complete, and without anything from a network."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.fixtures.paths import ROOT

for library in ("sphinx", "myst_parser", "furo", "sphinx_argparse_cli", "sphinx_copybutton"):
    pytest.importorskip(library, reason=f"{library} is not installed: pip install 'eqa-nodes[docs]'")

pytestmark = pytest.mark.timeout(1500)  # whichever test is first builds the site
LOADING = {("script", "src"), ("img", "src"), ("iframe", "src"), ("video", "src"), ("source", "src"), ("link", "href")}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    recipe = re.search(r"^docs:.*\n\t@\$\(ENTER\) sphinx-build (.*) --doctree-dir \S+ docs \S+$",
                       (ROOT / "Makefile").read_text(), re.M)
    assert recipe and "--fail-on-warning" in recipe[1].split(), "make docs makes an error of a warning"
    command = [sys.executable, "-m", "sphinx", *recipe[1].split(), "--doctree-dir", str(out / "doctrees"), "docs",
               str(out / "html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    return out / "html"


class Loaded(HTMLParser):
    """Collects what a page loads, and the names of its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag loads."""
        for name, value in attrs:
            if (tag, name) in LOADING:
                self.loaded.append(value or "")
            elif name == "id" and value:
                self.ids.add(value)


def read(page: Path) -> Loaded:
    parser = Loaded()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def test_every_page_is_built_and_can_be_found_from_the_first(site: Path) -> None:
    sources = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    assert len(sources) > 40
    first = (site / "index.html").read_text(encoding="utf-8")
    for page in sources:
        assert (site / page.with_suffix(".html")).is_file()
        assert str(page) == "index" or f'href="{page}.html"' in first, f"{page} is not in the navigation"


def test_no_page_loads_anything_from_a_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        for loaded in read(page).loaded:
            assert not re.match(r"(https?:)?//", loaded), f"{page.name} loads {loaded}"
            file = (page.parent / loaded.partition("?")[0].partition("#")[0]).resolve()
            assert loaded.startswith("data:") or file.exists(), f"{page.name} lacks {loaded}"
    for sheet in site.rglob("*.css"):
        outside = re.findall(r"(?:@import\s*|url\()[\"' ]*(?:https?:)?//[^\"')]*", sheet.read_text(encoding="utf-8"))
        assert not outside, f"{sheet.name} loads {outside}"


@pytest.mark.parametrize(("page", "name"), [
    ("library", "eqa_nodes.library.places.scene"), ("library", "eqa_nodes.runners.function.Environment"),
    ("protocols", "eqa_nodes.core.protocols.Policy.decide"), ("protocols", "sim_bridge.simulator.Simulator.act"),
    ("protocols", "eqa_nodes.core.model.Backend.generate"), ("protocols", "eqa_nodes.core.protocols.Answerer"),
    ("types", "eqa_nodes.core.types.floor.Decision"), ("metrics", "eqa_nodes.bench.metrics.formulas.spl"),
])
def test_the_reference_has_what_people_look_for(site: Path, page: str, name: str) -> None:
    assert name in read(site / "api" / f"{page}.html").ids


def test_the_search_knows_words_of_pages_and_names(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for word in ("turtlebot", "express_c_star", "memori", "wall_follow"):
        assert word in index, word
