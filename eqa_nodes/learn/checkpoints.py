"""Checkpoints of training runs: read only by a run with the same settings, and written whole."""

from __future__ import annotations

import io
from dataclasses import asdict
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

import torch

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import write_bytes

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FORMAT = 1


def read_checkpoint(file: Path, config: DataclassInstance, device: str | torch.device = "cpu") -> dict[str, Any] | None:
    """Return what `write_checkpoint` wrote, None without a file.

    Raises ConfigError for a broken file, another format, and other settings.
    """
    if not file.exists():
        return None
    try:
        stored: dict[str, Any] = torch.load(file, map_location=device, weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, IndexError, KeyError, UnpicklingError) as error:
        raise ConfigError(f"{file} cannot be read ({type(error).__name__}): delete it, and the training begins again, "
                          "or choose another folder") from error
    if stored.get("format") != FORMAT:
        raise ConfigError(f"{file} has format {stored.get('format')}, and this version continues format {FORMAT}: "
                          "choose another folder")
    if stored["config"] != asdict(config):
        raise ConfigError(f"{file} was begun with {stored['config']}: continue with the same settings, or choose "
                          "another folder")
    return stored


def write_checkpoint(file: Path, config: DataclassInstance, **state: Any) -> None:
    """Write a checkpoint; the one before it is there until the new one is complete."""
    data = io.BytesIO()  # a full disk is then an OSError that names the file, and no RuntimeError of torch
    torch.save({"format": FORMAT, "config": asdict(config), **state}, data)
    write_bytes(file, data.getvalue())
