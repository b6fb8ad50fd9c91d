"""Which model is asked, and what it may cost: one dataclass for parameters of nodes, command line and judges."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown

CASSETTE_MODES = ("auto", "record", "replay")


@dataclass(frozen=True)
class ModelConfig:
    """A model backend with its settings. The API key is no setting: it comes from the environment alone.

    backend: a name of BACKENDS. model, base_url: "" = EQA_VLM_MODEL, EQA_VLM_BASE_URL; model is the folder or hub name
    of a local model, the file of replies of a scripted one. temperature below 0: not sent. seed: added to that of each
    call, for other draws at the same questions. timeout_s: one request; deadline_s: one call with all its retries.
    tokens_field: some newer models want max_completion_tokens. rate_*: per minute and process.
    price_*: money per million tokens, 0 = unknown. budget_*, rate_*: 0 = no limit.
    device: "" = cuda, mps or cpu, whichever there is; dtype: "" = bfloat16 on cuda and mps, float32 on the cpu.
    batch: chats of generate_many in one pass. cassette: "" = none; cassette_mode: auto, record, replay.
    """

    backend: str = "openai"
    model: str = ""
    base_url: str = ""
    temperature: float = 0.0
    seed: int = 0
    timeout_s: float = 60.0
    deadline_s: float = 180.0
    max_retries: int = 2
    stream: bool = False
    logprobs: bool = True
    tokens_field: str = "max_tokens"
    rate_calls: int = 0
    rate_tokens: int = 0
    price_in: float = 0.0
    price_out: float = 0.0
    budget_calls: int = 0
    budget_tokens: int = 0
    budget_money: float = 0.0
    device: str = ""
    dtype: str = ""
    batch: int = 4
    cassette: str = ""
    cassette_mode: str = "auto"

    def __post_init__(self) -> None:
        for name in ("rate_calls", "rate_tokens", "price_in", "price_out", "budget_calls", "budget_tokens",
                     "budget_money", "max_retries"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"model.{name} is {getattr(self, name)}: expected 0 or more")
        for name in ("timeout_s", "deadline_s", "batch"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"model.{name} is {getattr(self, name)}: expected more than 0")
        if self.budget_money and not (self.price_in or self.price_out):
            raise ConfigError(f"model.budget_money is {self.budget_money:g}, but no prices are known: set "
                              "price_in and price_out (--price-in, --price-out), in money per million tokens")
        if self.cassette_mode not in CASSETTE_MODES:
            raise ConfigError(unknown("model.cassette_mode", self.cassette_mode, CASSETTE_MODES))
