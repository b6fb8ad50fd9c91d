"""Keeps API keys out of everything that is shown or written."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

from eqa_nodes.core.errors import ConfigError

_SHORTEST = 6  # characters: "none" and "test" stand in for a key where a server wants none, and are words of replies


def checked_key(key: str) -> str:
    """Return a key without outer blanks (a file's line break). Raises ConfigError, which does not show it, for one that
    no header can hold: the HTTP library's own error would."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("the API key contains characters that keys do not have: set EQA_VLM_API_KEY to the key alone")
    return key


def check_url(url: str) -> None:
    """Raise ConfigError for an invalid base URL and for one with a password: URLs are shown and recorded."""
    if "@" in url:  # anywhere: a password may hold a slash
        raise ConfigError("the base URL holds a user name or a password, and URLs are recorded: take it out, and set "
                          "EQA_VLM_API_KEY")
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"base URL {url!r} must begin with http:// or https://: set EQA_VLM_BASE_URL")
    try:
        urlsplit(url).port  # noqa: B018 - raises for what is none
    except ValueError as error:
        raise ConfigError(f"base URL {url!r} cannot be used ({error}): set EQA_VLM_BASE_URL") from error


def usual_url(url: str) -> str:
    """Return a base URL in the form that most servers have: without the name of a method, and with a version."""
    base = re.sub(r"(?:/chat)?(?:/completions)?/*$", "", url)
    return base if re.search(r"/v\d|/openai\b", base) else f"{base.removesuffix('/api')}/v1"


def hidden(text: str, key: str) -> str:
    """Return a server's text without the key, in whatever way it is written: some repeat it when they refuse it."""
    return text if len(key) < _SHORTEST else _written(key).sub("...", text)


@lru_cache(maxsize=8)
def _written(key: str) -> re.Pattern[str]:
    """Return what finds a key as it is, and in the escapes of JSON (in JSON within JSON too), HTML and URLs."""
    return re.compile("".join(
        rf"(?:{re.escape(c)}|\\(?:\\)*(?:{re.escape(c)}|u00{_hex(c)})|%{_hex(c)}|&#0*(?:{ord(c)}|[xX]0*{_hex(c)});)"
        for c in key))


def _hex(c: str) -> str:
    """Return an expression for the two hexadecimal digits of an ASCII character."""
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(c):02x}")
