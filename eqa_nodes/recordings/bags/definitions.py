"""Message definitions in the form that bags contain: a .msg file followed by those of all types it uses."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

from eqa_nodes.core.errors import ConfigError

_SEPARATOR = "=" * 80
_PRIMITIVE = frozenset(("bool", "byte", "char", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32",
                        "uint32", "int64", "uint64", "string", "wstring"))


def definition(type_name: str) -> str:
    """Return the schema of "package/msg/Name" in MCAP's ros2msg encoding. Raises ConfigError when one is missing.

    Definitions come from share/<package>/msg of the sourced ROS environment, then of this Python's.
    """
    texts: dict[str, str] = {}
    waiting = [type_name]
    while waiting:
        name = waiting.pop(0)
        if name not in texts:
            texts[name] = _text(name)
            waiting += _used(texts[name], name.split("/")[0])
    first, *others = texts
    return texts[first] + "".join(f"\n{_SEPARATOR}\nMSG: {_short(name)}\n{texts[name]}" for name in others)


@cache
def type_hash(type_name: str, text: str) -> str:
    """Return the RIHS01 hash of a type whose whole definition is `text`: rosbag2 checks it on playing."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(text, type_name))
    return store.hash_rihs01(type_name)


def _text(name: str) -> str:
    if not re.fullmatch(r"\w+/msg/\w+", name):
        raise ConfigError(f"{name!r:.80} is not the name of a message type such as std_msgs/msg/String")
    package, _, message = name.split("/")
    prefixes = [*filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)), sys.prefix]
    for prefix in prefixes:
        path = Path(prefix, "share", package, "msg", f"{message}.msg")
        if path.is_file():
            return path.read_text(encoding="utf-8").rstrip("\n") + "\n"
    raise ConfigError(f"no definition of message type {name} in share/{package}/msg of {', '.join(prefixes)}: "
                      "install or build that package, or source the ROS environment that has it")


def _used(text: str, package: str) -> list[str]:
    """Return the message types that the fields of a .msg text name, in order."""
    found = []
    for line in text.splitlines():
        match = re.match(r"([A-Za-z][\w/]*)", line)
        if match and match[1] not in _PRIMITIVE:
            home, _, name = match[1].rpartition("/")
            found.append(f"{home.split('/')[0] or ('std_msgs' if name == 'Header' else package)}/msg/{name}")
    return found


def _short(name: str) -> str:
    """Return "package/Name"."""
    package, _, message = name.split("/")
    return f"{package}/{message}"
