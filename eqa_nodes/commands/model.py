"""Command-line options of a model: of the answerer ("--model"), or of another role ("--judge-model")."""

from __future__ import annotations

import argparse

from eqa_nodes.vlm.config import ModelConfig


def model_options(parser: argparse.ArgumentParser, role: str = "") -> None:
    """Add the options that name a model and what it may cost; role: prefix of their names ("judge")."""
    group, dash = parser.add_argument_group(f"the {role or 'answerer'}'s model"), f"--{role}-" if role else "--"
    default = ModelConfig()
    group.add_argument(f"{dash}backend", default=default.backend, help="how it is asked (default: %(default)s)")
    group.add_argument(f"{dash}model", default="", help="name of the model (default: EQA_VLM_MODEL)")
    group.add_argument(f"{dash}base-url", default="", help="of the endpoint (default: EQA_VLM_BASE_URL)")
    group.add_argument(f"{dash}temperature", type=float, default=default.temperature,
                       help="below 0: not sent (default: %(default)s)")
    group.add_argument(f"{dash}budget-calls", type=int, default=0, metavar="N", help="calls at most (0 = no limit)")
    group.add_argument(f"{dash}budget-tokens", type=int, default=0, metavar="N", help="tokens at most (0 = no limit)")


def model_of(arguments: argparse.Namespace, role: str = "") -> ModelConfig:
    """Return the configuration that the options say; what they do not know keeps its default."""
    begin = f"{role}_" if role else ""
    names = ("backend", "model", "base_url", "temperature", "budget_calls", "budget_tokens")
    return ModelConfig(**{name: value for name in names
                          if (value := getattr(arguments, begin + name, None)) is not None})
