"""How Sphinx builds the documentation: `make docs` writes it to build/site. Its pages load nothing from a network."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from eqa_nodes import __version__ as release  # noqa: E402
from eqa_nodes.bench.reference.published import published_page  # noqa: E402
from eqa_nodes.cli.graph import parameters_page  # noqa: E402

project = "eqa_nodes"
author = "The eqa_nodes authors"
project_copyright = f"{author}, Apache-2.0"
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_argparse_cli", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
default_role = "code"  # docstrings have single backquotes

add_module_names = False
autodoc_default_options = {"show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = project
html_favicon = str(ROOT / "eqa_nodes" / "console" / "page" / "icon.svg")
html_logo = html_favicon
html_static_path = ["_static"]
html_css_files = ["site.css"]
copybutton_exclude = ".linenos, .gp, .go, .c1"  # comments behind a command

TOP = {"contributing": "CONTRIBUTING.md", "changes": "CHANGELOG.md"}  # pages whose text is a file of the top folder
PRINTED = {"parameters": parameters_page, "published": published_page}  # pages that the code prints


def take_top_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Put a file of the top folder in the place of its page, with links that hold inside docs/."""
    if page not in TOP:
        return
    file = ROOT / TOP[page]
    app.env.note_dependency(file)
    text = file.read_text(encoding="utf-8").replace("](docs/", "](")
    for name, other in TOP.items():
        text = text.replace(f"]({other}", f"]({name}.md")
    source[0] = text


def print_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Put what the code prints in the place of a page."""
    if page in PRINTED:
        source[0] = PRINTED[page]()


def add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """Make the navigation of the site from the list of all pages in index.md, which code hosts show as it is."""
    if page != "index":
        return
    for caption, row in re.findall(r"^- \*\*(.+?):\*\*((?:.+\n)(?:  .+\n)*)", source[0], re.M):
        pages = ["self" if name == page else name for name in re.findall(r"\]\((\S+)\.md\)", row)]
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def leave_out_arguments(app: Sphinx, kind: str, name: str, described: object, options: object, arguments: str | None,
                        returned: str | None) -> tuple[str, None] | None:
    """Show protocols without arguments: nobody makes one."""
    return ("", None) if getattr(described, "_is_protocol", False) else None


def setup(app: Sphinx) -> None:
    """Connect what Sphinx has no setting for."""
    app.connect("source-read", take_top_page)
    app.connect("source-read", print_page)
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-signature", leave_out_arguments)
