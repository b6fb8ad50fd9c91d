"""What the command line says when something fails that the user can mend: one line, without a traceback."""

from __future__ import annotations

import errno
import re
from importlib.metadata import PackageNotFoundError, requires

from eqa_nodes.core.errors import EqaError, MissingExtra
from eqa_nodes.core.storage.text import printable

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # which write() tells without a name
_OURS = ("eqa_nodes", "sim_bridge")
_DISTRIBUTIONS = {"PIL": "pillow", "yaml": "pyyaml", "rclpy": "ros-rclpy"}  # that are not called as what they install
_REQUIREMENT = re.compile(r"""([\w.-]+).*?(?:extra == ['"](\w+)['"])?$""")


def in_one_line(error: Exception) -> str | None:
    """Return what to print: of errors that are raised on purpose, a library that is missing, and the file system.

    None for anything else, which is a fault of the program.
    """
    if isinstance(error, EqaError):
        return printable(str(error))
    if isinstance(error, ModuleNotFoundError):
        library = (error.name or "").partition(".")[0]
        return None if not library or library in _OURS else str(MissingExtra(library, _extra_of(library)))
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _NO_ROOM):
        return printable(f"{error.filename or 'what is written'}: {error.strerror}")
    return None


def _extra_of(library: str) -> str:
    """Return the extra of this package that brings a library, "" where it is none of an extra."""
    wanted = _DISTRIBUTIONS.get(library, library).replace("_", "-").lower()
    try:
        lines = requires("eqa-nodes") or []
    except PackageNotFoundError:
        lines = []
    found = [match for line in lines if (match := _REQUIREMENT.match(line)) and match[1].lower() == wanted]
    return next((match[2] for match in found if match[2] and match[2] != "all"), "")
