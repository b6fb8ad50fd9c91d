"""Configuration of models for single roles: "ROLE=MODEL", "ROLE.FIELD=VALUE" (docs/models.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqa_nodes.core.answerers.asker import CHOOSE, ROLES, STATED, RoleModel, RoleModels
from eqa_nodes.core.answerers.wordings import OWN
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig

if TYPE_CHECKING:
    from eqa_nodes.core.model import Backend

PROMPT, HOW = "prompt", "how"
_JUDGE = "judge"  # a role of the scorer, which has its own options for it
_FIELDS = {own.name: own for own in fields(ModelConfig)}
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True)
class RoleConfig:
    """Settings of one role. model: None = the answerer's model; prompt: a file, "" = the package's prompt."""

    model: ModelConfig | None = None
    prompt: str = ""
    how: str = STATED
    side_px: int | None = None


def role_configs(base: ModelConfig, model_for: Sequence[str]) -> dict[str, RoleConfig]:
    """Return the configured roles; settings that a role does not set are taken from the base.

    Raises ConfigError for an unknown role or field (it lists the known ones) and for an invalid value.
    """
    said: dict[str, dict[str, str]] = {}
    for text in model_for:
        name, equals, value = text.partition("=")
        role, _, setting = name.partition(".")
        if role == _JUDGE:
            raise ConfigError(f"{text!r}: answers are judged when they are scored; `eqa bench score` takes the judge's "
                              "backend, model, prompt and picture size (--judge-backend, --judge-model, "
                              "--judge-prompt, --judge-image-side)")
        if role not in ROLES:
            raise ConfigError(unknown("role of a model", role, (*ROLES, _JUDGE)))
        if not equals or not value:
            raise ConfigError(f"{text!r}: expected ROLE=MODEL or ROLE.FIELD=VALUE, such as caption=llava-13b")
        said.setdefault(role, {})[setting or "model"] = value
    return {role: _config(base, role, values) for role, values in said.items()}


def absolute(model_for: Sequence[str]) -> tuple[str, ...]:
    """Return the same lines with absolute paths of prompts, because nodes run in other folders."""
    marked = (text.partition(f".{PROMPT}=") for text in model_for)
    return tuple(f"{role}{mark}{Path(rest).expanduser().resolve()}" if mark else role for role, mark, rest in marked)


def _config(base: ModelConfig, role: str, values: Mapping[str, str]) -> RoleConfig:
    own = {name: _value(role, name, text) for name, text in values.items() if name not in (PROMPT, HOW)}
    how = values.get(HOW, STATED)
    if how not in (STATED, CHOOSE) or (how == CHOOSE and not ROLES[role].chooses):
        able = ", ".join(name for name, known in ROLES.items() if known.chooses)
        raise ConfigError(f"{role}.{HOW}={how}: expected {STATED}, or {CHOOSE} for {able}")
    side_px = own.pop("image_side_px", None)
    if not own:
        return RoleConfig(None, values.get(PROMPT, ""), how, side_px)
    if base.cassette and "cassette" not in own:
        own["cassette"] = f"{base.cassette}.{role}"  # a cassette holds the calls of one model
    return RoleConfig(replace(base, **own), values.get(PROMPT, ""), how, side_px)


def _value(role: str, name: str, text: str) -> Any:
    """Convert a text to the type of a field of ModelConfig. Raises ConfigError."""
    if name not in _FIELDS:
        raise ConfigError(unknown(f"setting of the role {role}", name, (*_FIELDS, PROMPT, HOW)))
    kind = type(getattr(ModelConfig, name))
    try:
        return _TRUTHS[text.lower()] if kind is bool else kind(text)
    except (ValueError, KeyError) as error:
        raise ConfigError(f"{role}.{name}={text}: expected a value such as {getattr(ModelConfig, name)!r}") from error


def open_models(base: ModelConfig, model_for: Sequence[str] = (),
                opened: Callable[[ModelConfig], Backend] = open_model, wording: str = OWN) -> RoleModels:
    """Open the model and those of single roles. wording: name of the wording of the prompts.

    Raises ConfigError, and the errors of opening a model.
    """
    configs = role_configs(base, model_for)
    prompts = {role: _prompt(role, config.prompt) for role, config in configs.items()}
    main = opened(base)
    made: dict[ModelConfig, Backend] = {base: main}
    for config in configs.values():
        if config.model is not None and config.model not in made:
            made[config.model] = opened(config.model)
    return RoleModels(main, {role: RoleModel(made[config.model or base], prompts[role], config.side_px, config.how)
                             for role, config in configs.items()}, wording)


def _prompt(role: str, file: str) -> str:
    if not file:
        return ""
    try:
        text = Path(file).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{role}.{PROMPT}={file}: the prompt cannot be read: {error}") from error
    if not text.strip():
        raise ConfigError(f"{role}.{PROMPT}={file}: the prompt is empty")
    return text
