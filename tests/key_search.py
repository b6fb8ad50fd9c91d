"""A key that can be recognised, servers that name it, and the search for it in everything that was written."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mcap.reader import make_reader

from tests.vlm_server import Reply, completion

KEY = "sk-live/RECOGNISE+0123456789abcdef-ME"
FORMS = (KEY[:14].encode(), KEY.encode("utf-16-le"), base64.b64encode(KEY.encode())[:40])  # a part is too much as well
VIEWS = '{"views"'


def refusing(request: dict[str, Any]) -> Reply:
    """Refuse, and name the key where a message may be cut off in its middle."""
    return Reply(("." * 190 + f" wrong key {KEY}, {KEY}").encode(), 401)


def failing(request: dict[str, Any]) -> Reply:
    """Report an error in a whole reply, as some gateways do."""
    return Reply(json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode())


def rubbish(request: dict[str, Any]) -> Reply:
    """Reply with a page that names the key."""
    return Reply(f"<html>{KEY}</html>".encode(), content_type="text/html")


def telling(request: dict[str, Any]) -> Reply:
    """Answer well-formed, with the key in every text."""
    prompt = str(request["messages"][0]["content"])
    parts: list[Any] = next((m["content"] for m in request["messages"] if isinstance(m["content"], list)), [])
    if VIEWS in prompt:
        texts = [part["text"] for part in parts if part.get("text", "").startswith("Picture")]
        return completion(json.dumps({"views": [_entry(i + 1, text) for i, text in enumerate(texts)]}))
    if '{"regions"' in prompt:
        return completion('{"regions": {"kitchen": 0.9}}')
    return completion(json.dumps({"answer": f"the key is {KEY}", "confidence": 0.9, "why": KEY, "abstain": False,
                                  "images": [1] if parts else []}))


def _entry(number: int, heading: str) -> dict[str, Any]:
    letters = heading.partition("letters ")[2].split(", ") if "letters " in heading else []
    letters = [letter[0] for letter in letters if len(letter.strip()) == 1]
    return {"image": number, "relevance": 0.9, "enough": 0.9, "worth": 0.5, "places": dict.fromkeys(letters, 1.0),
            "target": "", "region": KEY, "says": KEY, "note": KEY}


SERVERS: dict[str, Callable[[dict[str, Any]], Reply]] = {
    "refusing": refusing, "failing": failing, "rubbish": rubbish, "telling": telling}


def contents(path: Path) -> Iterator[bytes]:
    """Yield what a file holds: as it is, and unpacked where it is packed."""
    yield path.read_bytes()
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    elif path.suffix == ".mcap":
        with path.open("rb") as stream:
            yield from (message.data for _, _, message in make_reader(stream).iter_messages())


def leaks(folder: Path) -> list[Path]:
    """Return the files below a folder that hold the key, or the beginning of it, in some form."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file()
            and any(form in data for data in contents(path) for form in FORMS)]


def shows(text: str) -> bool:
    """Say whether an output shows the key or the beginning of it."""
    return any(form in text.encode() for form in FORMS)
