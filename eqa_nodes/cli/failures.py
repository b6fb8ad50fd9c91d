"""Failures that a user can correct are printed as one line, without a traceback."""

from __future__ import annotations

import errno
import re
from importlib.metadata import PackageNotFoundError, requires

from eqa_nodes.core.errors import EqaError, MissingExtra
from eqa_nodes.core.storage.text import printable

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # write() reports them without a file name
_OURS = ("eqa_nodes", "sim_bridge")
_DISTRIBUTIONS = {"PIL": "pillow", "yaml": "pyyaml", "rclpy": "ros-rclpy"}  # whose name differs from the module's
_REQUIREMENT = re.compile(r"""([\w.-]+).*?(?:extra == ['"](\w+)['"])?$""")


def in_one_line(error: Exception) -> str | None:
    """Return the message of a named error, a missing library or a failure of the file system.

    None for anything else, which is a fault of the program.
    """
    if isinstance(error, EqaError):
        return printable(str(error))
    if isinstance(error, ModuleNotFoundError):
        library = (error.name or "").partition(".")[0]
        return None if not library or library in _OURS else str(MissingExtra(library, _extra_of(library)))
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _NO_ROOM):
        return printable(f"{error.filename or 'output'}: {error.strerror}")
    return None


def _extra_of(library: str) -> str:
    """Return the extra of this package that installs a library, "" if no extra does."""
    wanted = _DISTRIBUTIONS.get(library, library).replace("_", "-").lower()
    try:
        lines = requires("eqa-nodes") or []
    except PackageNotFoundError:
        lines = []
    found = [match for line in lines if (match := _REQUIREMENT.match(line)) and match[1].lower() == wanted]
    return next((match[2] for match in found if match[2] and match[2] != "all"), "")
