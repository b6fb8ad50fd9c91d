"""Command-line options of a model: of the answerer ("--model"), or of another role ("--judge-model")."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from eqa_nodes.models.config import CASSETTE_MODES, ModelConfig

_HELP = {  # by option; its default and type are those of the field of ModelConfig
    "backend": "how it is asked: openai, transformers, scripted (default: %(default)s)",
    "model": "its name, folder, or script (default: EQA_VLM_MODEL)",
    "base_url": "of the endpoint (default: EQA_VLM_BASE_URL)",
    "temperature": "below 0: not sent (default: %(default)s)",
    "sample_seed": "added to the seed of each call (default: %(default)s)",
    "stream": "take replies in pieces, as servers behind impatient proxies need",
    "rate_calls": "calls a minute at most (0 = no limit)",
    "rate_tokens": "tokens a minute at most (0 = no limit)",
    "price_in": "money per million tokens read (0 = unknown)",
    "price_out": "money per million tokens written (0 = unknown)",
    "budget_calls": "calls at most (0 = no limit)",
    "budget_tokens": "tokens at most (0 = no limit)",
    "budget_money": "money at most, by the prices (0 = no limit)",
    "device": "of a local model: cuda, mps, cpu (default: what there is)",
    "dtype": "of a local model: float32, float16, bfloat16 (default: by the device)",
    "cassette": "file that replies are recorded to and played from",
    "cassette_mode": "auto: play, and record what is missing; record: ask each time; replay: never ask "
                     "(default: %(default)s)",
}
_FIELDS = {"sample_seed": "seed"}  # --seed is that of the run
_MORE: dict[str, dict[str, Any]] = {"cassette_mode": {"choices": CASSETTE_MODES}, "cassette": {"metavar": "FILE"}}


def model_options(parser: argparse.ArgumentParser, role: str = "") -> None:
    """Add the options that name a model and what it may cost; role: prefix of their names ("judge")."""
    group, dash = parser.add_argument_group(f"the {role or 'answerer'}'s model"), f"--{role}-" if role else "--"
    default = ModelConfig()
    for name, words in _HELP.items():
        value = getattr(default, _FIELDS.get(name, name))
        kind: dict[str, Any] = {"action": "store_true"} if isinstance(value, bool) else {
            "type": type(value), **({"metavar": "N"} if isinstance(value, (int, float)) else {}), **_MORE.get(name, {})}
        group.add_argument(dash + name.replace("_", "-"), default=value, help=words, **kind)


def model_of(arguments: argparse.Namespace, role: str = "") -> ModelConfig:
    """Return the configuration that the options say; what they do not know keeps its default. Raises ConfigError."""
    begin = f"{role}_" if role else ""
    said = {_FIELDS.get(name, name): value for name in _HELP
            if (value := getattr(arguments, begin + name, None)) is not None}
    if said.get("cassette"):
        said["cassette"] = str(Path(said["cassette"]).resolve())  # nodes run in folders of their own
    return ModelConfig(**said)
