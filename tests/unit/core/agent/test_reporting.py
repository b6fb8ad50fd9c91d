"""Every call of a model is noted with what was shown, what was said and what it cost; in a trace it finds its goal."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from eqa_nodes.bench.report.traces import load_trace, save_trace
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.agent.reporting import CallRecorder
from eqa_nodes.core.answerers.advice import marks_in
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.errors import ModelError, StaleData
from eqa_nodes.core.model import Completion
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.calls import CallPicture, ModelCall, option_at
from eqa_nodes.core.types.floor import POINTED, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Recalled, Receipt
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision, destinations
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.agent_world import DOOR, FLOOR, QUESTION, Consulted, World
from tests.fixtures.briefs import BACK, brief, view
from tests.fixtures.briefs import DOOR as SEEN_DOOR
from tests.fixtures.briefs import QUESTION as BOWL

AT = Pose2(3.0, 2.0, 0.0)


class Still:
    """A robot that stands still."""

    def last(self) -> tuple[int, Pose2]:
        return 7, AT


class Losing(Still):
    """A robot that is localised for the first call only."""

    asked = 0

    def last(self) -> tuple[int, Pose2]:
        self.asked += 1
        if self.asked > 1:
            raise StaleData("no transform")
        return super().last()


def noted(*replies: object, prices: ModelConfig | None = None) -> tuple[CallRecorder, list[ModelCall]]:
    calls: list[ModelCall] = []
    answerer = VlmAnswerer(ScriptedBackend(replies, config=prices))  # type: ignore[arg-type]
    return CallRecorder(answerer, Still().last, calls.append), calls


def calls_of(world: World, **config: object) -> list[ModelCall]:
    heard: list[Progress] = []
    agent = Agent(Ports(world, world, world, world, world), AgentConfig(**config), heard.append)  # type: ignore[arg-type]
    agent.ask(QUESTION)
    return [p.call for p in heard if p.call is not None]


def test_a_decision_is_noted_with_its_pictures_its_words_and_its_cost() -> None:
    reply = {"reasons": "A door is open. The bowl may be behind it.", "answer": "an apple", "confidence": 0.4,
             "evidence": [{"picture": 2, "point": [0.25, 0.75]}], "missing": "the inside of the bowl",
             "go_to": [{"number": 1, "chance": 0.7, "room": "kitchen"}]}
    answerer, calls = noted(Completion(json.dumps(reply), 1000, 50), prices=ModelConfig(price_in=2.0, price_out=10.0))
    asked = brief()
    assert answerer.advises and answerer.advise(BOWL, asked).answer.text == "an apple"
    call, = calls
    assert (call.stamp_ns, call.pose, call.kind, call.question) == (7, AT, "decide", BOWL.text)
    assert (call.reasons, call.answer, call.confidence, call.missing) == (
        reply["reasons"], "an apple", 0.4, "the inside of the bowl")
    assert [p.keyframe_id for p in call.pictures] == [1, 2] and [p.now for p in call.pictures] == [False, True]
    assert call.pictures[1].marks == marks_in(view(2), (SEEN_DOOR, BACK)) and call.pictures[1].marks
    (u, v), = call.pictures[1].points
    assert (u, v) == (pytest.approx(0.25 * 640, abs=0.01), pytest.approx(0.75 * 480, abs=0.01))
    assert not call.pictures[0].points and call.evidence == (2,)
    assert call.options == (WeighedOption(SEEN_DOOR, 0.7, "kitchen"), WeighedOption(BACK, 0.0, ""))
    assert (call.requests, call.tokens_in, call.tokens_out) == (1, 1000, 50)
    assert call.money == pytest.approx(0.0025) and call.seconds >= 0.0 and not call.error


def test_a_reply_that_is_asked_for_again_is_one_call_of_two_requests() -> None:
    answerer, calls = noted("no form at all", '{"reasons": "nothing", "answer": "", "go_to": []}')
    answerer.advise(BOWL, brief())
    assert [(call.requests, call.reasons) for call in calls] == [(2, "nothing")]


def test_a_call_that_fails_is_noted_with_its_error() -> None:
    answerer, calls = noted("no form", "no form either", "nor in the short form", "none")
    with pytest.raises(ModelError):
        answerer.advise(BOWL, brief())
    call, = calls
    assert call.kind == "decide" and call.requests == 4 and "another form" in call.error
    assert [w.option for w in call.options] == [SEEN_DOOR, BACK] and len(call.pictures) == 2


def test_views_that_are_judged_keep_what_was_said_of_each() -> None:
    views = [{"image": i, "relevance": 0.5, "enough": enough, "worth": 0.1, "places": {}, "target": "",
              "region": "kitchen", "says": says, "note": f"note {i}"} for i, (enough, says) in
             enumerate(((0.2, ""), (0.8, "an apple")), 1)]
    answerer, calls = noted(json.dumps({"views": views}), '{"answer": "an apple", "confidence": 0.9, "images": [1], '
                            '"abstain": false, "why": "it is in view"}')
    answerer.assess(BOWL, [view(1), view(2)])
    answerer.answer(BOWL, [Recalled(view(2), 1.0, "")])
    judged, answered = calls
    assert judged.pictures == (CallPicture(1, note="note 1"), CallPicture(2, note="says: an apple (0.80); note 2"))
    assert (judged.kind, judged.answer, judged.confidence, judged.evidence) == ("assess", "an apple", 0.8, (2,))
    assert (answered.kind, answered.answer, answered.reasons) == ("answer", "an apple", "it is in view")
    assert [p.keyframe_id for p in answered.pictures] == [2]


def test_an_episode_tells_of_each_call_once_in_order() -> None:
    calls = calls_of(Consulted({}), consult=True)
    assert [(call.kind, call.reasons) for call in calls] == [("decide", f"Reasons {n}.") for n in (1, 2, 3)]
    assert [call.answer for call in calls] == ["", "", "on the stove"]


class Rules(Consulted):
    """An answerer without a model."""

    def spent(self) -> Receipt:
        return Receipt()


def test_an_answerer_that_asks_no_model_has_no_calls() -> None:
    assert calls_of(Rules({}), consult=True) == []


def test_a_goal_is_the_heaviest_option_near_it() -> None:
    near = Option(1.3, 0.0, 0.0, "floor", 1.0)
    options = [WeighedOption(near, 0.2), WeighedOption(DOOR, 0.8), WeighedOption(FLOOR, 0.9)]
    assert option_at(options, Pose2(1.0, 0.2, 0.0)) == 2
    assert option_at(options, Pose2(5.0, 5.0, 0.0)) == 0 and option_at((), Pose2(0.0, 0.0, 0.0)) == 0


def test_a_goal_on_the_way_to_a_place_that_was_pointed_at_is_that_place() -> None:
    pointed = WeighedOption(Option(6.0, 3.0, 0.0, POINTED, 5.0), 0.5)
    options = [WeighedOption(DOOR, 0.8), pointed, WeighedOption(Option(3.0, 3.0, 0.0, "floor", 2.0), 0.1)]
    assert [option_at(options, Pose2(x, y, 0.0)) for x, y in ((6.5, 3.0), (4.5, 3.4), (3.2, 3.0))] == [2, 2, 3]
    assert [option_at(options, Pose2(x, y, 0.0)) for x, y in ((7.5, 3.0), (4.5, 4.5), (-0.5, 3.0))] == [0, 0, 0]


def call(stamp_ns: int, options: Sequence[WeighedOption] = ()) -> ModelCall:
    return ModelCall(stamp_ns, AT, "Where?", "decide", options=tuple(options))


def test_a_decision_belongs_to_the_last_call_before_it() -> None:
    door = (WeighedOption(DOOR, 0.8), WeighedOption(FLOOR, 0.1))
    decisions = [TraceDecision(stamp, AT, goal, reason) for stamp, goal, reason in (
        (5, Pose2(2.0, 2.0, 0.0), "before any call"), (10, Pose2(1.0, 0.0, 0.0), "through the door"),
        (12, Pose2(9.0, 0.0, 0.0), "a second look"), (30, Pose2(4.0, 4.0, 0.0), "elsewhere"))]
    trace = EpisodeTrace(decisions=decisions, calls=[call(10, door), call(20, door), call(40)])
    first, second, last = destinations(trace)
    assert first is not None and (first.option, first.decision.reason) == (1, "through the door")
    assert second is not None and (second.option, second.decision.reason) == (0, "elsewhere")
    assert last is None


def test_calls_are_stored_with_a_trace_and_without_pictures(tmp_path: Path) -> None:
    answerer, calls = noted('{"reasons": "so", "answer": "", "evidence": [{"picture": 1, "point": [0.5, 0.5]}]}')
    answerer.advise(BOWL, brief())
    kept = EpisodeTrace("Where?", keyframes=[view(1), view(2)])
    save_trace(tmp_path / "without.zip", kept)
    kept.calls = calls
    save_trace(tmp_path / "with.zip", kept)
    assert load_trace(tmp_path / "with.zip").calls == calls
    grown = (tmp_path / "with.zip").stat().st_size - (tmp_path / "without.zip").stat().st_size
    assert 0 < grown < 2000


def test_what_a_model_said_is_not_lost_with_the_robots_place() -> None:
    calls: list[ModelCall] = []
    backend = ScriptedBackend([json.dumps({"answer": "red", "confidence": 0.9, "images": [1]})] * 2)
    answerer = CallRecorder(VlmAnswerer(backend), Losing().last, calls.append)
    first, second = (answerer.answer(QUESTION, [Recalled(view(1), 1.0, "")]) for _ in range(2))
    assert first.text == second.text == "red" and [call.pose for call in calls] == [AT, AT]


def test_where_an_answer_saw_its_proof_is_noted_in_pixels_and_not_in_words() -> None:
    answerer, calls = noted(json.dumps({"answer": "red", "confidence": 0.9, "images": [1], "points": [[0.5, 0.25]],
                                        "why": "it stands there"}))
    shown = view(1)
    answerer.answer(QUESTION, [Recalled(shown, 1.0, "")])
    with Image.open(io.BytesIO(shown.jpeg)) as image:
        at = image.width / 2, image.height / 4
    assert calls[0].pictures[0].points == (at,) and calls[0].reasons == "it stands there"
