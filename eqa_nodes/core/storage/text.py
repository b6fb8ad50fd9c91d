"""Text that files and ROS messages can contain, and names of files."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from eqa_nodes.core.errors import StorageError

_LONGEST_NEST = 20  # maximum nesting depth of lists and objects; replies have three levels
# Control characters except tab and line break, marks of the writing direction, lone surrogates.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_HALVES = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LENGTH = 100  # characters; with suffixes and numbers it stays below the limit of file systems
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?<!\.)")
_NUMBER = re.compile(r"\d+", re.ASCII)
_DIGITS = 20  # more than the digits of a stamp in nanoseconds
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # device names on Windows


def printable(text: str) -> str:
    """Return the text with U+FFFD in place of terminal controls and invalid characters."""
    return _STEERING.sub("\ufffd", text)


def stored(text: str) -> str:
    """Return the text with U+FFFD in place of characters that files, requests and ROS messages cannot contain."""
    return _UNSTORABLE.sub("\ufffd", text)


def encodable(text: str) -> str:
    """Return the text with U+FFFD in place of lone surrogates, which UTF-8 cannot contain."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def storable(text: str) -> bool:
    """Return whether files and ROS messages can contain the text unchanged: no NUL, no lone surrogate."""
    return _UNSTORABLE.search(text) is None


def plain(value: object, depth: int = _LONGEST_NEST) -> object:
    """Return a JSON value with all texts made printable. Raises ValueError for too deep nesting."""
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
    """Return a file or folder name for any text: the text itself if it is plain, otherwise its readable part with a
    hash, so that different texts get different names. A returned name maps to itself."""
    if len(name) <= _LENGTH and _PLAIN.fullmatch(name) and not _DEVICES.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", name[:_LENGTH - 20]).strip("-")
    return f"{readable or '_'}-{digest}"


def by_number(name: str) -> tuple[str, str]:
    """Return a sort key for file names by the numbers in them: 2.png before 10.png, and img_2.png before img_10.png.
    """
    return _NUMBER.sub(lambda number: number[0].zfill(_DIGITS), name), name


def shown_name(path: Path) -> str:
    """Return the name of a file or folder, of any bytes, as one line of text, with a hash if it had to be changed."""
    raw = os.fsencode(path.name)
    text = " ".join(printable(raw.decode("utf-8", "replace")).splitlines())
    same = text.encode() == raw
    return text if same else f"{text}~{hashlib.sha256(raw).hexdigest()[:8]}"


def inside(folder: Path, name: str) -> Path:
    """Return the path of a name, which may contain folders, below a folder. Raises StorageError if it is outside."""
    pure = PurePosixPath(name)
    outside = pure.is_absolute() or PureWindowsPath(name).drive or ".." in re.split(r"[/\\]", name)
    if outside or not pure.parts or "\0" in name or any(len(part) > 255 for part in pure.parts):
        raise StorageError(f"{name!r:.80} does not name a file in {folder}: the name must be relative, without '..'")
    return folder / name
