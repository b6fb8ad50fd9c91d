"""What the robot did, in sentences: true to the episode, whatever it was and however it ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eqa_nodes.bench.report.story import listed, story_of
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.policies.steering import ENDINGS
from eqa_nodes.core.types.calls import CallPicture, ModelCall
from eqa_nodes.core.types.floor import joined
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Evidence, Receipt
from eqa_nodes.core.types.trace import EpisodeTrace
from tests.fixtures.synthetic_run import path, trace

PROOF = (Evidence(6, 6_000_000_000, Pose2(1, 1, 0), "cup, desk"),)
CUP = Answer("on the desk", 0.82, evidence=PROOF, receipt=Receipt(40, 10.0, 12.5))


def told(answer: Answer, episode: EpisodeTrace | None, weak: str = "") -> str:
    return " ".join(story_of(Prediction("q", answer, None, ""), episode, weak))


def test_a_drive_is_told_from_its_beginning_to_its_proof() -> None:
    story = told(CUP, trace("Where is the cup?", CUP))
    assert story.startswith("The robot drove 10.0 m and chose 3 times where to look.")
    assert "At first it largest frontier" in story and "At last it a desk is in view" in story
    assert "On the way it saw the hallway, the living room, the kitchen and the study." in story
    assert "taken 6 s after the start: cup, desk." in story and story.endswith("It was 82 % sure.")
    assert "model" not in story


def test_it_says_that_it_looked_round_first() -> None:
    episode, still = trace("Where?", CUP), path()[0][1]
    turning = [(k * 500_000_000, still._replace(yaw=0.5 * k)) for k in range(12)]
    begun = replace(episode, poses=turning, decisions=[episode.decisions[0]._replace(stamp_ns=turning[-1][0])])
    story = told(CUP, begun)
    assert story.startswith("The robot first looked round from where it stood. Then it drove 10.0 m and chose once")


@pytest.mark.parametrize(("turned", "begins"), [(3, "The robot drove"), (4, "The robot first looked round")])
def test_four_observations_from_one_place_are_a_look_round(turned: int, begins: str) -> None:
    episode, still = trace("Where?", CUP), path()[0][1]
    begun = replace(episode, poses=[(k, still) for k in range(turned)],
                    decisions=[episode.decisions[0]._replace(stamp_ns=turned - 1)])
    assert told(CUP, begun).startswith(begins)


@pytest.mark.parametrize(("rooms", "ends"), [(6, "the r4 and the r5."), (7, "the r5 and 1 more.")])
def test_six_rooms_are_named(rooms: int, ends: str) -> None:
    seen = trace("Where?", CUP)
    views = [replace(seen.keyframes[0], region=f"r{k}") for k in range(rooms)]
    assert ends in told(CUP, replace(seen, keyframes=views))


def test_weak_and_missing_evidence_are_no_proof() -> None:
    assert "The proof is weak: it is small." in told(CUP, trace("?", CUP), "it is small")
    assert "No picture proves the answer: take it as a guess." in told(replace(CUP, evidence=()), trace("?", CUP))


def test_a_note_that_is_a_sentence_gets_no_second_full_stop() -> None:
    said = replace(CUP, evidence=(PROOF[0]._replace(note="The cup is on the desk."),))
    assert "after the start: The cup is on the desk. It was" in told(said, trace("?", said))


def test_failures_abstentions_and_nothing_at_all() -> None:
    lost = Answer(abstained=True, error=ErrorCode.NAVIGATION, message="it is stuck")
    assert told(lost, None) == "It ended with an error: it is stuck."
    unsure = Answer(abstained=True, message="no lamp was found", receipt=Receipt(metres=3.0))
    assert told(unsure, trace("?", unsure)).endswith("It found no answer: no lamp was found.")
    assert told(Answer("a cup", 0.5), None) == "No picture proves the answer: take it as a guess. It was 50 % sure."


def test_a_recording_is_no_drive() -> None:
    seen = replace(trace("?", CUP), decisions=[], grid=None)
    story = told(replace(CUP, receipt=Receipt()), seen)
    assert story.startswith("No robot moved for this question")
    assert "8 views of it are kept here. The views show the hallway" in story and "drove" not in story


def test_a_model_that_was_asked_is_named() -> None:
    call = ModelCall(0, Pose2(0, 0, 0), "?", "decide", (CallPicture(1), CallPicture(2)))
    assert "A model was asked twice and saw 4 pictures." in told(CUP, replace(trace("?", CUP), calls=[call, call]))


@pytest.mark.parametrize("ended", ENDINGS)
def test_how_the_drive_before_ended_is_no_aim(ended: str) -> None:
    seen, reason = trace("?", CUP), 'looks again, to be sure that it is "bed: white; sofa: not seen, out of 3"'
    first = seen.decisions[0]._replace(reason=joined(f"{ended}{reason}", "a door"))
    assert f"It {reason}. On the way" in told(CUP, replace(seen, decisions=[first])), "an answer stays whole"


def test_words_are_listed() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
