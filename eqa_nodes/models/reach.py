"""Checks that an endpoint is reachable by its list of models, which costs nothing."""

from __future__ import annotations

from dataclasses import replace

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import Message
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.openai_chat import OpenAIChat

_TIMEOUT_S = 20.0
_TOKENS = 16
_ASK = "Reply with one word: ready."
_HOPELESS = ("no connection", "not authorised", "not found", "timed out")  # how a ModelError begins


def check_reachable(config: ModelConfig) -> None:
    """Raise ModelError if the endpoint is unreachable, refuses the key, or does not know the model.

    Where its list of models lacks the name (some servers know others, too) or there is no list, the model is asked for
    one word. Raises ConfigError, MissingExtra as OpenAIChat.
    """
    quick = replace(config, cassette="", budget_calls=0, budget_tokens=0, budget_money=0.0, rate_calls=0, rate_tokens=0,
                    max_retries=0, timeout_s=min(config.timeout_s, _TIMEOUT_S),
                    deadline_s=min(config.deadline_s, _TIMEOUT_S))
    chat = OpenAIChat(quick)
    try:
        if chat.model in (listed := chat.models()):
            return
        try:
            chat.generate([Message("user", (_ASK,))], _TOKENS)
        except ModelError as error:
            if str(error).startswith(_HOPELESS):
                known = f"; it has {', '.join(listed[:10])}" if listed else ""
                raise ModelError(f"{error}{known}") from error
    finally:
        chat.close()
