"""A call of a model is held to what its question may still cost; the estimates are worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from eqa_nodes.core.errors import LimitReached
from eqa_nodes.core.ledger import BudgetedBackend, paid_until, paying, tokens_read
from eqa_nodes.core.model import Choice, Completion, Message
from eqa_nodes.core.types.costs import CallAccount, CallBudget, Usage
from eqa_nodes.core.types.questions import Question, Receipt

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
