"""JSON schemas of replies, in the subset that OpenAI's strict mode, Gemini's endpoint and local grammars all accept.

    schema = an_object(why=TEXT, answer=TEXT, confidence=NUMBER, images=list_of(WHOLE))

Every key is required, no others are allowed, and there are no bounds or patterns, which servers refuse. The order of
the keys is the order in which a model writes them. An optional value is requested as an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping

Schema = Mapping[str, object]  # a JSON schema of a reply
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
YES_NO: Schema = {"type": "boolean"}


def an_object(**properties: Schema) -> Schema:
    """Return the schema of an object with these keys."""
    return {"type": "object", "properties": dict(properties), "required": list(properties),
            "additionalProperties": False}


def list_of(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}
