"""The table of agents: every name answers about a history and after exploration; options win over a name."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from eqa_nodes.cli import main
from eqa_nodes.cli.bench.run import Run
from eqa_nodes.cli.replay import Replay
from eqa_nodes.cli.verbs import command_of
from eqa_nodes.config.named_agents import FUNCTION, agent_of, agent_parameters
from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.config.policies import make_policy
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.components import AGENTS, ANSWERERS
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.history_views import POLICIES, ViewSelection
from eqa_nodes.runners import answerers, opening
from eqa_nodes.runners.history import HistoryRunner, file_source
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.testing.talkative import prompts, talkative
from eqa_nodes.tours.tours import RECIPES, TourHistory, plan_tour
from tests.fixtures.bags import needs_messages
from tests.fixtures.histories import seen_on

MODELLESS = ("random", "blind-priors", "label")


def kinds() -> list[ParameterSet]:
    """Return all agents; --thorough alone runs those that differ from an earlier one in parameters only."""
    seen, found = set[tuple[str, ...]](), []
    for name in AGENTS:
        agent = AGENTS[name]
        kind = agent.answerer.removesuffix("-no-boxes"), agent.frames, agent.explore
        found.append(pytest.param(name, marks=pytest.mark.thorough if kind in seen else []))
        seen.add(kind)
    return found


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planned = plan_tour("toy:flat", RECIPES["express"], 2)
    history = TourHistory(replace(planned, robot=replace(planned.robot, camera=CameraModel(160, 120, height_m=1.5))))
    folder = tmp_path_factory.mktemp("agents") / "tour"
    write_bag(history, folder, labels=history.labels)
    return folder


@pytest.mark.parametrize("name", AGENTS)
def test_a_row_names_what_there_is(name: str) -> None:
    agent = AGENTS[name]
    assert agent.frames in POLICIES and agent.k_active > 0
    assert (agent.k > 0) != (agent.frames == "random")  # a tenth of the trajectory
    make_policy(agent.policy)
    assert RunConfig(agent=name).parameters
    assert (agent.frames == "none") == (agent.explore == "never")


@needs_messages
@pytest.mark.parametrize("name", kinds())
def test_every_agent_answers_about_a_history(name: str, tour: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    backend = talkative()
    monkeypatch.setattr(answerers, "open_model", lambda config: backend)
    monkeypatch.setattr(opening, "check_model", lambda config: None)
    monkeypatch.setenv("EQA_CACHE", str(tmp_path))
    out = ("--out", str(tmp_path / "run"))
    question = f"Is there a {seen_on(open_history(tour))}?"
    assert main(["ask", question, "--history", str(tour), "--agent", name, *out]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    knows = ANSWERERS.traits(AGENTS[name].answerer).labels
    answer = printed.partition("understood: is there a bed, in the whole house")[2].strip() or printed
    assert answer.startswith(("yes", "no")) and ("privileged: " in printed) == knows
    assert bool(backend.requests) == (name not in MODELLESS)
    blind = AGENTS[name].frames == "none"
    assert ("seen at" in printed) == (not blind or name == "label") and ("it is there" in printed) == (
        not blind and name not in MODELLESS)
    assert "report.html" in printed and (tmp_path / "run" / "report.html").exists()
    described = sum(prompt.startswith("You describe") for prompt in prompts(backend))
    assert bool(described) == ("socratic" in name)
    asked = len(backend.requests)
    main(["ask", "Is there a sofa?", "--history", str(tour), "--agent", name, *out])
    if name.startswith("socratic"):
        assert len(backend.requests) - asked <= described // 2  # what was described is kept in the cache
        main(["ask", "Is there a sofa?", "--history", str(tour), "--agent", name, *out])
        assert prompts(backend)[-1].startswith("You answer") and len(backend.requests) <= asked + described + 2


@pytest.mark.parametrize("name", kinds())
def test_every_agent_answers_after_exploring(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, robot = talkative(), RobotModel(camera=CameraModel(96, 72))
    monkeypatch.setattr(answerers, "open_model", lambda config: backend)
    parameters = RunConfig(agent=name, body=robot, folder=tmp_path).parameters
    sample = Sample("q", "Is there a plant?", "yes", scene="toy:flat", seed=3)
    with closing(InProcessRunner(parameters, Limits(steps=30))) as runner:
        result = runner.run(sample)
    answer, agent = result.answer, AGENTS[name]
    assert answer.error == 0, answer.message
    assert answer.text or answer.abstained
    assert (answer.receipt.steps > 0) == (agent.explore != "never")
    if agent.explore == "first":  # nobody judged or ranked anything on the way
        assert result.trace is not None and result.trace.decisions
        assert {p[:12] for p in prompts(backend)} <= {"You describe", "You answer o", "You are an a"}
        assert answer.text == "yes" and answer.evidence
        assert {e.keyframe_id for e in answer.evidence} <= {k.id for k in result.trace.keyframes}
    assert answer.receipt.calls == len(backend.requests)


@pytest.mark.parametrize("given", [{}, {"answerer": "label"}, {"policy": "random"}, {"frames": "recalled", "k": "7"}])
def test_options_win_over_the_agent(given: dict[str, str]) -> None:
    words = [word for name, value in given.items() for word in (f"--{name}" if len(name) > 1 else f"-{name}", value)]
    config = configured(["bench", "run", "--agent", "multi-frame", *words])
    expected = {"answerer": "vlm", "policy": "frontier", "frames": "uniform", "k": "50", **given}
    assert {name: str(getattr(config.named, name)) for name in expected} == expected
    own = config.settings.agent.agent
    assert (own.explore, own.recall_limit) == ("first", int(given.get("k", 75)))
    assert config.settings.answerer.max_images == int(given.get("k", 75))
    assert config.settings.memory.labels == (given.get("answerer") == "label")


@pytest.mark.parametrize(("words", "steps"), [
    ([], 300), (["--agent", "ours"], 300), (["--agent", "my.module:agent"], 300), (["--agent", "multi-frame"], 0),
    (["--agent", "fine-eqa"], 0), (["--agent", "fine-eqa", "--max-steps", "40"], 40), (["--max-steps", "none"], 0)])
def test_exploration_with_an_end_of_its_own_has_no_limit_of_steps_by_default(words: list[str], steps: int) -> None:
    assert configured(["bench", "run", *words]).limits.steps == steps


def configured(words: list[str]) -> RunConfig:
    """Return the configuration that a line of `eqa bench run` says."""
    run = command_of(words)
    assert isinstance(run, Run)
    return run.chain.config(frames=run.em.views.frames, k=run.em.views.k)


def test_without_a_name_everything_is_as_before() -> None:
    config = configured(["bench", "run", "--answerer", "vlm"])
    assert (config.named.policy, config.named.frames, config.named.k) == ("best", "uniform", 50)
    assert config.settings.agent.agent == AgentConfig()
    assert config.parameters["explorer"] == {"policy": "best"}


def test_many_pictures_may_take_long() -> None:
    assert agent_parameters("", "socratic-captions", 0)["agent"]["model_deadline_s"] > 1000
    assert "model_deadline_s" not in agent_parameters("multi-frame", "vlm", 50)["agent"]


def test_an_unknown_agent_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match=r"'gpt': known are blind, .*package\.module:function.*socratic-voxel"):
        agent_of("gpt")
    assert agent_of("my.module:agent") == FUNCTION
    assert main(["bench", "run", "--agent", "gpt"]) == 2
    assert "unknown agent 'gpt'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["random", "blind", "blind-priors"])
def test_who_is_blind_reads_no_history(name: str, tour: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a blind agent has no use for frames")

    monkeypatch.setattr(answerers, "open_model", lambda config: talkative())
    monkeypatch.setattr("eqa_nodes.recordings.history_views._Along", refuse)
    agent = AGENTS[name]
    runner = HistoryRunner(lambda sample: file_source(tour), AnswererSettings(answerer=agent.answerer),
                           ViewSelection(agent.frames, agent.k), tmp_path)
    answer = runner.run(Sample("q", "Is there a plant?", "yes")).answer
    assert answer.text in ("yes", "no") and answer.message.startswith("blind guess") and not answer.evidence


def test_a_replay_names_an_agent_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = command_of(["replay", "BAG", "--agent", "socratic-voxel"])
    assert isinstance(command, Replay)
    config = command.config(tmp_path, labels=True)
    assert config.settings.agent.agent.explore == "first" and config.settings.replay.labels
    assert config.settings.answerer.answerer == "socratic-voxel"
    assert main(["replay", "BAG", "--agent", "my.module:agent"]) == 2
    assert "is a function, which nodes cannot run" in capsys.readouterr().err
