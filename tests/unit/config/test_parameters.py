"""A setting is described once, by its field: description, range, default; what is live; and what is a constant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from eqa_nodes.cli import main
from eqa_nodes.config.graph import merged
from eqa_nodes.config.nodes import SETTINGS
from eqa_nodes.config.parameters import Parameter, build, leaves, parameters_of, settings_of
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.ranges import Count, Part, Positive, Range, Share
from eqa_nodes.core.settings import EPISODE, NOW, constant, setting

ALL = [(node, parameter) for node, config in SETTINGS.items() for parameter in parameters_of(config)]


@dataclass(frozen=True)
class Small:
    """A class of settings as a test wants it."""

    first: Share = setting(0.5, "A share.")
    plain: int = 3
    second: str = setting("#1", "A name.", live=NOW)


@dataclass(frozen=True)
class Larger(Small):
    """Extends the other."""

    second: str = setting("#2", "Another name.")
    third: Annotated[int, Range(2, 5)] = setting(3, "A number.")


@dataclass(frozen=True)
class Groups:
    """Holds them."""

    all: Small = setting(Small(), live=EPISODE)
    part: Larger = setting(Larger(), reads=("first", "third"))


def test_a_parameter_has_all_that_its_field_says() -> None:
    first, plain, second, third = parameters_of(Larger)
    assert first == Parameter("first", 0.5, "float", Range(0.0, 1.0), "A share.", "")
    assert (plain.description, second.description, second.live) == ("", "Another name.", "")
    assert (third.type, str(third.range)) == ("int", "2 to 5")


def test_groups_say_what_is_live_and_which_of_their_settings_are_used() -> None:
    assert {p.name: p.live for p in parameters_of(Groups)} == {
        "all.first": "next episode", "all.plain": "next episode", "all.second": "at once", "part.first": "",
        "part.third": ""}
    with pytest.raises(ConfigError, match="part.plain.*part.third"):
        build(Groups, {"part.plain": 4})
    assert build(Groups, {"part.third": 4}).part == Larger(third=4)


@dataclass(frozen=True)
class Measured:
    """Holds constants: one, and a group of them."""

    tuned: Share = setting(0.5, "A share.")
    fixed: Share = constant(0.25, "Another share.")
    paper: Small = constant(Small())


def test_a_constant_is_checked_as_a_setting_is_and_no_parameter() -> None:
    assert [p.name for p in parameters_of(Measured)] == ["tuned"]
    assert [p.name for p in settings_of(Measured)] == ["tuned", "fixed", "paper.first", "paper.plain", "paper.second"]
    made = build(Measured, {"fixed": 1, "paper.first": 0.75})
    assert made == Measured(fixed=1.0, paper=Small(first=0.75)) and dict(leaves(made))["paper.first"] == 0.75
    with pytest.raises(ConfigError, match="fixed is 1.5: it must be 0 to 1"):
        build(Measured, {"fixed": 1.5})
    with pytest.raises(ConfigError, match="unknown parameter 'fixd'.*known are tuned"):
        build(Measured, {"fixd": 0.5})


def test_every_setting_is_described_and_its_default_allowed() -> None:
    for node, config in SETTINGS.items():
        for own in settings_of(config):
            text = own.description
            assert len(text) > 15 and text[0].isupper() and text.endswith("."), (node, own.name, text)
            assert own.range is None or own.range.holds(own.default), (node, own.name)


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


def live(node: str, name: str) -> str:
    return next(parameter.live for owner, parameter in ALL if (owner, parameter.name) == (node, name))


def test_what_nodes_must_agree_on_is_not_live() -> None:
    agreed = ("privacy", "observers", "odometry", "drive", "labels", "robot", "detector", "move_m", "turn_deg", "name")
    for node, parameter in ALL:
        if parameter.name.startswith("robot.base."):
            assert parameter.live == "at once"
        elif any(part in agreed or part.startswith("labels") for part in parameter.name.split(".")):
            assert not parameter.live, (node, parameter.name)
    assert live("agent", "agent.enough") == "next question"


def test_no_parameter_injects_faults_and_few_are_said_twice() -> None:
    assert not [name for _, parameter in ALL if "test" in (name := parameter.name)]
    own = [name for _, parameter in ALL if not (name := parameter.name).startswith(("node.", "robot."))]
    assert len(own) - len(set(own)) < 20  # what nodes share stands in one of these sections, once in a file


def test_the_page_of_parameters_lists_all_and_they_are_few(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--format", "parameters"]) == 0
    page = capsys.readouterr().out
    assert all(f"| `{parameter.name}` |" in page for _, parameter in ALL)
    assert page.count("\n| `") <= 150, "a number that nobody tunes is a constant (core/settings.py), not a parameter"


@pytest.mark.parametrize(("settings", "said"), [
    ({"detector.name": "topic"}, "set detector.name to 'topic' and detections_topic to their topic"),
    ({"detector.name": "labels", "detections_topic": "a"}, "otherwise leave detections_topic empty"),
    ({"detector.name": "topic", "detections_topic": "a", "detections_type": "a/msg/B"}, "unknown detections_type"),
    ({"detections_tolerance_s": -1.0}, "detections_tolerance_s")])
def test_settings_of_received_detections_must_fit(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        merged(None, {"perception": settings})
    merged(None, {"perception": {"detector.name": "topic", "detections_topic": "a"}})
