"""Any OpenAI-compatible server (OpenAI, vLLM, llama.cpp, Ollama, LM Studio ...) over its chat completions endpoint."""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eqa_nodes.core.errors import ConfigError, MissingExtra, ModelError
from eqa_nodes.core.model import Budget, Choice, Completion, Message, Usage, choose_verbalised

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TOP_LOGPROBS = 20  # the most that the interface gives
_TIMEOUTS = (asyncio.TimeoutError, concurrent.futures.TimeoutError)  # one class only from Python 3.11 on


@dataclass(frozen=True)
class OpenAIChatConfig:
    """Empty base_url, model and api_key come from EQA_VLM_BASE_URL, EQA_VLM_MODEL and EQA_VLM_API_KEY.

    OPENAI_BASE_URL and OPENAI_API_KEY are read where the first and the last are not set. temperature None: not sent.
    timeout_s: one request; deadline_s: one call with all its retries, however slowly the server writes.
    max_retries: by the openai library, after 408, 409, 429, 5xx and lost connections. budget_*: 0 = no limit.
    """

    base_url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    temperature: float | None = 0.0
    timeout_s: float = 60.0
    deadline_s: float = 180.0
    max_retries: int = 2
    tokens_field: str = "max_tokens"  # some newer models want max_completion_tokens
    logprobs: bool = True
    budget_calls: int = 0
    budget_tokens: int = 0


def _setting(given: str, names: Sequence[str], what: str, environ: Mapping[str, str]) -> str:
    value = given or next((environ[name] for name in names if environ.get(name)), "")
    if not value:
        raise ConfigError(f"no {what} for the model: set {names[0]}" + ("" if len(names) == 1 else f" (or {names[1]})"))
    return value


class OpenAIChat:
    """A chat model behind HTTP. Raises ConfigError for a missing setting, MissingExtra without the openai library."""

    def __init__(self, config: OpenAIChatConfig | None = None, environ: Mapping[str, str] = os.environ) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtra("openai", "vlm") from error
        self._openai = openai
        self._config = config = config or OpenAIChatConfig()
        self._url = _setting(config.base_url, ("EQA_VLM_BASE_URL", "OPENAI_BASE_URL"), "base URL", environ)
        self.model = _setting(config.model, ("EQA_VLM_MODEL",), "model name", environ)
        self._key = _setting(config.api_key, ("EQA_VLM_API_KEY", "OPENAI_API_KEY"),
                             "API key (any text where the server wants none)", environ)
        if not self._url.startswith(("http://", "https://")):
            raise ConfigError(f"base URL {self._url!r} must begin with http:// or https://: set EQA_VLM_BASE_URL")
        self._budget = Budget(config.budget_calls, config.budget_tokens)
        self._usage = Usage()
        self._lock = threading.Lock()
        self._logprobs = config.logprobs
        # An own event loop: cancelling a coroutine is the only way to end a request whose server drips for ever.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="openai-chat", daemon=True)
        self._thread.start()
        self._client = openai.AsyncOpenAI(
            base_url=self._url, api_key=self._key, timeout=config.timeout_s, max_retries=config.max_retries,
            http_client=openai.DefaultAsyncHttpxClient(event_hooks={"request": [self._count]}))

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far; every request sent is a call, also those that the library retries."""
        with self._lock:
            return self._usage + Usage()

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0) -> Completion:
        """Return the model's next turn. Raises ModelError, BudgetSpent."""
        return self._complete(messages, seed, {self._config.tokens_field: max_tokens})[0]

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0) -> Choice:
        """Return the options' probabilities: of the first token where the server gives logprobs, else stated ones."""
        if not 2 <= len(options) <= len(_LETTERS):
            raise ModelError(f"wrong form: a choice needs 2 to {len(_LETTERS)} options, not {len(options)}")
        if self._logprobs:
            choice = self._choose_by_logprobs(messages, options, seed)
            if choice is not None:
                return choice
        return choose_verbalised(self, messages, options, seed)

    def close(self) -> None:
        """Close connections and end the loop's thread."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result(self._config.timeout_s)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(self._config.timeout_s)

    def _run_loop(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def _choose_by_logprobs(self, messages: Sequence[Message], options: Sequence[str], seed: int) -> Choice | None:
        letters = _LETTERS[:len(options)]
        menu = "\n".join(f"{letter}) {option}" for letter, option in zip(letters, options))
        ask = Message("user", (f"{menu}\nReply with the letter of the right option and nothing else.",))
        try:
            _, choice = self._complete([*messages, ask], seed, {self._config.tokens_field: 1, "logprobs": True,
                                                                "top_logprobs": _TOP_LOGPROBS})
        except ModelError as error:
            if not isinstance(error.__cause__, self._openai.BadRequestError):
                raise
            self._logprobs = False  # this server refuses the parameter: never ask again
            return None
        weights = _letter_weights(choice, letters)
        if weights is None:
            self._logprobs = False
            return None
        total = sum(weights)
        return Choice(tuple(weight / total for weight in weights), "logprobs") if total > 0.0 else None

    def _complete(self, messages: Sequence[Message], seed: int,
                  extra: dict[str, Any]) -> tuple[Completion, dict[str, Any]]:
        body = {"model": self.model, "messages": [_wire(message) for message in messages], "seed": seed, **extra}
        if self._config.temperature is not None:
            body["temperature"] = self._config.temperature
        data = _parse(self._request(body), self.model)
        spent = data["usage"] if isinstance(data.get("usage"), dict) else {}
        tokens = _count_of(spent, "prompt_tokens"), _count_of(spent, "completion_tokens")
        with self._lock:
            self._usage += Usage(0, *tokens)
        choice = _first_choice(data, self.model)
        return Completion(_content(choice, self.model), *tokens, str(choice.get("finish_reason") or "stop")), choice

    def _request(self, body: dict[str, Any]) -> str:
        self._budget.check(self.usage)
        post = asyncio.wait_for(self._post(body), self._config.deadline_s)
        future = asyncio.run_coroutine_threadsafe(post, self._loop)
        try:
            return future.result()
        except _TIMEOUTS as error:
            raise ModelError(f"timed out: no complete reply from {self._url} within "
                             f"{self._config.deadline_s:g} s") from error
        except self._openai.OpenAIError as error:
            raise ModelError(self._explain(error)) from error
        finally:
            future.cancel()

    async def _post(self, body: dict[str, Any]) -> str:
        reply = await self._client.chat.completions.with_raw_response.create(**body)
        return reply.text  # read as text: the library's own models accept almost anything

    async def _count(self, request: object) -> None:
        with self._lock:
            self._usage += Usage(calls=1)

    def _explain(self, error: Exception) -> str:
        lib, tries = self._openai, self._config.max_retries + 1
        if isinstance(error, lib.APITimeoutError):
            return f"timed out: {self._url} did not reply within {self._config.timeout_s:g} s, {tries} times"
        if isinstance(error, lib.APIConnectionError):
            return f"no connection: {self._url} cannot be reached ({error.__cause__ or error}): is the server running?"
        if isinstance(error, lib.APIStatusError):
            kind = {401: "not authorised (EQA_VLM_API_KEY)", 403: "not authorised (EQA_VLM_API_KEY)",
                    404: "not found (EQA_VLM_BASE_URL, EQA_VLM_MODEL)", 429: "rate limited"}.get(
                        error.status_code, "server error" if error.status_code >= 500 else "rejected")
            text = error.response.text[:200].replace(self._key, "...")
            return f"{kind}: {self._url} answered HTTP {error.status_code} for {self.model}: {text!r}"
        return f"failed: {self._url}: {str(error)[:200]}".replace(self._key, "...")


def _wire(message: Message) -> dict[str, Any]:
    """Return a message as the interface wants it: plain text where there is no image, else a list of parts."""
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.role, "content": "\n".join(map(str, message.parts))}
    return {"role": message.role, "content": [
        {"type": "text", "text": part} if isinstance(part, str) else
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + base64.b64encode(part).decode()}}
        for part in message.parts]}


def _parse(text: str, model: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"rubbish: the reply for {model} is not JSON: {text[:80]!r}") from error
    if not isinstance(data, dict):
        raise ModelError(f"rubbish: the reply for {model} is not a JSON object: {text[:80]!r}")
    if data.get("error"):  # some gateways report failures with status 200
        raise ModelError(f"server error: the reply for {model} is {text[:200]!r}")
    return data


def _first_choice(data: dict[str, Any], model: str) -> dict[str, Any]:
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ModelError(f"empty: the reply for {model} holds no choices: {str(data)[:120]}")
    return choices[0]


def _content(choice: dict[str, Any], model: str) -> str:
    """Return the text of a choice; "" where the model was cut off before it wrote any."""
    message = choice["message"] if isinstance(choice.get("message"), dict) else {}
    content, refusal, reason = message.get("content"), message.get("refusal"), choice.get("finish_reason")
    if refusal or reason == "content_filter":
        raise ModelError(f"refused: {model} declined to answer: {str(refusal or content)[:120]!r}")
    if content is None and reason == "length":
        return ""
    if not isinstance(content, str):
        raise ModelError(f"empty: the reply for {model} holds no text: {str(choice)[:120]}")
    return content


def _count_of(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _letter_weights(choice: dict[str, Any], letters: str) -> list[float] | None:
    """Return the probability mass of each letter as the first token, or None where the reply holds no logprobs."""
    try:
        top = choice["logprobs"]["content"][0]["top_logprobs"]
        pairs = [(str(entry["token"]).strip(" ().:").upper(), math.exp(min(0.0, float(entry["logprob"]))))
                 for entry in top]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return [sum(p for token, p in pairs if token == letter) for letter in letters] if pairs else None
