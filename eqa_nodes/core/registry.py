"""Registries of components by name: built-in ones, those of installed packages, and any class as "module:Class".

A package registers a component with a Python entry point, such as this one of its pyproject.toml:

    [project.entry-points."eqa_nodes.policies"]
    wall_follower = "eqa_wall_follower:WallFollower"

Names are listed without importing a component. A component is imported when it is requested, and describes itself in
its attribute `traits` (core/traits.py).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from eqa_nodes.core.errors import ConfigError, did_you_mean
from eqa_nodes.core.traits import Traits

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T", bound=Traits)
_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


class Registry(MutableMapping[str, Any], Generic[T]):
    """The components of one kind. `registry[name]` imports a component; iterating lists the names and imports nothing.

    Setting an item registers a component in this process alone, which is meant for tests and notebooks.
    """

    def __init__(self, kind: str, group: str, builtin: Mapping[str, str], default: T) -> None:
        """kind: its name in messages; group: group of entry points; builtin: {name: "module:attribute"}; default:
        traits of a component without any."""
        self.kind, self.group, self.builtin = kind, group, dict(builtin)
        self._default, self._added = default, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        """Return a component. Raises ConfigError for an unknown name (lists the known ones), for a name that two
        packages claim, and for a component that cannot be imported (names its package)."""
        if name in self._added:
            return self._added[name]
        self._refuse_shadows(name)
        if name in self.builtin:
            return _imported(self.builtin[name])
        if points := _installed(self.group).get(name):
            return self._loaded(points[0])
        if is_class(name):
            return self._named(name)
        raise ConfigError(self.unknown(name))

    def __setitem__(self, name: str, component: Any) -> None:
        """Register a component in this process."""
        self._added[name] = component

    def __delitem__(self, name: str) -> None:
        """Forget a component that was registered in this process."""
        del self._added[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, sorted."""
        return iter(sorted({*self.builtin, *_installed(self.group), *self._added}))

    def __len__(self) -> int:
        """Return the number of names."""
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        """Return whether a name is listed; "module:Class" is not. Imports nothing."""
        return name in self.builtin or name in self._added or name in _installed(self.group)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a listed component, else the default."""
        if name not in self:
            return default
        return self[name]

    def traits(self, name: str) -> T:
        """Return the traits of a component. Raises ConfigError as `[name]` does, and for traits of another kind."""
        stated = getattr(self[name], "traits", self._default)
        if not isinstance(stated, type(self._default)):
            raise ConfigError(f"{self.kind} {name!r}: its traits are {stated!r}: expected a "
                              f"{type(self._default).__name__}")
        return stated

    def make(self, name: str, *options: Any) -> Any:
        """Return a new component: from its class method `from_options` if it has one, otherwise by calling it.

        Raises the errors of `[name]` and of the component.
        """
        component = self[name]
        return getattr(component, "from_options", component)(*options)

    def check(self, name: str) -> None:
        """Raise ConfigError for a name that is neither listed nor "module:Class". Imports nothing."""
        if name not in self and not is_class(name):
            raise ConfigError(self.unknown(name))

    def unknown(self, name: str) -> str:
        """Return one line about an unknown name: the known ones, with the pip extra of those that lack a library."""
        known = ", ".join(f"{known}{self._missing(known)}" for known in self)
        return (f"unknown {self.kind} {name!r}{did_you_mean(name, self)}: known are {known}; a class of your own is "
                "named as package.module:Class (docs/extending.md)")

    def _missing(self, name: str) -> str:
        """Return the pip command, in brackets, of a built-in component whose library is not installed; else ""."""
        traits = self.traits(name) if name in self.builtin and name not in self._added else Traits()
        absent = traits.library and find_spec(traits.library) is None
        return f" (pip install 'eqa-nodes[{traits.extra}]')" if absent else ""

    def _refuse_shadows(self, name: str) -> None:
        points = _installed(self.group).get(name, ())
        owners = [f"eqa-nodes ({self.builtin[name]})"] if name in self.builtin else []
        owners += [f"{_package(point)} ({point.value})" for point in points]
        if points and len(owners) > 1:
            raise ConfigError(f"the {self.kind} {name!r} is registered by {' and by '.join(owners)}: uninstall one, or "
                              "rename its entry point")

    def _loaded(self, point: EntryPoint) -> Any:
        try:
            return point.load()
        except Exception as error:  # another package may raise anything when it is imported
            raise ConfigError(f"the {self.kind} {point.name!r} of the package {_package(point)} ({point.value}) cannot "
                              f"be imported: {type(error).__name__}: {error}") from error

    def _named(self, name: str) -> Any:
        """Return a class of a module, which may be in the working directory."""
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        try:
            return _imported(name)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"the {self.kind} {name!r} cannot be imported: {error}") from error


def is_class(name: str) -> bool:
    """Return whether a name has the form "module:Class"."""
    return _CLASS.fullmatch(name) is not None


def _imported(target: str) -> Any:
    module, _, attributes = target.partition(":")
    component = import_module(module)
    for attribute in attributes.split("."):
        component = getattr(component, attribute)
    return component


def _installed(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name: several for a name that several packages register."""
    return _scanned(group, tuple(sys.path))


@cache
def _scanned(group: str, path: tuple[str, ...]) -> Mapping[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in _all_installed(path).select(group=group):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


@cache
def _all_installed(path: tuple[str, ...]) -> Any:
    """Return the entry points of all groups: reading those of one reads a file of every installed package too."""
    from importlib.metadata import entry_points

    return entry_points()


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "of an unknown package"
