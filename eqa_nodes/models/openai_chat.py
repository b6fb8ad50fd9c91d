"""Any OpenAI-compatible server (OpenAI, vLLM, llama.cpp, Ollama, LM Studio ...) over its chat completions endpoint."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from eqa_nodes.core.errors import ConfigError, MissingExtra, ModelError
from eqa_nodes.core.ledger import repeats, tokens_read
from eqa_nodes.core.model import (
    CONTEXT,
    LETTERS,
    Choice,
    Completion,
    Message,
    Schema,
    choose_verbalised,
    images_in,
    letter_menu,
)
from eqa_nodes.core.traits import Traits
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.meter import UsageMeter
from eqa_nodes.models.quirks import LOADING, REMEDIES, TOKENS, Refusal, is_final, quirks_of, read_refusal
from eqa_nodes.models.reply import (
    SERVER_SAID,
    cached_tokens,
    content_of,
    fills_context,
    finish_reason,
    first_choice,
    letter_weights,
    model_names,
    parse,
    tokens_of,
)
from eqa_nodes.models.request import Attempts, ModelRequest, body_of
from eqa_nodes.models.transport import EndpointPolicy, check_url, checked_key, guarded_client, hidden, usual_url

log = logging.getLogger(__name__)
_GRACE_S = 5.0  # time for a call that has reached its deadline to release its connection
_TIMEOUTS = (asyncio.TimeoutError, concurrent.futures.TimeoutError)  # the same class from Python 3.11 on
_LOADING_S = 1.0  # between requests to a server that still loads its model
_HOPELESS = ("no connection", "not authorised", "not found", "timed out", "not a chat model", "no quota", LOADING)


# Tells a hook of the HTTP library which account a request belongs to.
_CHARGED: ContextVar[CallAccount | None] = ContextVar("_CHARGED")


def _setting(given: str, names: Sequence[str], what: str, environ: Mapping[str, str]) -> str:
    value = given or next((environ[name] for name in names if environ.get(name)), "")
    if not value:
        either = "" if len(names) == 1 else f" (or {names[1]})"
        raise ConfigError(f"no {what} for the model: set {names[0]}{either}; docs/models.md has examples")
    return value


def _pictured(body: Mapping[str, Any]) -> int:
    """Return the number of pictures in a request."""
    return sum(part["type"] == "image_url" for message in body["messages"] if isinstance(message["content"], list)
               for part in message["content"])


class OpenAIChat:
    """A chat model behind HTTP. Raises ConfigError for a missing setting, MissingExtra without the openai library.

    Empty base_url, model and api_key come from EQA_VLM_BASE_URL, EQA_VLM_MODEL and EQA_VLM_API_KEY; OPENAI_BASE_URL and
    OPENAI_API_KEY are read if the first and the last are not set. The library retries after 408, 409, 429, 5xx and lost
    connections; deadline_s limits the whole call, however slowly the server writes. What a server refuses (a field, a
    form, the number or size of pictures) is remembered, and the request is sent again without it (quirks.py).
    """

    traits = Traits(library="openai", extra="vlm")

    def __init__(self, config: ModelConfig = ModelConfig(), api_key: str = "",
                 environ: Mapping[str, str] = os.environ) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtra("openai", "vlm") from error
        self._openai, self._config = openai, config
        self._url = _setting(config.base_url, ("EQA_VLM_BASE_URL", "OPENAI_BASE_URL"), "base URL", environ)
        self.model = _setting(config.model, ("EQA_VLM_MODEL",), "model name", environ)
        self._key = checked_key(_setting(api_key, ("EQA_VLM_API_KEY", "OPENAI_API_KEY"),
                                         "API key (any text if the server needs none)", environ))
        check_url(self._url)
        self._policy = EndpointPolicy(config, self._url, environ)
        self._meter = UsageMeter(config)
        self._logprobs = config.logprobs
        self._quirks = quirks_of(self._url, self.model)
        # An own event loop: a request whose server sends byte by byte for ever can only be ended by cancelling it.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="openai-chat", daemon=True)
        self._thread.start()
        self._client = openai.AsyncOpenAI(
            base_url=self._url, api_key=self._key, timeout=config.timeout_s, max_retries=config.max_retries,
            http_client=guarded_client(openai.DefaultAsyncHttpxClient, self._policy.check, config.reply_mb, is_final,
                                       self._hidden, event_hooks={"request": [self._count]}))

    @staticmethod
    def check(config: ModelConfig) -> None:
        """Raise ModelError if the endpoint is unreachable, refuses the key, or does not know the model.

        Reads the server's list of models, which costs nothing. If the list is missing or lacks the name (some servers
        know others, too), the model is asked for one word. Raises ConfigError, MissingExtra like the constructor.
        """
        chat = OpenAIChat(replace(config, cassette="", budget_calls=0, budget_tokens=0, budget_money=0.0,
                                  max_retries=0))
        try:
            if chat.model not in (listed := chat.models()):
                chat._ask_for_a_word(listed)
        finally:
            chat.close()

    def _ask_for_a_word(self, listed: Sequence[str]) -> None:
        """Raise ModelError if the model cannot be used at all. listed: the models that the server names."""
        try:
            self.generate([Message("user", ("Reply with one word: ready.",))], 16)
        except ModelError as error:
            if str(error).startswith(_HOPELESS):
                known = f"; it has {', '.join(listed[:10])}" if listed else ""
                raise ModelError(f"{error}{known}") from error

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far; every request sent counts as a call, including the library's retries."""
        return self._meter.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the model's next turn. Raises ModelError, BudgetSpent.

        schema: JSON schema of the reply, sent as `response_format` in the best form that the server accepts.
        """
        return self._complete(ModelRequest(messages, max_tokens, seed, schema, account=account))[0]

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Return the options' probabilities: from the first token's logprobs if the server gives them, else stated."""
        menu = letter_menu(options)
        if self._logprobs:
            choice = self._choose_by_logprobs([*messages, menu], LETTERS[:len(options)], seed, account)
            if choice is not None:
                return choice
        return choose_verbalised(self, messages, options, seed, account)

    def models(self) -> list[str]:
        """Return the names in the server's list of models, [] if it has no list.

        Raises ModelError if the server does not answer or refuses the key.
        """
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(self._list(), self._config.deadline_s), self._loop)
        try:
            return model_names(self._hidden(future.result(self._config.deadline_s + 1.0)))
        except _TIMEOUTS as error:
            raise ModelError(f"timed out: {self._url} gave no list of models within {self._config.deadline_s:g} s"
                             ) from error
        except Exception as error:
            if isinstance(error, self._openai.APIStatusError) and error.status_code not in (401, 403):
                return []  # some servers have no such list
            raise ModelError(self._hidden(self._explain(error))) from error
        finally:
            future.cancel()

    def close(self) -> None:
        """Close connections and end the loop's thread."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result(self._config.timeout_s)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(self._config.timeout_s)

    def _run_loop(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def _choose_by_logprobs(self, messages: Sequence[Message], letters: str, seed: int,
                            account: CallAccount | None) -> Choice | None:
        if "logprobs" in self._quirks.dialect.refused:
            return None
        try:
            _, choice = self._complete(ModelRequest(messages, 1, seed, logprobs=True, account=account))
        except ModelError as error:
            refusal = self._refusal(error, 0)
            if refusal is None or refusal.kind() or not (refusal.status in (400, 422) or refusal.names("logprobs")):
                raise
            self._logprobs = False  # this server refuses the parameter: never send it again
            return None
        weights = letter_weights(choice, letters)
        if weights is None:
            self._logprobs = False
            return None
        total = sum(weights)
        return Choice(tuple(weight / total for weight in weights), "logprobs") if total > 0.0 else None

    def _complete(self, ask: ModelRequest) -> tuple[Completion, dict[str, Any]]:
        """Return the reply and its choice; the request is repeated without what the server refuses."""
        attempts, pictures = Attempts(self._quirks, ask), images_in(ask.messages)
        expected = tokens_read(ask.messages)
        while True:
            dialect = self._quirks.dialect
            most = attempts.max_tokens(dialect, self.usage)
            body = body_of(ask, self.model, self._config, dialect, most)
            try:
                with self._meter.holding(expected, most):
                    done, choice = self._once(body, ask.account)
                self._meter.was_read(expected, done.tokens_in)
            except ModelError as error:
                refusal = self._refusal(error, pictures)
                if refusal is None or not attempts.again(refusal, dialect, body):
                    if refusal is not None and "unexpected endpoint" in refusal.words:
                        raise ModelError(f"not found: {error}{self._elsewhere()}") from error
                    raise
                continue
            if not attempts.again_for_thoughts(done, dialect, self.usage):
                return done, choice

    def _once(self, body: dict[str, Any], account: CallAccount | None) -> tuple[Completion, dict[str, Any]]:
        self._policy.check_size(body)
        text = self._request(body, account)
        data = parse(text, self.model)
        tokens = tokens_of(data)
        self._meter.add(account, 0, *tokens, _pictured(body), cached_tokens(data))
        choice = first_choice(data, self.model)
        reason = finish_reason(choice)
        if reason == "length" and fills_context(*tokens, max(body.get(name, 0) for name in TOKENS)):
            reason = CONTEXT
        if "response_format" in body:
            self._quirks.form_was_taken()
        return Completion(content_of(choice, self.model), *tokens, reason or "stop"), choice

    def _refusal(self, error: ModelError, pictures: int) -> Refusal | None:
        """Return the server's refusal of a request; None if something else failed."""
        if isinstance(error.__cause__, self._openai.APIStatusError):
            return read_refusal(error.__cause__.status_code, self._hidden(error.__cause__.response.text), pictures)
        return read_refusal(200, str(error), pictures) if str(error).startswith(SERVER_SAID) else None

    def _request(self, body: dict[str, Any], account: CallAccount | None) -> str:
        """Return the reply without the API key, because it is parsed, shown in errors and recorded."""
        client = self._client.with_options(max_retries=repeats(account, self._config.max_retries))
        deadline = self._config.deadline_s
        waited = list[str]()
        asked = self._loaded(client, body, waited, account)
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(asked, deadline), self._loop)
        try:
            return self._hidden(future.result(deadline + _GRACE_S))
        except _TIMEOUTS as error:
            what = waited[0] if waited else f"timed out: no complete reply from {self._url}"
            raise ModelError(f"{what} within {deadline:g} s: raise model.deadline_s (--deadline) for a model that "
                             "takes longer") from error
        except Exception as error:  # whatever the HTTP libraries raise: only a ModelError may end a question
            raise ModelError(self._hidden(self._explain(error, _pictured(body)))) from error
        finally:
            future.cancel()

    async def _loaded(self, client: Any, body: dict[str, Any], waited: list[str], account: CallAccount | None) -> str:
        """Return the reply as text, because the library's own models accept almost anything.

        The request is repeated while the server still loads its model; these requests do not count as calls.

        waited: receives a text that says what was waited for.
        """
        while True:
            _CHARGED.set(account)
            try:
                reply = await client.chat.completions.with_raw_response.create(**body)
                return str(reply.text)
            except self._openai.APIStatusError as error:
                if read_refusal(error.status_code, error.response.text, 0).kind() != LOADING:
                    raise
            self._meter.add(account, -1)
            if not waited:
                log.warning("%s loads %s; it is asked again until the deadline", self._url, self.model)
                waited.append(f"{LOADING}: {self._url} has not loaded {self.model}")
            await asyncio.sleep(_LOADING_S)

    async def _list(self) -> str:
        _CHARGED.set(None)
        reply = await self._client.models.with_raw_response.list()
        return reply.text

    def _elsewhere(self) -> str:
        """Return a hint at the probable base URL for an error message; "" if the base URL has the usual form."""
        usual = usual_url(self._url)
        return "" if usual == self._url.rstrip("/") else f"; most servers are asked at {usual}: set --base-url to it"

    async def _count(self, request: object) -> None:
        self._meter.add(_CHARGED.get(), 1)

    def _hidden(self, text: str) -> str:
        return hidden(text, self._key)

    def _explain(self, error: Exception, pictures: int = 0) -> str:
        lib, tries = self._openai, self._config.max_retries + 1
        if isinstance(error, ModelError):
            return str(error)
        if isinstance(error.__cause__, ModelError):  # older versions of the library wrap the client's errors
            return str(error.__cause__)
        if isinstance(error, lib.APITimeoutError):
            return f"timed out: {self._url} did not reply within {self._config.timeout_s:g} s, {tries} times"
        if isinstance(error, lib.APIConnectionError):
            cause = error.__cause__ or error
            said = self._hidden(str(cause))[:200]
            if "Protocol" in type(cause).__name__:
                return f"cut off: {self._url} does not keep to HTTP, {tries} times: {said}"
            return f"no connection: {self._url} cannot be reached ({said}): is the server running?"
        if isinstance(error, lib.APIStatusError):
            kind = {401: "not authorised (EQA_VLM_API_KEY)", 403: "not authorised (EQA_VLM_API_KEY)",
                    404: "not found (EQA_VLM_BASE_URL, EQA_VLM_MODEL)", 429: "rate limited"}.get(
                        error.status_code, "server error" if error.status_code >= 500 else "rejected")
            text = self._hidden(error.response.text)
            refusal = read_refusal(error.status_code, text, pictures)
            if named := refusal.kind():
                said = f"{refusal.code}: {text[:200]!r}" if refusal.code else f"{text[:200]!r}"
                return f"{named}: {self.model} at {self._url} refuses the request ({said}): {REMEDIES[named]}"
            return (f"{kind}: {self._url} answered HTTP {error.status_code} for {self.model}: {text[:200]!r}"
                    f"{self._elsewhere() if error.status_code in (404, 405) else ''}")
        return f"failed: {self._url}: {type(error).__name__} {self._hidden(str(error))[:200]}"
