"""Selection and budget of a model: one dataclass for the node parameters, the command line and the judges."""

from __future__ import annotations

import os
from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import Count, Counted, Finite, NotNegative, Positive, Seed, check_ranges
from eqa_nodes.core.settings import constant, setting

_STAND_INS = ("scripted", "simulated")  # they do not read EQA_VLM_MODEL
CASSETTE_MODES = ("auto", "record", "replay")
DETAILS = ("", "low", "high", "auto")


@dataclass(frozen=True)
class ModelConfig:
    """A model backend with its settings. The API key is not a setting: it is only read from the environment."""

    backend: str = setting("openai",
        "Backend of the model: openai | transformers | scripted | simulated, a name that an installed package "
        "registers, or package.module:Class.")
    model: str = setting("",
        'Name of the model: that of an endpoint, a folder or hub name of a local model, or a file of scripted '
        'replies or of limits of the simulated model; "" uses EQA_VLM_MODEL.')
    base_url: str = setting("", 'URL of the endpoint; "" uses EQA_VLM_BASE_URL.')
    temperature: Finite = setting(0.0, "Sampling temperature; a negative value is not sent.")
    seed: Seed = constant(0, "Number added to the seed of every call, to draw other replies to the same questions.")
    timeout_s: Positive = constant(60.0, "Timeout of one request in seconds.")
    deadline_s: Positive = setting(180.0, "Deadline of one call with all its retries in seconds.")
    max_retries: Count = constant(2, "Maximum number of retries of one call.")
    logprobs: bool = constant(True, "Ask for token probabilities where the backend supports them.")
    image_side_px: Count = setting(512,
        "Longest side of a picture for the model in pixels; larger ones are scaled down. 0 sends them as stored.")
    image_detail: str = constant("",
        'How closely the server looks at pictures: low | high | auto; "" sends nothing, which is auto to most servers.')
    request_mb: Positive = constant(50.0, "Maximum size of one request with its pictures in MB; more is an error.")
    reply_mb: Positive = constant(16.0, "Maximum size of one reply in MB, after unpacking; more is an error.")
    hosts: str = setting("",
        'Hosts that requests may go to, separated by commas, such as "models.example.org, *.lan"; "" allows that of '
        "the base URL. What EQA_VLM_HOSTS of the environment names must allow it too.")
    allow_http: bool = setting(False,
        "Send pictures and key over http:// also to hosts outside this machine and private networks.")
    price_in: NotNegative = setting(0.0, "Price of one million input tokens; 0 means unknown.")
    price_out: NotNegative = setting(0.0, "Price of one million output tokens; 0 means unknown.")
    price_cached: NotNegative = constant(0.0,
        "Price of one million input tokens that the server had in its cache; 0 means that of input tokens.")
    budget_calls: Count = constant(0, "Maximum number of calls; 0 sets no limit.")
    budget_tokens: Count = constant(0, "Maximum number of tokens; 0 sets no limit.")
    budget_money: NotNegative = setting(0.0, "Maximum cost by the prices; 0 sets no limit.")
    device: str = setting("", 'Device of a local model; "" chooses cuda, mps or cpu, whichever is available.')
    dtype: str = constant("", 'Number format of a local model; "" is bfloat16 on cuda and mps, float32 on the cpu.')
    batch: Counted = constant(4, "Number of chats that a local model processes at once.")
    cassette: str = constant("", 'File that replies are recorded to and replayed from; "" uses none.')
    cassette_mode: str = constant("auto",
        "Use of the cassette: auto (replay, record what is missing) | record (always ask) | replay (never ask).")

    def __post_init__(self) -> None:
        check_ranges(self, "model")
        if self.budget_money and not (self.price_in or self.price_out):
            raise ConfigError(f"model.budget_money is {self.budget_money:g}, but no prices are known: set "
                              "price_in and price_out (--price-in, --price-out), in money per million tokens")
        if self.image_detail not in DETAILS:
            raise ConfigError(unknown("model.image_detail", self.image_detail, DETAILS))
        if self.cassette_mode not in CASSETTE_MODES:
            raise ConfigError(unknown("model.cassette_mode", self.cassette_mode, CASSETTE_MODES))


def named_model(config: ModelConfig) -> str:
    """Return the name of the model from the configuration or the environment; else the name of the backend."""
    return config.model or environment_model(config.backend) or config.backend


def environment_model(backend: str) -> str:
    """Return the model that the environment names for a backend; "" if it names none, or for stand-in models."""
    return "" if backend in _STAND_INS else os.environ.get("EQA_VLM_MODEL", "")
