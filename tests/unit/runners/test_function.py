"""OpenEQA's two signatures: functions of one's own in a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.cli import main
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.errors import ConfigError, ErrorCode, LimitReached
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.samples import EM, Sample
from eqa_nodes.core.types.views import Label
from eqa_nodes.recordings.arrays import HistoryArrays, arrays_of
from eqa_nodes.recordings.episode_history import FramesAlone, RecordedFrame
from eqa_nodes.runners.function import ActiveFunctionRunner, EmFunctionRunner, Environment, load_function
from eqa_nodes.runners.history import tour_source
from eqa_nodes.tours.tours import RECIPES, TourHistory, plan_tour
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup
from tests.fixtures import own_agents
from tests.fixtures.histories import walk

ROBOT = RobotModel(camera=CameraModel(96, 72))
MODULE = "tests.fixtures.own_agents"


@pytest.fixture(scope="module")
def tour() -> TourHistory:
    planned = plan_tour("toy:flat", RECIPES["express"], 2)
    return TourHistory(replace(planned, robot=replace(planned.robot, camera=CameraModel(96, 72, height_m=1.5))))


@pytest.fixture(scope="module")
def arrays(tour: TourHistory) -> HistoryArrays:
    return arrays_of(tour, 12)


def active(function: Callable[..., Any], limits: Limits = Limits(), guess: bool = False) -> ActiveFunctionRunner:
    return ActiveFunctionRunner(function, ROBOT, LabelAnswerer(), limits, guess)


HOUSE = Sample("q", "Is there a plant?", "yes", scene="house:3", seed=1)


def test_arrays_are_the_frames_without_labels(tour: TourHistory, arrays: HistoryArrays) -> None:
    assert arrays.rgb.shape == (12, 72, 96, 3) and arrays.rgb.dtype == np.uint8
    assert arrays.depth_m.shape == (12, 72, 96) and arrays.depth_m.dtype == np.float32
    assert arrays.map_from_camera.shape == (12, 4, 4)
    by_stamp = {frame.stamp_ns: frame for frame in tour}
    assert int(arrays.stamps_ns[0]) == min(by_stamp) and int(arrays.stamps_ns[-1]) == max(by_stamp)
    for i, stamp in enumerate(arrays.stamps_ns.tolist()):
        frame = by_stamp[stamp]
        assert np.array_equal(arrays.rgb[i], frame.rgb) and np.array_equal(arrays.depth_m[i], frame.depth_m)
        assert np.array_equal(arrays.map_from_camera[i], frame.map_from_camera())
    assert len(arrays_of(tour)) == len(tour)


def test_frames_of_several_cameras_are_refused() -> None:
    first, second = walk(2)
    lens = replace(second, intrinsics=second.intrinsics._replace(fx=1.0))

    class Two(FramesAlone):
        name, dropped, labels = "two", Counter[str](), dict[int, Label]()

        def __len__(self) -> int:
            return 2

        def recorded(self) -> Iterator[RecordedFrame]:
            yield from (RecordedFrame(i, -1, frame) for i, frame in enumerate((first, lens)))

    with pytest.raises(ConfigError, match="two has frames of several cameras"):
        arrays_of(Two())


def test_a_function_answers_about_histories(tour: TourHistory, tmp_path: Path) -> None:
    samples = [Sample(f"q{i}", "How bright is it?", "dark", metadata={"episode_history": "t"}) for i in range(2)]
    runner = EmFunctionRunner(own_agents.em, lambda sample: tour_source(tour.tour), 5, LabelAnswerer())
    own_agents.GIVEN.clear()
    summary = run_benchmark(samples, runner, tmp_path, task=EM)
    given, again = own_agents.GIVEN
    assert given is again and isinstance(given, HistoryArrays) and len(given) == 5
    assert summary.failed == 0
    answers = [p.answer for p in read_predictions(tmp_path).predictions.values()]
    assert [(a.text, a.receipt.steps, a.receipt.privileged) for a in answers] == [(answers[0].text, 0, ())] * 2
    assert answers[0].text in ("bright", "dark")


@pytest.mark.parametrize(("name", "code", "said"), [
    ("fails", ErrorCode.INTERNAL, "RuntimeError: nobody can answer 'How bright is it?'"),
    ("number", ErrorCode.INTERNAL, "ConfigError: the function returned 3 for an answer")])
def test_what_goes_wrong_in_a_function_fails_its_question(name: str, code: ErrorCode, said: str, tour: TourHistory,
                                                          tmp_path: Path) -> None:
    runner = EmFunctionRunner(getattr(own_agents, name), lambda sample: tour_source(tour.tour), 2, LabelAnswerer())
    run_benchmark([Sample("q", "How bright is it?", "dark")], runner, tmp_path, task=EM)
    prediction = read_predictions(tmp_path).predictions["q"]
    assert prediction.failed and prediction.answer.error is code and said in prediction.answer.message
    assert ("own_agents.py" in prediction.traceback) == (name == "fails")


def test_an_abstention_is_one_unless_a_guess_is_forced(tour: TourHistory) -> None:
    for guess in (False, True):
        runner = EmFunctionRunner(own_agents.abstains, lambda sample: tour_source(tour.tour), 2, LabelAnswerer(), guess)
        answer = runner.run(Sample("q", "Is there a plant?", "yes")).answer
        assert answer.abstained is not guess and bool(answer.text) is guess


def test_a_function_drives_and_its_steps_are_counted(tmp_path: Path) -> None:
    with closing(active(own_agents.active)) as runner:
        result = runner.run(HOUSE)
    assert result.answer.text.endswith(" m") and not result.answer.message
    assert (result.answer.receipt.steps, result.answer.receipt.metres) == (12, 0.0)
    assert result.trace is not None and len(result.trace.poses) == 13 and result.final_pose == result.trace.poses[-1][1]


def test_what_it_says_of_its_steps_is_not_believed() -> None:
    with closing(active(own_agents.boaster)) as runner:
        answer = runner.run(HOUSE).answer
    assert answer.receipt.steps == 5 and answer.text == "yes"
    assert answer.message == "the function reports 1 timesteps; 5 were counted"


def test_limits_hold_for_functions() -> None:
    with closing(active(own_agents.restless, Limits(steps=7))) as runner:
        result = runner.run(HOUSE)
    assert (result.answer.text, result.answer.receipt.steps) == ("enough", 7)
    with closing(active(own_agents.endless, Limits(steps=4))) as runner, pytest.raises(LimitReached, match="4 steps"):
        runner.run(HOUSE)
    with closing(active(own_agents.alone)) as runner, pytest.raises(ConfigError, match=r"expected \(answer, timesteps"):
        runner.run(HOUSE)


def test_an_environment_gives_no_privileged_facts() -> None:
    with closing(open_simulator("house:3")) as simulator:
        first = simulator.reset(EpisodeSetup("house:3", robot=ROBOT))
        assert first.frame.labels is not None
        state = Environment(first, simulator.act, ROBOT)
        seen = [state.observation, state.act(Action.TURN_LEFT), state.act(Action.OBSERVE), state.observation]
    assert all(frame.labels is None for frame in seen)
    public = {name for name in dir(state) if not name.startswith("_")}
    assert public == {"act", "collided", "limits", "metres", "observation", "robot", "spent", "steps"}


@pytest.mark.parametrize("name", ["nowhere.at_all:agent", f"{MODULE}:absent", ":agent", f"{MODULE}:not_callable"])
def test_what_cannot_be_loaded_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load_function(name)


def test_functions_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("EQA_CACHE", str(tmp_path / "cache"))
    house = ["bench", "run", "--split", "train", "--questions", "1", "--image", "96x72"]
    for task, name in (("em", "em"), ("active", "active")):
        out = tmp_path / name
        assert main([*house, "--task", task, "--agent", f"{MODULE}:{name}", "--out", str(out)]) == 0
        predictions = read_predictions(out).predictions.values()
        assert all(p.answer.text and not p.failed and p.blind is not None for p in predictions)
        assert {p.answer.receipt.steps for p in predictions} == {{"active": 12}.get(name, 0)}
        manifest = read_manifest(out)
        assert (manifest.model, manifest.config["agent"]) == (f"{MODULE}:{name}",) * 2
        assert score_run(out, OfflineJudge()).rows[0].answered == 1
    assert main([*house, "--agent", "random", "--through", "process", "--out", str(out)]) == 2  # a run is of one agent
    assert "another model, config" in capsys.readouterr().err
