"""JSON for the page that every browser can parse, whatever a peer or a file has put into a text or a number."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse


def to_json(value: object) -> str:
    """Return ASCII JSON: half of a surrogate pair is escaped, and a number that is not finite becomes null."""
    return json.dumps(_finite(value), allow_nan=False)


class Json(JSONResponse):
    """A reply in JSON. Starlette's own cannot hold half of a surrogate pair or a NaN, and the reply would be lost."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return to_json(content).encode()


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
