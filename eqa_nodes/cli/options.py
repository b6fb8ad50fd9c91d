"""Options of a verb, declared once as the fields of a dataclass: they give the parser, its help, and the typed value.

    @dataclass(frozen=True, kw_only=True)
    class Greet:
        "Greets somebody."

        name: str = argument("who is greeted")
        times: int = option(1, "how often")

        def run(self) -> int: ...

`add_options(parser, Greet)` declares `name` and `--times`; `typed(Greet, parser.parse_args())` is a Greet. Nothing
beyond this module and the table of verbs sees an argparse.Namespace.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple, Protocol, TypeVar

from eqa_nodes.core.errors import did_you_mean

FOLDER, FILE = "folder", "file"  # kinds of paths that an option writes
_KEY = "option"
_UNSHOWN = (None, False, "", (), 0, 0.0)  # defaults that the help does not append to its text
T = TypeVar("T")


class Command(Protocol):
    """The options of one verb, and its action."""

    def run(self) -> int:
        """Execute it and return the exit code."""


class Declared(NamedTuple):
    """Declaration of a field. names: names of the option, () = derived from the field, None = a positional argument.

    writes: FOLDER or FILE if the path is written. alone: options with the same word exclude each other.
    rare: only --help-all lists it. complete: returns the words for the shell's completion.
    """

    help: str
    names: tuple[str, ...] | None = ()
    writes: str = ""
    alone: str = ""
    rare: bool = False
    complete: Callable[[], Iterable[str]] | None = None
    keywords: Mapping[str, Any] = {}


class Group(NamedTuple):
    """Declaration of a field that holds a dataclass of options. title: heading in the help, "" = none."""

    title: str
    prefix: str = ""


def argument(help: str, **keywords: Any) -> Any:  # noqa: A002
    """Declare a positional argument; keywords are those of `add_argument`, and writes and complete of Declared."""
    default = keywords.pop("default", dataclasses.MISSING)
    return _field(default, Declared(help, None, keywords.pop("writes", ""), complete=keywords.pop("complete", None),
                                    keywords=keywords))


def option(default: Any, help: str, *names: str, **keywords: Any) -> Any:  # noqa: A002
    """Declare an option with its default; keywords are those of `argument`, and alone and rare of Declared.

    Raises TypeError for a bool, which needs a flag.
    """
    if isinstance(default, bool):
        raise TypeError(f"an option that is {default} takes no value: declare it as a flag")
    own = {name: keywords.pop(name) for name in ("writes", "alone", "rare", "complete") if name in keywords}
    return _field(default, Declared(help, names, keywords=keywords, **own))


def flag(help: str, *names: str, default: bool = False, alone: str = "", rare: bool = False) -> Any:  # noqa: A002
    """Declare an option without a value, which inverts its default."""
    return _field(default, Declared(help, names, alone=alone, rare=rare, keywords={
        "action": "store_false" if default else "store_true"}))


def group(cls: type[Any], title: str = "", prefix: str = "") -> Any:
    """Declare the options of another dataclass under a heading; prefix: "judge" makes --model --judge-model."""
    return dataclasses.field(default_factory=cls, metadata={_KEY: Group(title, prefix)})


def _field(default: Any, declared: Declared) -> Any:
    return dataclasses.field(default=default, metadata={_KEY: declared})


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest a known option for an unknown one."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an unknown option that resembles a known one is an error that names the known one."""
        known, left = super().parse_known_args(args, namespace)
        options = [name for action in self._actions for name in action.option_strings]
        for word in (word.partition("=")[0] for word in left):
            if word.startswith("--") and (meant := did_you_mean(word, options)):
                self.error(f"unknown option {word}{meant}")
        return known, left


def list_all(parser: argparse.ArgumentParser) -> None:
    """Let the help of a parser list the rare options too."""
    for action in parser._actions:
        action.help = getattr(action, "full_help", action.help)


class _HelpAll(argparse.Action):
    """Prints the help with the rare options too, and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        list_all(parser)
        parser.print_help()
        parser.exit()


def add_options(parser: argparse.ArgumentParser, cls: type[Any]) -> None:
    """Declare all options of a dataclass. The help lists those that are not rare, and --help-all lists all."""
    _add(parser, cls, "", "")
    if rare := sum(hasattr(action, "full_help") for action in parser._actions):
        parser.add_argument("--help-all", action=_HelpAll, nargs=0, help=f"show {rare} more options too, and exit")


def usage_of(parser: argparse.ArgumentParser) -> str:
    """Return the usage as one line; the help below lists the options."""
    words = (str(action.metavar or action.dest) + "..." * (action.nargs == "+") for action in parser._actions
             if not action.option_strings)
    return " ".join([parser.prog, "[options]", *words])


def typed(cls: type[T], namespace: argparse.Namespace, path: str = "") -> T:
    """Return the typed value of the parsed words."""
    values = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if isinstance(field.metadata[_KEY], Group):
            values[field.name] = typed(_hints(cls)[field.name], namespace, f"{path}{field.name}.")
        else:
            value = getattr(namespace, path + field.name)
            values[field.name] = tuple(value) if isinstance(value, list) else value
    return cls(**values)


def written_paths(command: Any) -> Iterator[tuple[str, Path]]:
    """Yield every path that the command writes, with FOLDER or FILE."""
    for field in dataclasses.fields(command):
        declared, value = field.metadata.get(_KEY), getattr(command, field.name)
        if isinstance(declared, Group):
            yield from written_paths(value)
        elif isinstance(declared, Declared) and declared.writes and value is not None:
            yield declared.writes, value


def _add(container: Any, cls: type[Any], path: str, prefix: str) -> None:
    """Add the options to a parser or a group of one."""
    together: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        declared, hint = field.metadata[_KEY], _hints(cls)[field.name]
        if isinstance(declared, Group):
            into = container.add_argument_group(declared.title) if declared.title else container
            _add(into, hint, f"{path}{field.name}.", declared.prefix or prefix)
            continue
        into = container
        if declared.alone:
            into = together.setdefault(declared.alone, None) or container.add_mutually_exclusive_group()
            together[declared.alone] = into
        keywords = {**_of_type(hint, declared), "help": _help(field, declared)}
        if declared.names is None:
            added = into.add_argument(path + field.name, **{**_metavar(field.name, keywords), **keywords})
        else:
            names = declared.names or (f"--{prefix}-{field.name}" if prefix else f"--{field.name}",)
            names = tuple(name.replace("_", "-") for name in names)
            added = into.add_argument(*names, dest=path + field.name, default=_plain(field.default),
                                      **{**_metavar(field.name.upper(), keywords), **keywords})
            if declared.rare:
                added.full_help, added.help = added.help, argparse.SUPPRESS
        if declared.complete is not None:
            added.completer = _Words(declared.complete)


class _Collect(argparse.Action):
    """Collects the words of a repeated option. Unlike "extend", the first words replace the default."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
                 option_string: str | None = None) -> None:
        known = getattr(namespace, self.dest)
        setattr(namespace, self.dest, list(values) if known is self.default else [*known, *values])


def listed(table: str) -> Callable[[], Iterable[str]]:
    """Return a function that lists the names of a table of components, or of ROBOTS."""
    def names() -> Iterable[str]:
        from eqa_nodes.core import components
        from sim_bridge.robots import ROBOTS

        found: Iterable[str] = {"ROBOTS": ROBOTS, **vars(components)}[table]
        return found

    return names


class _Words:
    """A completer for argcomplete."""

    def __init__(self, words: Callable[[], Iterable[str]]) -> None:
        self._words = words

    def __call__(self, prefix: str, **_: object) -> list[str]:
        return [word for word in self._words() if word.startswith(prefix)]


def _of_type(hint: Any, declared: Declared) -> dict[str, Any]:
    """Return the keywords that follow from a field's type: how words are converted, and how many there may be."""
    keywords = dict(declared.keywords)
    if "type" in keywords or "action" in keywords:
        return keywords
    if typing.get_origin(hint) in (typing.Union, UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not NoneType)
    if typing.get_origin(hint) is tuple:
        many = {"nargs": "+", "action": _Collect} if declared.names is not None else {}
        return {"type": typing.get_args(hint)[0], **many, **keywords}
    return {"type": hint, **keywords}


def _help(field: dataclasses.Field[Any], declared: Declared) -> str:
    """Return the help with the default, unless the text contains it."""
    text, default = declared.help.replace("%", "%%"), field.default
    if default is dataclasses.MISSING or "(default" in text or default in _UNSHOWN or default is True:
        return text
    words = ",".join(map(str, default)) if isinstance(default, tuple) else f"{default:g}" if isinstance(
        default, float) else str(default)
    return f"{text} (default: {words})"


def _metavar(name: str, keywords: Mapping[str, Any]) -> dict[str, str]:
    """Return the placeholder of the value in the help, instead of the dotted name."""
    valued = "choices" not in keywords and keywords.get("action") not in ("store_true", "store_false")
    return {"metavar": name} if valued else {}


def _plain(default: Any) -> Any:
    """Return a tuple as a list, which argparse needs for options of several words."""
    return list(default) if isinstance(default, tuple) else default


def _hints(cls: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(cls)


NONE = "none"
UNLIMITED = 0  # value that stands for "no limit"


def whole(text: str) -> int:
    """Return a whole number from 1 on. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


def from_zero(text: str) -> int:
    """Return a whole number from 0 on, where 0 means all. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, got {text!r}")
    return int(text)


def whole_or_none(text: str) -> int:
    """Return a whole number from 1 on, or UNLIMITED for "none". Raises ArgumentTypeError."""
    if text == NONE:
        return UNLIMITED
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) < 2 ** 32):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, or {NONE}, got {text!r}")
    return int(text)


def measure_or_none(text: str) -> float:
    """Return a finite number above 0, or UNLIMITED for "none". Raises ArgumentTypeError."""
    if text == NONE:
        return UNLIMITED
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"expected a number above 0, or {NONE}, got {text!r}")
    return value


def run_folder(chosen: Path | None) -> Path:
    """Return the chosen run directory, else runs/<time>. Raises StorageError if it cannot be written to."""
    from eqa_nodes.core.storage.checks import check_folder

    folder = chosen or Path("runs") / time.strftime("%Y%m%d-%H%M%S")
    check_folder(folder)
    return folder


def check_outputs(command: Any) -> None:
    """Check every path that a command writes. Raises StorageError for the first that cannot be written to."""
    from eqa_nodes.core.storage.checks import check_file, check_folder

    for kind, path in written_paths(command):
        (check_folder if kind == FOLDER else check_file)(path)
