"""Safe paths from untrusted names: ids of questions and episodes, histories of data sets, files of a run; their order.

The only place that decides what such a name may be; tests/unit/core/storage/test_names.py holds all users to it.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.text import printable

_LENGTH = 100  # characters; with suffixes and numbers it stays below what file systems take
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?<!\.)")
_NUMBER = re.compile(r"\d+", re.ASCII)
_DIGITS = 20  # more than a stamp in nanoseconds has
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # are no files on Windows


def file_name(name: str) -> str:
    """Return a name of one file or folder for any text: the text itself where that is plain, else what is readable of
    it with a hash, so that different texts stay different. What was returned once is returned as it is."""
    if len(name) <= _LENGTH and _PLAIN.fullmatch(name) and not _DEVICES.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", name[:_LENGTH - 20]).strip("-")
    return f"{readable or '_'}-{digest}"


def by_number(name: str) -> tuple[str, str]:
    """Return what sorts file names by the numbers in them: 2.png comes before 10.png, and img_2.png before img_10.png.
    """
    return _NUMBER.sub(lambda number: number[0].zfill(_DIGITS), name), name


def shown_name(path: Path) -> str:
    """Return the name of a file or folder of whatever bytes as one line of text; one that had to change has a hash."""
    raw = os.fsencode(path.name)
    text = " ".join(printable(raw.decode("utf-8", "replace")).splitlines())
    same = text.encode() == raw
    return text if same else f"{text}~{hashlib.sha256(raw).hexdigest()[:8]}"


def inside(folder: Path, name: str) -> Path:
    """Return the path of a name, which may have folders in it, below a folder. Raises StorageError for one outside."""
    pure = PurePosixPath(name)
    outside = pure.is_absolute() or PureWindowsPath(name).drive or ".." in re.split(r"[/\\]", name)
    if outside or not pure.parts or "\0" in name or any(len(part) > 255 for part in pure.parts):
        raise StorageError(f"{name!r:.80} is no name of something in {folder}: it must be relative, without '..'")
    return folder / name
