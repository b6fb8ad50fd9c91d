"""Text that files and ROS can hold, and names of files."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from eqa_nodes.core.errors import StorageError

_LONGEST_NEST = 20  # of lists and objects in each other; replies have three
# Control characters but tab and line break, marks that turn the direction of writing, halves of surrogate pairs.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_HALVES = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LENGTH = 100  # characters; with suffixes and numbers it stays below what file systems take
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?<!\.)")
_NUMBER = re.compile(r"\d+", re.ASCII)
_DIGITS = 20  # more than a stamp in nanoseconds has
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # are no files on Windows


def printable(text: str) -> str:
    """Return the text with U+FFFD in place of terminal controls and invalid characters."""
    return _STEERING.sub("\ufffd", text)


def stored(text: str) -> str:
    """Return the text with U+FFFD in place of characters that files, requests and ROS messages cannot contain."""
    return _UNSTORABLE.sub("\ufffd", text)


def encodable(text: str) -> str:
    """Return the text with U+FFFD in the place of each half of a surrogate pair, which UTF-8 cannot hold."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def storable(text: str) -> bool:
    """Return whether files and ROS messages can hold the text whole: no NUL, no half of a surrogate pair."""
    return _UNSTORABLE.search(text) is None


def plain(value: object, depth: int = _LONGEST_NEST) -> object:
    """Return a JSON value with all its texts printable. Raises ValueError for too deep nesting."""
    if isinstance(value, str):
        return printable(value)
    if not isinstance(value, (dict, list)):
        return value
    if not depth:
        raise ValueError("the JSON is nested too deep")
    if isinstance(value, dict):
        return {printable(key): plain(item, depth - 1) for key, item in value.items()}
    return [plain(item, depth - 1) for item in value]


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
