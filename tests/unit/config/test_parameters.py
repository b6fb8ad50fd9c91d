"""A parameter is told once, by its field: description, range, default; what is live; and the page that lists them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import pytest

from eqa_nodes.cli import main
from eqa_nodes.config.descriptions import descriptions
from eqa_nodes.config.live import LIVE, live
from eqa_nodes.config.nodes import SETTINGS
from eqa_nodes.config.parameters import Parameter, build, parameters_of
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.ranges import Count, Part, Positive, Range, Share
from tests.fixtures.paths import ROOT

ALL = [(node, parameter) for node, config in SETTINGS.items() for parameter in parameters_of(config)]


@dataclass(frozen=True)
class Small:
    """A class of settings as a test wants it."""

    # above the field,
    # in two lines
    first: Share = 0.5  # and beside it
    plain: int = 3
    second: str = "#1"  # of strings


@dataclass(frozen=True)
class Larger(Small):
    """Extends the other."""

    second: str = "#2"  # said anew
    third: Annotated[int, Range(2, 5)] = 3  # of its own


def test_a_description_is_the_comment_above_and_beside() -> None:
    assert descriptions(Small) == {"first": "above the field, in two lines and beside it", "second": "of strings"}
    assert descriptions(Larger) == descriptions(Small) | {"second": "said anew", "third": "of its own"}


def test_without_sources_there_are_no_descriptions_and_the_rest_stays() -> None:
    names: dict[str, type] = {}
    exec("from dataclasses import dataclass\n@dataclass\nclass Bare:\n    size: int = 3  # lost\n", names)
    bare = names["Bare"]
    bare.__module__ = __name__
    assert descriptions(bare) == {}
    assert list(parameters_of(bare)) == [Parameter("size", 3, "int", None, "")]


def test_a_parameter_has_all_that_its_field_says() -> None:
    first, _, _, third = parameters_of(Larger)
    assert first == Parameter("first", 0.5, "float", Range(0.0, 1.0), descriptions(Small)["first"])
    assert (third.type, str(third.range)) == ("int", "2 to 5")


@pytest.mark.parametrize(("node", "parameter"), ALL, ids=[f"{node}:{p.name}" for node, p in ALL])
def test_every_parameter_is_described_and_its_default_allowed(node: str, parameter: Parameter) -> None:
    assert len(parameter.description) > 5 and not parameter.description.startswith(".")
    assert parameter.range is None or parameter.range.holds(parameter.default)


@pytest.mark.parametrize(("hint", "inside", "outside", "words"), [
    (Share, (0.0, 1.0), (-0.1, 1.1, math.nan), "0 to 1"), (Part, (0.1, 1.0), (0.0, 1.1), "above 0, up to 1"),
    (Positive, (0.1, 1e300), (0.0, math.inf, math.nan), "above 0"), (Count, (0, 10 ** 12), (-1,), "0 or more")])
def test_ranges_hold_what_they_say(hint: object, inside: tuple[float, ...], outside: tuple[float, ...],
                                   words: str) -> None:
    allowed = hint.__metadata__[0]  # type: ignore[attr-defined]
    assert str(allowed) == words
    assert all(map(allowed.holds, inside)) and not any(map(allowed.holds, outside))


@pytest.mark.parametrize(("node", "name", "value"), [
    ("explorer", "params.best.inside", 1.5), ("memory", "pending", 0), ("memory", "memory.places.samples", 0),
    ("mapper", "map.voxel_m", math.nan), ("agent", "agent.recall_limit", -1), ("bridge", "robot.base.turn_rad_s", 0.0)])
def test_values_outside_their_range_are_named_errors(node: str, name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"{name.split('.')[-1]} is {value}: it must be "):
        build(SETTINGS[node], {name: value}, node)


@pytest.mark.parametrize(("node", "name", "value"), [
    ("explorer", "policy", "clairvoyant"), ("agent", "agent.explore", "sideways")])
def test_unknown_names_are_refused_with_the_known_ones(node: str, name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{value}.*(frontier|first)"):
        build(SETTINGS[node], {name: value}, node)


def test_what_is_said_to_be_live_is_there() -> None:
    assert LIVE.keys() == SETTINGS.keys()
    for node, names in LIVE.items():
        known = [p.name for p in parameters_of(SETTINGS[node])]
        for name in names:
            assert any(f"{k}.".startswith(f"{name}.") for k in known), f"{node} has no {name}"


def test_what_nodes_must_agree_on_is_not_live() -> None:
    agreed = ("privacy", "observers", "odometry", "drive", "labels", "robot", "detector", "move_m", "turn_deg", "name")
    for node, parameter in ALL:
        if any(part in agreed or part.startswith("labels") for part in parameter.name.split(".")):
            assert not live(node, parameter.name), (node, parameter.name)
    assert live("agent", "agent.enough") == "next question" and not live("agent", "agent.leg_deadline_s")
    assert live("bridge", "robot.base.turn_rad_s") == "at once" and not live("bridge", "robot.base_of_something_else")


def test_the_page_of_parameters_is_what_the_command_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--format", "parameters"]) == 0
    page = (ROOT / "docs" / "parameters.md").read_text()
    assert page == capsys.readouterr().out, "old: eqa graph --format parameters > docs/parameters.md"
    assert all(f"| `{parameter.name}` |" in page for _, parameter in ALL)
