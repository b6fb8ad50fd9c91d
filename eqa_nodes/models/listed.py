"""What a server says of its models."""

from __future__ import annotations

import json


def model_names(text: str) -> list[str]:
    """Return the names in the text of a list of models; [] for anything else."""
    try:
        return [str(entry["id"])[:200] for entry in json.loads(text)["data"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
