"""A question costs no more than its limits allow, and a call of a model no more than is left."""

from __future__ import annotations

import json
import math
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.question_score import question_score
from eqa_nodes.bench.report.traces import save_trace
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.cli.ask import Ask
from eqa_nodes.cli.options import measure_or_none, whole, whole_or_none
from eqa_nodes.cli.verbs import command_of
from eqa_nodes.config.graph import merged
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.answerers.socratic import CaptionAnswerer
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.driving.drive_budget import DriveBudget, DriveEnded
from eqa_nodes.core.errors import BadQuestion, ConfigError, ErrorCode, LimitReached
from eqa_nodes.core.ledger import (
    BudgetedBackend,
    check_limits,
    limit_in,
    limit_in_words,
    metres_left,
    paid_until,
    paying,
    poses_of,
    tokens_read,
)
from eqa_nodes.core.mapping.area import is_inside
from eqa_nodes.core.model import Choice, Completion, Message
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.costs import CallAccount, CallBudget, Usage
from eqa_nodes.core.types.floor import Allowance, NavCode, Travelled
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Limits, Question, Recalled, RecallQuery, Receipt
from eqa_nodes.core.types.samples import ALLOWED_POSES, EpisodeResult, Sample
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.runners.in_process import InProcessRunner
from tests.fixtures.agent_world import QUESTION, World
from tests.fixtures.rooms import view
from tests.fixtures.vlm_replies import red_jpeg

ASKED = (Message("system", ("a" * 400,)), Message("user", (b"a picture",)))  # 400 / 4 + 255 = 355 tokens
SPENT = Usage(2, 600, 400, 2.0)  # so far: 1000 tokens for 2.0, 0.002 each


class Noting:
    """A model that notes how long a reply may be."""

    model, usage = "noting", SPENT

    def __init__(self) -> None:
        self.most: list[int] = []

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0) -> Completion:
        self.most.append(max_tokens)
        return Completion("red")

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0) -> Choice:
        return Choice((1.0,), "logits")

    def close(self) -> None:
        """Nothing to release."""


def most(budget: CallBudget) -> int:
    model = Noting()
    BudgetedBackend(model, CallAccount(budget)).generate(ASKED, 1024)  # type: ignore[arg-type]
    return model.most[0]


def test_what_a_request_is_expected_to_read() -> None:
    assert tokens_read(ASKED) == 355


@pytest.mark.parametrize(("budget", "reply"), [
    (CallBudget(), 1024), (CallBudget(tokens=1000), 1000 - 355), (CallBudget(tokens=387), 32),
    (CallBudget(money=1.0), 500 - 355), (CallBudget(tokens=450, money=1.0), 450 - 355), (CallBudget(calls=1), 1024)])
def test_a_reply_is_as_long_as_the_rest_pays_for(budget: CallBudget, reply: int) -> None:
    assert most(budget) == reply


@pytest.mark.parametrize(("budget", "name"), [
    (CallBudget(tokens=386), "tokens"), (CallBudget(money=0.773), "money"), (CallBudget(money=0.0), "money"),
    (CallBudget(calls=0), "calls")])
def test_no_call_is_made_that_could_not_be_paid(budget: CallBudget, name: str) -> None:
    with pytest.raises(LimitReached, match=f"^{name}:"):
        most(budget)


def test_an_error_tells_what_was_paid_until_then() -> None:
    def broken() -> None:
        with paying(Question("What is it?")) as question:
            assert question.account is not None
            question.account.charge(Usage(1, 100, 20, 0.5), "answer", "writer")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken") as error:
        broken()
    assert (paid_until(error.value).calls, paid_until(error.value).money) == (1, 0.5)
    assert paid_until(ValueError("another")) == Receipt()


HERE, AHEAD = Pose2(1.0, 1.0, 0.0), Pose2(1.25, 1.0, 0.0)
SQUARE = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0))
UNICORN = Sample("q", "Where is the unicorn?", "", scene="toy:flat")
WRONG = (math.nan, math.inf, -math.inf, -1)


def explored(folder: Path, limits: Limits, sample: Sample = UNICORN) -> EpisodeResult:
    """Look for what is not there, so that the limits alone end it."""
    parameters = merged(None, {"memory": {"folder": str(folder), "labels": True}, "explorer": {"policy": "frontier"}})
    with closing(InProcessRunner(parameters, limits)) as runner:
        return runner.run(sample)


@pytest.mark.parametrize("steps", [1, 13, 30])
def test_not_one_step_more_and_none_less(tmp_path: Path, steps: int) -> None:
    answer = explored(tmp_path, Limits(steps=steps)).answer
    assert answer.receipt.steps == steps and answer.error is ErrorCode.NONE
    assert answer.receipt.limit == f"{steps} steps" and f"ended by the limit of {steps} steps" in answer.message


@pytest.mark.parametrize("metres", [0.1, 3.0])
def test_not_a_metre_more(tmp_path: Path, metres: float) -> None:
    answer = explored(tmp_path, Limits(metres=metres)).answer
    assert metres - 0.26 < answer.receipt.metres <= metres + 1e-6
    assert answer.receipt.limit == f"{metres:g} metres"


@pytest.mark.parametrize("poses", [1, 3])
def test_not_a_pose_more_as_the_scorer_counts_them(tmp_path: Path, poses: int) -> None:
    result = explored(tmp_path, Limits(), replace(UNICORN, metadata={ALLOWED_POSES: poses}))
    receipt, trace = result.answer.receipt, tmp_path / "trace.zip"
    assert receipt.limit == f"{poses} poses" and f"ended by the limit of {poses} poses" in result.answer.message
    assert 3.0 * (poses - 2) < receipt.metres <= 3.0 * (poses - 1) + 1e-6 or poses == 1
    assert result.trace is not None
    save_trace(trace, result.trace)
    sample = replace(UNICORN, answer="nowhere", metadata={ALLOWED_POSES: poses})
    prediction = Prediction(UNICORN.id, result.answer, trace=trace.name)
    score = question_score(sample, prediction, OfflineJudge(), out=tmp_path)
    assert score.poses == poses and score.limit == receipt.limit


def test_the_tighter_limit_of_poses_holds() -> None:
    sample = replace(UNICORN, metadata={ALLOWED_POSES: 7})
    assert [sample.limited(Limits(steps=9, poses=own)) for own in (0, 5, 9)] == [
        Limits(steps=9, poses=7), Limits(steps=9, poses=5), Limits(steps=9, poses=7)]
    assert UNICORN.limited(Limits(poses=9)).poses == 9 and sample.as_question().limits.poses == 7


def test_a_short_drive_is_a_pose_and_a_drive_that_would_be_too_long_is_cut() -> None:
    assert [poses_of(drive_m) for drive_m in (0.0, 2.9, 3.0, 3.0000001, 3.1, 9.0)] == [1, 1, 1, 1, 2, 3]
    assert [metres_left(Limits(poses=5, metres=own), 2.0, 3) for own in (0.0, 4.0, 40.0)] == [6.0, 2.0, 6.0]


def test_time_ends_a_drive_at_once(tmp_path: Path) -> None:
    answer = explored(tmp_path, Limits(seconds=1e-6)).answer
    assert answer.receipt.steps == 0 and answer.receipt.limit == "1e-06 seconds"


def test_the_robot_does_not_leave_its_area(tmp_path: Path) -> None:
    start = explored(tmp_path / "start", Limits(steps=1)).trace.poses[0][1]  # type: ignore[union-attr]
    x, y, half = start.x, start.y, 2.0
    area = ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half))
    result = explored(tmp_path, Limits(area=area))
    assert result.trace is not None and len(result.trace.poses) > 13
    assert all(is_inside(area, pose.x, pose.y) for _, pose in result.trace.poses)


def test_an_episode_that_reaches_no_limit_is_as_without_any(tmp_path: Path) -> None:
    nowhere = replace(UNICORN, scene="toy:room")
    free = explored(tmp_path / "a", Limits(), nowhere)
    held = explored(tmp_path / "b", Limits(steps=10**6, metres=1e6, seconds=1e6, calls=10**6), nowhere)
    assert free.trace is not None and held.trace is not None and free.trace.poses == held.trace.poses
    assert held.answer.receipt.limit == "" and held.answer.message == free.answer.message


@pytest.mark.parametrize(("allowance", "ahead", "code"), [
    (Allowance(steps=3), Travelled(1, 0.0), None), (Allowance(steps=2), Travelled(1, 0.0), NavCode.OUT_OF_STEPS),
    (Allowance(metres=1.0), Travelled(1, 0.5), None), (Allowance(metres=0.9), Travelled(1, 0.5), NavCode.OUT_OF_METRES),
    (Allowance(metres=0.4), Travelled(1, 0.0), NavCode.OUT_OF_METRES),
    (Allowance(seconds=9.0), Travelled(1, 0.0), None),
    (Allowance(seconds=7.0), Travelled(1, 0.0), NavCode.OUT_OF_SECONDS)])
def test_a_leash_holds(allowance: Allowance, ahead: Travelled, code: NavCode | None) -> None:
    clock, counts = iter((100.0, 108.0)), iter((Travelled(10, 5.0), Travelled(12, 5.5)))
    leash = DriveBudget(allowance, lambda: next(counts), lambda: next(clock))
    if code is None:
        leash.check(HERE, AHEAD, ahead)
        return
    with pytest.raises(DriveEnded) as ended:
        leash.check(HERE, AHEAD, ahead)
    assert ended.value.result.code is code and code.limit


def test_a_leash_lets_a_robot_into_its_area_and_not_out() -> None:
    leash = DriveBudget(Allowance(area=SQUARE))
    outside, still_outside = Pose2(-1.0, 1.0, 0.0), Pose2(-0.5, 1.0, 0.0)
    leash.check(outside, still_outside, Travelled(1, 0.5))
    leash.check(still_outside, HERE, Travelled(1, 0.5))
    leash.check(HERE, AHEAD, Travelled(1, 0.25))
    with pytest.raises(DriveEnded, match="would leave the question's area"):
        leash.check(Pose2(1.9, 1.0, 0.0), Pose2(2.1, 1.0, 0.0), Travelled(1, 0.2))


def test_without_odometry_no_limit_in_metres_is_promised() -> None:
    with pytest.raises(DriveEnded, match="no odometry has arrived"):
        DriveBudget(Allowance(metres=3.0))


@pytest.mark.parametrize("name", ["metres", "seconds", "money", "steps", "calls", "tokens", "poses"])
@pytest.mark.parametrize("value", WRONG)
def test_what_is_no_limit_is_refused_before_anything_moves(name: str, value: float) -> None:
    world = World({})
    limits = Limits()._replace(**{name: value})
    answer = Agent(Ports(world, world, world, world, world)).ask(QUESTION._replace(limits=limits))
    assert answer.error is ErrorCode.BAD_QUESTION and name in answer.message and world.calls == []


def test_what_no_message_can_hold_is_refused() -> None:
    with pytest.raises(BadQuestion, match="whole number"):
        check_limits(Limits(steps=2**32))
    with pytest.raises(BadQuestion, match="whole number"):
        check_limits(Limits(calls=2.5))  # type: ignore[arg-type]
    with pytest.raises(BadQuestion, match="corners"):
        check_limits(Limits(area=((0.0, 0.0), (1.0, 1.0))))
    check_limits(Limits())


@pytest.mark.parametrize("read", [whole, whole_or_none, measure_or_none])
@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "-inf", "1e400", "", "many", "0.0"])
def test_options_refuse_what_limits_nothing(read: Callable[[str], float], text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected a"):
        read(text)


def test_options_take_numbers_and_none() -> None:
    said = command_of(["ask", "Where is the mug?", "--max-steps", "none", "--max-metres", "2.5", "--max-tokens", "900"])
    assert isinstance(said, Ask)
    assert said.config.limits == Limits(metres=2.5, tokens=900) and said.config.question_limits == Limits(metres=2.5)
    for word in ("--max-metres=nan", "--max-seconds=-1", "--max-calls=0", "--max-money=inf"):
        with pytest.raises(SystemExit):
            command_of(["ask", "Where is the mug?", word])


def test_a_limit_of_money_wants_prices() -> None:
    with pytest.raises(ConfigError, match="no prices are known"):
        merged(None, {"agent": {"agent.max_money": 0.5}})
    merged(None, {"agent": {"agent.max_money": 0.5}, "answerer": {"model.price_in": 1.0}})


def test_the_limit_survives_a_message() -> None:
    assert limit_in_words("") == "" and limit_in("nothing was seen") == ""
    told = Answer(message="not seen; nothing left").saying("", limit_in_words("3 model calls"))
    assert told.message == "not seen; nothing left; ended by the limit of 3 model calls"
    assert limit_in(told.message) == "3 model calls"


# --- the model's turns -------------------------------------------------------------------------------------------


class Asked(World):
    """A world whose answerer is a model: every call is one of a scripted backend."""

    def __init__(self, answer: str = "", **more: Any) -> None:
        super().__init__({}, goals=30)
        self.backend = ScriptedBackend([self._reply(answer)] * 200, config=ModelConfig(**more))
        self.model = VlmAnswerer(self.backend)

    @staticmethod
    def _reply(answer: str) -> Callable[[Sequence[Message]], str]:
        def reply(messages: Sequence[Message]) -> str:
            words, images = str(messages[0].parts[0]), [p for p in messages[-1].parts if isinstance(p, bytes)]
            if '"regions"' in words:
                return json.dumps({"regions": {"kitchen": 1.0}})
            if '"views"' in words:
                return json.dumps({"views": [{"image": i + 1, "relevance": 0.9, "enough": 0.6, "worth": 0.5,
                                              "target": "", "region": "", "says": "", "note": ""}
                                             for i in range(len(images))]})
            return answer or json.dumps({"answer": "on the table", "confidence": 0.3, "images": [1], "abstain": False})

        return reply

    def ask_within(self, limits: Limits = Limits(), **config: Any) -> Answer:
        agent = Agent(Ports(self, self, self, self.model, self), AgentConfig(**config))
        return agent.ask(QUESTION._replace(limits=limits))

    def since(self, keyframe_id: int) -> list[Any]:
        return [view(i, Pose2(float(i), 0.0, 0.0), jpeg=red_jpeg()) for i in range(keyframe_id + 1, self.seen + 1)]

    def recall(self, query: RecallQuery) -> list[Recalled]:
        return [Recalled(one, 0.5, "") for one in self.since(0)[-query.limit:]]

    def prompts(self) -> list[str]:
        words = [str(messages[0].parts[0]) for messages in self.backend.requests]
        return ["regions" if '"regions"' in w else "views" if '"views"' in w else "answer" for w in words]


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_not_one_call_more_and_the_last_is_the_answer(calls: int) -> None:
    world = Asked()
    answer = world.ask_within(Limits(calls=calls))
    assert len(world.backend.requests) <= calls and world.prompts()[-1] == "answer"
    assert answer.text == "on the table" and answer.receipt.limit == f"{calls} model calls"
    assert answer.receipt.calls == len(world.backend.requests)


def test_a_reply_that_is_asked_for_again_costs_a_call_too() -> None:
    """14 calls: a broken reply is asked for twice, which was not counted before."""
    for calls in (1, 2, 5):
        world = Asked(answer="What form?")
        answer = world.ask_within(Limits(calls=calls))
        assert len(world.backend.requests) <= calls and answer.abstained


def test_a_label_answerer_that_asks_no_model_is_not_held_up_by_a_limit_of_calls(tmp_path: Path) -> None:
    free, held = explored(tmp_path / "a", Limits(steps=20)), explored(tmp_path / "b", Limits(steps=20, calls=1))
    assert free.trace is not None and held.trace is not None and free.trace.poses == held.trace.poses


@pytest.mark.parametrize("tokens", [400, 1500, 4000])
def test_tokens_of_a_question_end_it(tokens: int) -> None:
    world = Asked()
    answer = world.ask_within(max_tokens=tokens)
    assert answer.receipt.tokens_in + answer.receipt.tokens_out <= tokens
    assert answer.receipt.limit == f"{tokens} model tokens"


def test_money_of_a_question_ends_it_and_leaves_some_for_the_answer() -> None:
    world = Asked(price_in=1000.0, price_out=1000.0)  # the money of a token is 0.001
    answer = world.ask_within(max_money=2.0)
    assert 0 < answer.receipt.money <= 2.0 and answer.receipt.limit == "2 units of money"
    assert world.prompts()[-1] == "answer"


def test_captions_keep_a_call_for_the_answer() -> None:
    backend = ScriptedBackend([Completion("a red room")] * 2 + [json.dumps(
        {"answer": "red", "confidence": 0.9, "images": [1], "abstain": False})])
    items = [Recalled(view(i, HERE, jpeg=red_jpeg(64 + i)), 1.0, "") for i in range(1, 6)]
    asked = Question("What colour is the room?", account=CallAccount(CallBudget(calls=3)))
    answer = CaptionAnswerer(backend).answer(asked, items)
    assert answer.text == "red" and len(backend.requests) == 3


def test_an_empty_purse_is_told_by_its_name() -> None:
    for purse, name in ((CallBudget(calls=0), "calls"), (CallBudget(tokens=10), "tokens"),
                        (CallBudget(money=0), "money")):
        with pytest.raises(LimitReached, match=f"^{name}:"):
            VlmAnswerer(ScriptedBackend(["{}"])).regions(QUESTION._replace(account=CallAccount(purse)))


def test_a_reply_is_no_longer_than_what_is_left() -> None:
    asked: list[int] = []

    class Noting(ScriptedBackend):
        def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0) -> Completion:
            asked.append(max_tokens)
            return super().generate(messages, max_tokens, seed)

    VlmAnswerer(Noting(['{"regions": {}}'])).regions(QUESTION._replace(account=CallAccount(CallBudget(tokens=2000))))
    assert len(asked) == 1 and 32 <= asked[0] < 2000
