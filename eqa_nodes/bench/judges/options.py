"""Settings of a judge, as given on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from eqa_nodes.models.config import ModelConfig


@dataclass(frozen=True)
class JudgeOptions:
    """until_last_full_stop: drop what follows the last full stop of an answer, as OpenEQA's scorer does.

    Of judges that are models: extra_answers: show the further accepted answers of a question. prompt: a file in place
    of the built-in one; prompt_extra: the same for questions with further answers, where the official prompts are two.
    official: folder of a checkout whose own prompts, parser and settings judge; nothing else of these applies then.
    role, criterion: names of prompts.ROLES and CRITERIA, of the built-in prompt alone. max_tokens: of a reply.
    """

    until_last_full_stop: bool = False
    extra_answers: bool = True
    prompt: Path | None = None
    prompt_extra: Path | None = None
    role: str = "ai"
    criterion: str = "perfect"
    max_tokens: int = 256
    official: Path | None = None
    model: ModelConfig = field(default_factory=ModelConfig)
