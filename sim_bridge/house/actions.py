"""What a robot can do in a house, read from actions.yaml: text, requirements, effect and reply of each action.

The file is checked when it is read: an unknown field, a value of a wrong type, an unknown kind, and a requirement that
no action can ever meet are refused with file, line and field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn

import yaml

from eqa_nodes.core.errors import ConfigError, unknown
from sim_bridge.house.catalogue import KINDS

PATH = Path(__file__).with_name("actions.yaml")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, where PyYAML has it, takes a tenth of the time
PERSON, LIFTABLE, SURFACE, OPENS, SWITCHES = GROUPS = ("person", "liftable", "surface", "opens", "switches")
NOTHING, ANYTHING, OBJECT, WANTED = HANDS = ("nothing", "anything", "object", "wanted")
TAKE, PUT, LOSE, GIVE = HAND_EFFECTS = ("take", "put", "lose", "give")
HEAR, TELL, FOLLOW, STAY, WAKE, POINT = PERSON_EFFECTS = ("hear", "tell", "follow", "stay", "wake", "point")
AWAKE, ASLEEP, FOLLOWING = PERSON_STATES = ("awake", "asleep", "following")
ON, OFF = "on", "off"  # of the group `switches`: stand for the words of each kind
SECTIONS = ("actions", "tools", "conditions", "marks")
_FIELDS = {"text": str, "object": list, "state": list, "held": list, "held_state": list, "near": list,
           "near_state": list, "effect": dict, "reply": str, "unfit": str, "unfit_kind": dict}
_EFFECTS = {"state": str, "held_state": str, "hand": str, "appears": str, "disappears": bool, "moves": float,
            "person": str}
_MARKS = ("tint", "spots", "disc")


@dataclass(frozen=True)
class ActionRule:
    """One action; see the head of actions.yaml. Empty tuples and texts: no requirement, no effect."""

    name: str
    text: str
    object: tuple[str, ...]
    state: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    held_state: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    near_state: tuple[str, ...] = ()
    becomes: str = ""
    held_becomes: str = ""
    hand: str = ""
    appears: str = ""
    disappears: bool = False
    moves_m: float = 0.0
    person: str = ""
    reply: str = ""
    unfit: str = "it is nothing for that"
    unfit_kind: Mapping[str, str] = field(default_factory=dict)
    line: int = 0

    @property
    def social(self) -> bool:
        """Return whether it is done to a person."""
        return self.object == (PERSON,)


class ActionTable(NamedTuple):
    """actions.yaml. tools: state in which each tool begins; conditions: kinds that can begin in a state;
    marks: how a state looks, (tint, spots or disc, colour)."""

    actions: Mapping[str, ActionRule]
    tools: Mapping[str, str]
    conditions: Mapping[str, tuple[str, ...]]
    marks: Mapping[str, tuple[str, str]]


class _Node(NamedTuple):
    """A value of the file with its place, to name it in errors."""

    node: yaml.Node
    file: Path
    field: str

    def refuse(self, why: str) -> NoReturn:
        """Raise ConfigError with file, line and field."""
        raise ConfigError(f"{self.file}, line {self.node.start_mark.line + 1}, {self.field}: {why}")

    def items(self) -> Iterator[tuple[str, _Node]]:
        """Yield keys and values. Raises ConfigError if it is no mapping, or has a key twice."""
        if not isinstance(self.node, yaml.MappingNode):
            self.refuse(f"must be a mapping of names to values, not {_shown(self.node)}")
        seen: set[str] = set()
        for key, value in self.node.value:
            name = str(key.value)
            if name in seen:
                _Node(key, self.file, self.field).refuse(f"has {name!r} twice: keep one of them")
            seen.add(name)
            yield name, _Node(value, self.file, f"{self.field}.{name}" if self.field else name)

    def text(self) -> str:
        """Return a text. Raises ConfigError for anything else, also for a number."""
        node = self.node
        if not isinstance(node, yaml.ScalarNode) or node.tag != "tag:yaml.org,2002:str":
            self.refuse(f"must be a text, not {_shown(node)}: write it in quotes")
        return str(node.value)

    def texts(self) -> tuple[str, ...]:
        """Return a text or a list of them."""
        if isinstance(self.node, yaml.SequenceNode):
            return tuple(_Node(node, self.file, self.field).text() for node in self.node.value)
        return (self.text(),)

    def value(self, kind: type) -> object:
        """Return a value of a type: str, list (of texts), dict (of texts), bool or float."""
        if kind is dict:
            return {name: node.text() for name, node in self.items()}
        if kind in (str, list):
            return self.text() if kind is str else self.texts()
        loaded = yaml.safe_load(yaml.serialize(self.node))
        if not isinstance(loaded, bool if kind is bool else (int, float)) or isinstance(loaded, bool) != (kind is bool):
            self.refuse(f"must be {'true or false' if kind is bool else 'a number'}, not {_shown(self.node)}")
        return float(loaded) if kind is float else loaded


def _shown(node: yaml.Node) -> str:
    return repr(node.value)[:40] if isinstance(node, yaml.ScalarNode) else \
        "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"


def read_actions(path: Path = PATH) -> ActionTable:
    """Read and check a table of actions. Raises ConfigError that names file, line and field."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), _LOADER)
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} could not be read as YAML: {error}") from error
    if node is None:
        raise ConfigError(f"{path} is empty: it needs {', '.join(SECTIONS)}")
    sections = dict(_Node(node, path, "").items())
    for name, section in sections.items():
        if name not in SECTIONS:
            section.refuse(unknown("section", name, SECTIONS))
    missing = [name for name in SECTIONS if name not in sections]
    if missing:
        raise ConfigError(f"{path} has no section {missing[0]!r}: add it")
    actions = {name: _rule(name, rule) for name, rule in sections["actions"].items()}
    tools = {name: state.text() for name, state in sections["tools"].items()}
    conditions = {name: kinds.texts() for name, kinds in sections["conditions"].items()}
    _check_kinds(sections["tools"], tools)
    for name, kinds in sections["conditions"].items():
        _check_kinds(kinds, conditions[name])
    table = ActionTable(actions, tools, conditions, dict(_marks(sections["marks"])))
    _check_reachable(table, path)
    return table


def _rule(name: str, node: _Node) -> ActionRule:
    values: dict[str, object] = {"reply": ""}
    parts = dict(node.items())
    for key, part in parts.items():
        if key not in _FIELDS:
            part.refuse(unknown("field", key, _FIELDS))
        if key != "effect":
            values[key] = part.value(_FIELDS[key])
    for key in ("text", "object"):
        if key not in parts:
            node.refuse(f"has no {key}: add it")
    if "{object}" not in str(values["text"]):
        parts["text"].refuse("must contain {object}")
    for key, words in (("object", GROUPS), ("held", HANDS), ("near", ())):
        if key in parts:
            _check_kinds(parts[key], parts[key].texts(), words)
    values.update(_effects(parts["effect"]) if "effect" in parts else {})
    rule = ActionRule(name, line=node.node.start_mark.line + 1, **values)  # type: ignore[arg-type]
    if rule.person and not rule.social:
        parts["effect"].refuse("an effect on a person needs `object: person`")
    if rule.social and not set(rule.state) <= set(PERSON_STATES):
        parts["state"].refuse(unknown("state of a person", next(s for s in rule.state if s not in PERSON_STATES),
                                      PERSON_STATES))
    return rule


def _effects(node: _Node) -> dict[str, object]:
    """Return the fields of ActionRule that hold the effects."""
    names = {"state": "becomes", "held_state": "held_becomes", "moves": "moves_m"}
    known = {"hand": HAND_EFFECTS, "person": PERSON_EFFECTS, "appears": tuple(KINDS)}
    found = {}
    for key, part in node.items():
        if key not in _EFFECTS:
            part.refuse(unknown("effect", key, _EFFECTS))
        value = part.value(_EFFECTS[key])
        if key in known and value not in known[key]:
            part.refuse(unknown("word", str(value), known[key]))
        found[names.get(key, key)] = value
    return found


def _check_kinds(node: _Node, kinds: Iterable[str], words: tuple[str, ...] = ()) -> None:
    for kind in kinds:
        if kind not in KINDS and kind not in words:
            node.refuse(unknown("kind of object", kind, (*words, *KINDS)))


def _marks(node: _Node) -> Iterator[tuple[str, tuple[str, str]]]:
    for state, mark in node.items():
        looks = [(kind, colour.text()) for kind, colour in mark.items()]
        if len(looks) != 1 or looks[0][0] not in _MARKS:
            mark.refuse(f"must be one of {', '.join(_MARKS)} with a colour")
        yield state, looks[0]


def _check_reachable(table: ActionTable, path: Path) -> None:
    """Raise ConfigError for an action whose requirements no house meets at the start and no other action brings about.

    A state that only the action itself, or a circle of actions, could bring about is one of those.
    """
    states = {(kind, state) for kind, known in KINDS.items() if kind not in table.tools for state in known.states}
    states |= {(kind, state) for state, kinds in table.conditions.items() for kind in kinds} | set(table.tools.items())
    present = set(KINDS) - {rule.appears for rule in table.actions.values()} | set(table.tools)
    before = (0, 0)
    while before != (before := (len(states), len(present))):
        for rule in table.actions.values():
            if not _lacks(rule, states, present):
                states |= set(_outcomes(rule, states))
                present |= {rule.appears} - {""}
    for rule in table.actions.values():
        if lacking := _lacks(rule, states, present):
            raise ConfigError(f"{path}, line {rule.line}, actions.{rule.name}.{lacking}: can never be met: the "
                              "requirements form a circle, or nothing brings them about. Add a condition, a tool or an "
                              "action")


def _outcomes(rule: ActionRule, states: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the states (of a kind) that an action brings about."""
    kinds = _kinds_of(rule.object)
    if rule.object == (OPENS,):
        kinds = tuple(kind for kind, state in states if state in rule.state and rule.becomes in KINDS[kind].states)
    if rule.becomes:
        yield from ((kind, rule.becomes) for kind in kinds)
    if rule.held_becomes:
        yield from ((kind, rule.held_becomes) for kind in (kinds if rule.held == (OBJECT,) else _kinds_of(rule.held)))


def _lacks(rule: ActionRule, states: set[tuple[str, str]], present: set[str]) -> str:
    """Return the field of a rule that cannot be met, "" = none."""
    for name, kinds, wanted in (("state", rule.object, rule.state), ("held_state", rule.held, rule.held_state),
                                ("near_state", rule.near, rule.near_state)):
        if kinds and kinds[0] not in (*GROUPS, *HANDS):
            if not set(kinds) & present:
                return {"state": "object", "held_state": "held"}.get(name, "near")
            if wanted and not any((kind, state) in states for kind in kinds for state in wanted):
                return name
    return ""


def _kinds_of(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word in KINDS)


TABLE = read_actions()
ACTIONS = TABLE.actions
