"""Reads pickles as data: it imports nothing and calls nothing, so a pickle cannot execute code.

A pickle is a program for a stack machine. The machine here has the instructions that plain values need and takes an
object for its class's name, its arguments and its state, to be interpreted by who asked. Python's own unpickler will
not do even with restricted classes: some of its instructions allocate what a number in the file says.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Collection
from typing import Any

from eqa_nodes.core.errors import StorageError

_MALFORMED = (ValueError, TypeError, LookupError, OverflowError)
_MARK = object()


class Named:
    """A class or function that a pickle names."""

    def __init__(self, name: str) -> None:
        self.name = name


class PickledCall:
    """What calling a class would make: its name, the arguments, and the state that it would be given."""

    def __init__(self, name: str, arguments: tuple[Any, ...]) -> None:
        self.name, self.arguments, self.state = name, arguments, None


def load_plain(data: bytes, known: Collection[str], what: object) -> Any:
    """Return the value of a pickle: plain values, lists, tuples and dicts of them, and Named and PickledCall.

    known: the classes that it may name, as "module.name". Values may contain themselves, and contain one another so
    often that walking over all takes for ever. Raises StorageError naming `what`, and a class that is not known.
    """
    try:
        return _Machine(known).run(data)
    except _MALFORMED as error:
        raise StorageError(f"{what} cannot be read as plain values: {error}") from error
    except StorageError as error:
        raise StorageError(f"{what} is refused: {error}") from error


class _Machine:
    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(data):
            name = opcode.name
            if name == "STOP":
                return self.pop()
            if name in _PUSHES:
                self.stack.append(argument)
            elif name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name]())
            elif name in _STEPS:
                _STEPS[name](self, argument)
            elif name not in ("PROTO", "FRAME"):
                raise StorageError(f"it has the instruction {name}, which plain values do not need")
        raise ValueError("it has no end")

    def pop(self) -> Any:
        """Return the top value."""
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("a mark stands where a value is wanted")
        return value

    def to_mark(self) -> list[Any]:
        """Return what was pushed since the last mark."""
        values = []
        while (value := self.stack.pop()) is not _MARK:
            values.append(value)
        return values[::-1]

    def put_tuple(self, n: int) -> None:
        self.stack.append(tuple([self.pop() for _ in range(n)][::-1]))

    def extend(self, values: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise TypeError("it appends to a value that is not a list")
        self.stack[-1].extend(values)

    def put_items(self, values: list[Any]) -> None:
        if type(self.stack[-1]) is not dict or not all(type(key) in (str, int) for key in values[::2]):
            raise TypeError("it maps what is neither text nor a number")  # to hash nested tuples can take for ever
        self.stack[-1].update(zip(values[::2], values[1::2], strict=True))

    def put_item(self, _: Any) -> None:
        value, key = self.pop(), self.pop()
        self.put_items([key, value])

    def put_dict(self, _: Any) -> None:
        values = self.to_mark()
        self.stack.append({})
        self.put_items(values)

    def memoize(self, index: int | None) -> None:
        self.memo[len(self.memo) if index is None else index] = self.stack[-1]

    def refer(self, module: Any, attribute: Any) -> None:
        name = f"{module}.{attribute}" if type(module) is type(attribute) is str else "what is no text"
        if name not in self._known:
            raise StorageError(f"it names {name[:200]}, which is not built")
        self.stack.append(Named(name))

    def refer_stack(self, _: Any) -> None:
        attribute, module = self.pop(), self.pop()
        self.refer(module, attribute)

    def make(self, _: Any) -> None:
        arguments, named = self.pop(), self.pop()
        if type(named) is not Named or type(arguments) is not tuple:
            raise TypeError("it makes an object of a value that is not a class")
        self.stack.append(PickledCall(named.name, arguments))

    def build(self, _: Any) -> None:
        state = self.pop()
        if type(self.stack[-1]) is not PickledCall:
            raise TypeError("it gives a state to a value that is not an object")
        self.stack[-1].state = state


_PUSHES = frozenset((
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE", "SHORT_BINUNICODE",
    "BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"))
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict, "MARK": lambda: _MARK}
_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "TUPLE": lambda m, _: m.stack.append(tuple(m.to_mark())), "TUPLE1": lambda m, _: m.put_tuple(1),
    "TUPLE2": lambda m, _: m.put_tuple(2), "TUPLE3": lambda m, _: m.put_tuple(3),
    "LIST": lambda m, _: m.stack.append(m.to_mark()), "APPEND": lambda m, _: m.extend([m.pop()]),
    "APPENDS": lambda m, _: m.extend(m.to_mark()), "DICT": _Machine.put_dict, "SETITEM": _Machine.put_item,
    "SETITEMS": lambda m, _: m.put_items(m.to_mark()), "MEMOIZE": _Machine.memoize, "PUT": _Machine.memoize,
    "BINPUT": _Machine.memoize, "LONG_BINPUT": _Machine.memoize, "GET": lambda m, i: m.stack.append(m.memo[i]),
    "BINGET": lambda m, i: m.stack.append(m.memo[i]), "LONG_BINGET": lambda m, i: m.stack.append(m.memo[i]),
    "GLOBAL": lambda m, name: m.refer(*name.split(" ", 1)), "STACK_GLOBAL": _Machine.refer_stack,
    "REDUCE": _Machine.make, "NEWOBJ": _Machine.make, "BUILD": _Machine.build}
