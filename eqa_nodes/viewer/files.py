"""The files of the viewer, for a web server, and as one script for a page that is opened as a file."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from importlib import resources

from eqa_nodes.core.errors import StorageError

_OWN, _VENDORED = "page", "vendor/three"
_BARE = "eqa/"  # prefix of module names in a page that is a file: relative paths do not work in data: URLs
_IMPORT = re.compile(r"""(\bfrom\s*)(["'])(\./[\w.-]+\.js|three)\2""")
_THREE = "three.module.min.js"


@cache
def viewer_files() -> dict[str, bytes]:
    """Return scripts and style by file name. All scripts import one another as "./NAME.js".

    The only change of three.js is the import in its controls, from the name "three" to the file.
    """
    root = resources.files("eqa_nodes.viewer")
    found = {file.name: file.read_bytes() for part in (_OWN, _VENDORED) for file in root.joinpath(part).iterdir()
             if file.name.endswith((".js", ".css"))}
    return {name: _imports(data.decode(), "./").encode() if name.endswith(".js") else data
            for name, data in found.items()}


@cache
def page_script() -> str:
    """Return one classic script with all modules that starts the viewer: a page that is a file may not import files."""
    modules = {name: data.decode() for name, data in viewer_files().items() if name.endswith(".js")}
    imports = {_BARE + name: "data:text/javascript;base64," + base64.b64encode(_imports(text, _BARE).encode()).decode()
               for name, text in sorted(modules.items())}
    return _LOADER.replace("MAP", json.dumps({"imports": imports}))


@cache
def page_style() -> str:
    """Return the style of a scan on a page."""
    return viewer_files()["scan.css"].decode()


_LOADER = """"use strict";
for (const [type, text] of [["importmap", JSON.stringify(MAP)], ["module", 'import "eqa/report.js";']]) {
  document.head.append(Object.assign(document.createElement("script"), { type, textContent: text }));
}
"""


def _imports(text: str, prefix: str) -> str:
    """Return a module with its imports renamed to PREFIX + file. Raises StorageError for an unknown form of import."""
    changed = _IMPORT.sub(
        lambda m: f"{m[1]}{m[2]}{prefix}{_THREE if m[3] == 'three' else m[3].removeprefix('./')}{m[2]}", text)
    code = "\n".join(line for line in changed.splitlines() if not line.lstrip().startswith("*"))  # no comments
    if strange := re.search(rf"\bfrom\s*[\"'](?!{re.escape(prefix)})[^\"']*[\"'];", code):
        raise StorageError(f"a module of the viewer imports something else: {strange[0]}")
    return changed
