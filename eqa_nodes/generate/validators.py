"""Reads the answers of people who validate the questions, as in OpenEQA (supplement B.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import decode, read_json
from eqa_nodes.generate.filters import says_the_same
from eqa_nodes.generate.pages import ANSWER_PAGE, fingerprint
from eqa_nodes.generate.values import ACCEPTED, REJECTED, Benchmark, QuestionAnswer, QuestionAttempt, ValidatorReply

_ANSWER, _INVALID = "answer", ("ambiguous", "unanswerable")


@dataclass(frozen=True)
class Validation:
    """The file that answer.html exports. data: fingerprint of the records it showed."""

    validator: str
    data: str
    answers: Mapping[str, ValidatorReply]


def read_validations(files: Sequence[Path], records: Sequence[QuestionAttempt]) -> list[Validation]:
    """Read the exports of validators. Raises ConfigError for a single file, and for answers to other questions."""
    if len(files) == 1:
        raise ConfigError(f"{files[0]} is the only file of answers: two people or more must answer each question")
    validations = [_read(file, records) for file in files]
    names = Counter(validation.validator for validation in validations)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ConfigError(f"the validator {twice[0]!r} has two files: answers are counted by validator")
    return validations


def _read(file: Path, records: Sequence[QuestionAttempt]) -> Validation:
    validation = decode(Validation, read_json(file))
    if validation.data != fingerprint(records):
        raise ConfigError(f"{file} is about other questions than those in this folder: export it again from the "
                          f"present {ANSWER_PAGE}")
    wrong = [i for i, reply in validation.answers.items() if not _well_formed(reply)]
    if wrong:
        raise ConfigError(f"{file}: the reply to record {wrong[0]!r} must be {_ANSWER}, with answers that are not "
                          f"empty, or {' or '.join(_INVALID)}")
    return validation


def _well_formed(reply: ValidatorReply) -> bool:
    if reply.verdict == _ANSWER:
        return bool(reply.answers) and all(answer.strip() for answer in reply.answers)
    return reply.verdict in _INVALID


def validated(record: QuestionAttempt, asked: str, validations: Sequence[Validation],
              kind: Benchmark) -> QuestionAttempt:
    """Return a reviewed record with the validators' answers. asked: the question in the wording that they saw.

    One mark by a validator, or a missing reply, removes the question. Answers that agree with the reference become
    further accepted ones; for "where" questions all do, as a place can be described in several ways. Answers that
    differ from the reference are in `disputed`, for a person to check.
    """
    if not validations:
        return record
    replies = {v.validator: v.answers[record.id] for v in validations if record.id in v.answers}
    record = replace(record, validations=replies)
    if record.status != ACCEPTED:
        return record
    for name, reply in replies.items():
        if reply.verdict in _INVALID:
            return replace(record, status=REJECTED, reason=f"a validator marked it {reply.verdict}: {name}")
    if len(replies) < len(validations):
        return replace(record, status=REJECTED, reason="not all validators have answered it")
    return _extended(record, asked, replies, kind.answers_to(record.category, asked) > 1)


def _extended(record: QuestionAttempt, asked: str, replies: Mapping[str, ValidatorReply],
              several: bool) -> QuestionAttempt:
    """Return a record with further accepted answers, and with those that a person has to check."""
    pair = record.pair
    assert pair is not None
    reworded = pair.question != asked
    said = [(name, answer.strip()) for name, reply in replies.items() for answer in reply.answers]
    differ = [(name, answer) for name, answer in said if reworded or not says_the_same(pair, answer)]
    kept = [answer for name, answer in said if not reworded and (several or (name, answer) not in differ)]
    return replace(record, pair=_with(pair, kept), disputed=tuple(
        f"{name}: {answer}{' (to the question as it was before a reviewer changed it)' if reworded else ''}"
        for name, answer in differ))


def _with(pair: QuestionAnswer, answers: Sequence[str]) -> QuestionAnswer:
    """Add answers that are new, ignoring case and a full stop."""
    known = {_plain(text) for text in (pair.answer, *pair.alternatives)}
    new = []
    for answer in answers:
        if _plain(answer) not in known:
            known.add(_plain(answer))
            new.append(answer)
    return pair._replace(alternatives=(*pair.alternatives, *new))


def _plain(text: str) -> str:
    return text.strip().rstrip(".").casefold()
