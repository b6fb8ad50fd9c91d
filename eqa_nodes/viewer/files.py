"""The files of the viewer, for a server that serves them, and as one script for a page that is a file."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from importlib import resources

from eqa_nodes.core.errors import StorageError

_OWN, _VENDORED = "page", "vendor/three"
_BARE = "eqa/"  # how a page that is a file calls its modules: names, because a data: address has no folder
_IMPORT = re.compile(r"""(\bfrom\s*)(["'])(\./[\w.-]+\.js|three)\2""")
_THREE = "three.module.min.js"


@cache
def viewer_files() -> dict[str, bytes]:
    """Return scripts and style by file name. All scripts import one another as "./NAME.js".

    Of three.js only the import in its controls is changed, from the name "three" to the file.
    """
    root = resources.files("eqa_nodes.viewer")
    found = {file.name: file.read_bytes() for part in (_OWN, _VENDORED) for file in root.joinpath(part).iterdir()
             if file.name.endswith((".js", ".css"))}
    return {name: _imports(data.decode(), "./").encode() if name.endswith(".js") else data
            for name, data in found.items()}


@cache
def page_script() -> str:
    """Return one classic script that holds every module and begins: a page that is a file may not import others."""
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
    """Return a module with its imports named PREFIX + file. Raises StorageError where one is not understood."""
    changed = _IMPORT.sub(
        lambda m: f"{m[1]}{m[2]}{prefix}{_THREE if m[3] == 'three' else m[3].removeprefix('./')}{m[2]}", text)
    code = "\n".join(line for line in changed.splitlines() if not line.lstrip().startswith("*"))  # no comments
    if strange := re.search(rf"\bfrom\s*[\"'](?!{re.escape(prefix)})[^\"']*[\"'];", code):
        raise StorageError(f"a module of the viewer imports something else: {strange[0]}")
    return changed
