"""Selection and budget of a model: one dataclass for node parameters, command line and judges."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import Count, Counted, Finite, NotNegative, Positive, Seed, check_ranges

CASSETTE_MODES = ("auto", "record", "replay")


@dataclass(frozen=True)
class ModelConfig:
    """A model backend with its settings. The API key is no setting: it comes from the environment alone."""

    # how it is asked: openai | transformers | scripted, a name that an installed package
    # registers, or package.module:Class
    backend: str = "openai"
    # its name; folder or hub name of a local model, file of replies of a scripted one; "" = EQA_VLM_MODEL
    model: str = ""
    base_url: str = ""  # of the endpoint; "" = EQA_VLM_BASE_URL
    temperature: Finite = 0.0  # below 0: not sent
    seed: Seed = 0  # added to that of each call, for other draws at the same questions
    timeout_s: Positive = 60.0  # for one request, seconds
    deadline_s: Positive = 180.0  # for one call with all its retries, seconds
    max_retries: Count = 2  # of one call
    stream: bool = False  # take replies in pieces, as servers behind impatient proxies need
    logprobs: bool = True  # ask how likely each word was, where the backend knows
    tokens_field: str = "max_tokens"  # some newer models want max_completion_tokens
    rate_calls: Count = 0  # calls a minute and process, at most; 0 = no limit
    rate_tokens: Count = 0  # tokens a minute and process, at most; 0 = no limit
    price_in: NotNegative = 0.0  # money per million tokens read; 0 = unknown
    price_out: NotNegative = 0.0  # money per million tokens written; 0 = unknown
    budget_calls: Count = 0  # calls at most; 0 = no limit
    budget_tokens: Count = 0  # tokens at most; 0 = no limit
    budget_money: NotNegative = 0.0  # money at most, by the prices; 0 = no limit
    device: str = ""  # of a local model; "" = cuda, mps or cpu, whichever there is
    dtype: str = ""  # of a local model; "" = bfloat16 on cuda and mps, float32 on the cpu
    batch: Counted = 4  # chats of generate_many in one pass
    cassette: str = ""  # file that replies are recorded to and played from; "" = none
    cassette_mode: str = "auto"  # auto: play, and record what is missing | record: ask each time | replay: never ask

    def __post_init__(self) -> None:
        check_ranges(self, "model")
        if self.budget_money and not (self.price_in or self.price_out):
            raise ConfigError(f"model.budget_money is {self.budget_money:g}, but no prices are known: set "
                              "price_in and price_out (--price-in, --price-out), in money per million tokens")
        if self.cassette_mode not in CASSETTE_MODES:
            raise ConfigError(unknown("model.cassette_mode", self.cassette_mode, CASSETTE_MODES))
