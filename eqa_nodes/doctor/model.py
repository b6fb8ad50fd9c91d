"""Checks of the model by a real call with an image of one pixel, the smallest possible call."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import BudgetSpent, ConfigError, EqaError, ModelError
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.memory.keyframes import jpeg_of_pixels
from eqa_nodes.core.model import WRONG_FORM, Backend, Message
from eqa_nodes.models import open_model
from eqa_nodes.models.cassette import recorded_calls
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.scripted import read_script

_CALLS, _TOKENS, _DEADLINE_S = 4, 16, 60.0
_SIZES = (1, 64)  # pixels; some servers refuse images of one
_ASK = "What colour is this picture? Reply with one word."


def judge_model(config: ModelConfig) -> list[Finding]:
    """Check the configured model, each backend in its own way. Findings never contain the key."""
    try:
        if config.cassette:
            return [_cassette(config)]
        if config.backend == "scripted":
            return [_script(config)]
        if config.backend == "openai" and not _endpoint(config):
            return [Finding("model", "warning", "no endpoint set", "for --answerer vlm: EQA_VLM_BASE_URL, "
                            "EQA_VLM_MODEL, EQA_VLM_API_KEY; the answerer label needs none")]
        return _asked(replace(config, budget_calls=_CALLS, budget_tokens=0, budget_money=0.0, max_retries=0,
                              deadline_s=_DEADLINE_S, timeout_s=_DEADLINE_S))
    except EqaError as error:
        return [Finding("model", "error", str(error), _remedy(error))]


def _endpoint(config: ModelConfig) -> str:
    return config.base_url or os.environ.get("EQA_VLM_BASE_URL") or os.environ.get("OPENAI_BASE_URL") or ""


def _asked(config: ModelConfig) -> list[Finding]:
    backend = open_model(config)
    try:
        return [_pictured(backend), _choosing(backend)]
    finally:
        backend.close()


def _pictured(backend: Backend) -> Finding:
    """Ask about an image of one pixel; if that is rejected, about a larger one."""
    for size in _SIZES:
        began = time.monotonic()
        try:
            reply = backend.generate([_picture(size)], max_tokens=_TOKENS)
        except ModelError as error:
            if size == _SIZES[-1] or not str(error).startswith("rejected"):
                raise
            continue
        found = (f"{backend.model} answers {reply.text.strip()[:40]!r} to a picture of {size}x{size} pixels in "
                 f"{time.monotonic() - began:.1f} s, {reply.tokens_in} tokens in, {reply.tokens_out} out")
        if not reply.text.strip():
            return Finding("model", "warning", found, f"nothing within {_TOKENS} tokens: with a model that thinks "
                           "first, switch that off on the server")
        return Finding("model", "ok", found)
    raise AssertionError("the last size raises or returns")


def _choosing(backend: Backend) -> Finding:
    """Check whether the model provides its own probabilities."""
    try:
        how = backend.choose([_picture(_SIZES[-1])], ("red", "blue")).how
    except ModelError as error:
        if not isinstance(error, BudgetSpent) and not str(error).startswith(WRONG_FORM):
            return Finding("choices", "error", str(error), _remedy(error))
        how = ""  # it failed repeatedly to state them
    if how in ("logits", "logprobs"):
        return Finding("choices", "ok", f"by {how}")
    return Finding("choices", "warning", "no logprobs: the model is asked to state its probabilities" if how else
                   "no logprobs, and the model does not state probabilities in the agreed form",
                   "confidences are better calibrated with logprobs: a server such as vLLM gives them")


def _picture(size: int) -> Message:
    pixels = np.zeros((size, size, 3), np.uint8)
    pixels[..., 0] = 255
    return Message("user", (_ASK, jpeg_of_pixels(pixels)))


def _cassette(config: ModelConfig) -> Finding:
    """Check a cassette without recording to it: it must be readable, and in other modes than replay also writable."""
    path, calls = Path(config.cassette), recorded_calls(Path(config.cassette))
    said = f"cassette {path}, {calls} calls recorded, mode {config.cassette_mode}"
    if config.cassette_mode == "replay":
        open_model(config).close()  # raises if it is absent or its model is ambiguous
        return Finding("model", "ok", said) if calls else Finding(
            "model", "error", said, "record one with --cassette-mode auto")
    if not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        raise ConfigError(f"{said}: it cannot be written to")
    return Finding("model", "ok", f"{said}; the model behind it is checked without --cassette")


def _script(config: ModelConfig) -> Finding:
    replies = read_script(Path(config.model)) if config.model else []
    return Finding("model", "ok" if replies else "warning", f"a script of {len(replies)} replies",
                   "" if replies else "name its file: --model FILE")


def _remedy(error: EqaError) -> str:
    if isinstance(error, ModelError):
        return "start the server, or correct EQA_VLM_BASE_URL, EQA_VLM_MODEL and EQA_VLM_API_KEY (docs/models.md)"
    return "see docs/models.md"
