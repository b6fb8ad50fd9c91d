"""Which model is asked, and what it may cost: one dataclass for parameters of nodes, command line and judges."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelConfig:
    """A model backend with its settings. The API key is no setting: it comes from the environment alone.

    backend: a name of BACKENDS. model, base_url: "" = EQA_VLM_MODEL, EQA_VLM_BASE_URL. temperature below 0: not sent.
    timeout_s: one request; deadline_s: one call with all its retries. budget_*: 0 = no limit.
    """

    backend: str = "openai"
    model: str = ""
    base_url: str = ""
    temperature: float = 0.0
    timeout_s: float = 60.0
    deadline_s: float = 180.0
    max_retries: int = 2
    budget_calls: int = 0
    budget_tokens: int = 0
