"""Agents of tasks: how replies are read, how much of the past a model sees, and the frames of a video."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eqa_nodes.bench.embodied.agents import (
    CHOICE,
    JSON,
    ModelAgent,
    ModelAgentSettings,
    RandomAgent,
    VideoAgent,
    make_agent,
)
from eqa_nodes.bench.embodied.loop import TaskOutcome, run_task
from eqa_nodes.bench.embodied.tasks import FORWARD
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.tasks import TASK, YES, Plain


def replies(*said: str, agent: type[ModelAgent] = ModelAgent, strict: bool = False,
            **settings: object) -> tuple[ScriptedBackend, TaskOutcome]:
    """Do the task with a model that says this."""
    backend = ScriptedBackend(list(said))
    asked = ModelAgentSettings(**{"reply": CHOICE, "again": not strict, **settings})  # type: ignore[arg-type]
    return backend, run_task(TASK, Plain(), agent(backend, asked), strict=strict)  # type: ignore[arg-type]


def texts(backend: ScriptedBackend, request: int) -> str:
    """Return the texts of a request."""
    return "\n".join(part for message in backend.requests[request] for part in message.parts if isinstance(part, str))


def pictures(backend: ScriptedBackend, request: int) -> int:
    """Return how many pictures a request shows."""
    return sum(isinstance(part, bytes) for message in backend.requests[request] for part in message.parts)


@pytest.mark.parametrize("said", [
    "Thought: ahead.\nChoice: [1]", "Choice: 1", "choice 1", "**Choice:** [1]", "Thought: 3 doors\nChoice:\n[1]",
    "I take option 1", "first 2, then 1"])
def test_a_choice_is_read_as_models_write_it(said: str) -> None:
    backend, outcome = replies(said, "Choice: [6]")
    assert [log.action for log in outcome.steps] == [FORWARD, YES] and len(backend.requests) == 2


def test_the_thought_is_kept() -> None:
    _, outcome = replies("Thought: the lamp is\nahead\nChoice: [1]", "Choice: [6]")
    assert [log.thought for log in outcome.steps] == ["the lamp is\nahead", ""]
    assert outcome.steps[0].response == "Thought: the lamp is\nahead\nChoice: [1]"


@pytest.mark.parametrize(("said", "number", "ended"), [
    ("no idea", -1, "no option match"), ("Choice: [99]", -2, "option out of range"),
    ("Choice: [0]", -2, "option out of range"), ("Choice: [-1]", -2, "option out of range")])
def test_an_unusable_reply_ends_the_task_by_the_strict_rule(said: str, number: int, ended: str) -> None:
    backend, outcome = replies("Choice: [1]", said, "Choice: [6]", strict=True)
    assert [log.action_choice for log in outcome.steps] == [1, number] and outcome.counts.ended_by == ended
    assert len(backend.requests) == 2 and outcome.steps[-1].response == said and not outcome.done


def test_the_strict_rule_holds_for_json_too() -> None:
    for said, number in (("gibberish", -1), ('{"option": "sixth"}', -1), ('{"option": 99}', -2)):
        _, outcome = replies(said, strict=True, reply=JSON)
        assert [log.action_choice for log in outcome.steps] == [number]


def test_an_unusable_reply_is_asked_for_once_more_by_the_lenient_rule() -> None:
    backend, outcome = replies("no idea", "Choice: [1]", "Choice: [99]", "Choice: [0]", "Choice: [6]")
    assert [log.action for log in outcome.steps] == [FORWARD, "", YES] and outcome.done
    assert outcome.counts == (0, 0, 1, "") and len(backend.requests) == 5
    assert "Choice: [number]" in texts(backend, 1)


def test_the_prompt_names_task_actions_options_and_steps() -> None:
    backend, _ = replies("Choice: [1]", "Choice: [2]", "Choice: [6]", "Choice: [6]", max_steps=24)
    said = texts(backend, 1)
    for part in ('The task: "Is the lamp on? Come back."', "\n  move forward -> success", "\n1. turn left",
                 '. answer "yes"', "Choice: [<number of the option>]", "at most 24 steps, of which 23 are left"):
        assert part in said
    assert "{" not in said and "Actions so far (action -> feedback): none" in texts(backend, 0)


@pytest.mark.parametrize(("most", "shown"), [(24, 4), (2, 3), (0, 1)])
def test_a_model_sees_at_most_so_many_earlier_views(most: int, shown: int) -> None:
    backend, _ = replies(*["Choice: [2]"] * 3, "Choice: [99]", strict=True, max_images=most)
    assert [pictures(backend, n) for n in range(4)] == [min(n + 1, shown) for n in range(4)]


def test_a_video_shows_the_way_between_the_points() -> None:
    backend, outcome = replies("Choice: [1]", "Choice: [99]", agent=VideoAgent, strict=True)
    assert outcome.steps[0].action == FORWARD and pictures(backend, 0) == 1
    assert pictures(backend, 1) == 6  # the view before, four between, and the current view
    assert "frames of a video" in texts(backend, 1)
    backend, _ = replies("Choice: [1]", "Choice: [99]", agent=VideoAgent, strict=True, max_images=3)
    assert pictures(backend, 1) == 4


def test_agents_and_forms_by_name() -> None:
    with pytest.raises(ConfigError, match="known are model, oracle, random, video"):
        make_agent("human")
    with pytest.raises(ConfigError, match="unknown form of replies 'xml': known are choice, json"):
        ModelAgent(ScriptedBackend([]), ModelAgentSettings(reply="xml"))


def json_replies(*said: str | Exception) -> tuple[ScriptedBackend, TaskOutcome]:
    backend = ScriptedBackend(list(said))
    return backend, run_task(TASK, Plain(), ModelAgent(backend, ModelAgentSettings(max_images=2)))


def test_a_model_picks_by_number() -> None:
    backend, outcome = json_replies('{"thought": "ahead", "option": 1}', 'Sure: {"option": 6}')
    assert [log.action for log in outcome.steps] == [FORWARD, YES]
    assert outcome.steps[0].thought == "ahead" and all(outcome.predicates)
    text = "\n".join(part for part in backend.requests[1][1].parts if isinstance(part, str))
    assert '1. "move forward" -> success' in text and '[6] answer "yes"' in text
    assert '"Is the lamp on? Come back."' in text
    assert sum(isinstance(part, bytes) for part in backend.requests[1][1].parts) == 2  # before, and now


@pytest.mark.parametrize("said", ['"6"', "6.0", '"[6]"', '"[6] yes"', '"6."', '"yes"', '" Yes "'])
def test_an_option_is_read_as_models_write_it(said: str) -> None:
    backend, outcome = json_replies('{"option": 1}', f'{{"option": {said}}}')
    assert [log.action for log in outcome.steps] == [FORWARD, YES]
    assert len(backend.requests) == 2


@pytest.mark.parametrize("said", ['"6 or 7"', "6.5", '"[6] no"', "true", '"0"', "null", '"sixth"', "[6]", '"-6"',
                                  "NaN"])
def test_what_names_no_option_is_asked_once_more(said: str) -> None:
    backend, outcome = json_replies('{"option": 1}', f'{{"option": {said}}}', '{"option": 6}')
    assert [log.action for log in outcome.steps] == [FORWARD, YES]
    assert len(backend.requests) == 3


def test_off_the_menu_is_asked_once_more_and_then_wasted() -> None:
    backend, outcome = json_replies('{"option": 99}', '{"option": 1}', "gibberish", '{"option": 0}', '{"option": 6}')
    assert [log.action for log in outcome.steps] == [FORWARD, "", YES]
    assert "no option match" in outcome.steps[1].unusable and "from 1 to" in outcome.steps[1].unusable
    assert len(backend.requests) == 5


def test_chance_is_the_same_for_the_same_seed() -> None:
    runs = [[log.action for log in run_task(TASK, Plain(), RandomAgent(), seed).steps] for seed in (1, 1, 2, 3, 4)]
    assert runs[0] == runs[1] and len({tuple(run) for run in runs}) > 1


def test_the_oracle_needs_a_plan() -> None:
    with pytest.raises(ConfigError, match="task 4 has no script"):
        run_task(replace(TASK, expert=()), Plain(), make_agent("oracle"))
