"""What a server takes of a request for one model: learned from its refusals, and known to the whole process."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from eqa_nodes.models.refusals import LARGE, MANY, Refusal

log = logging.getLogger(__name__)

STRICT, PLAIN, OBJECT, NONE = "json_schema, strict", "json_schema", "json_object", "no"  # forms, the best first
ROLES = "roles"  # among what is refused: messages of the system, and two of one role in a row
TOKENS = ("max_tokens", "max_completion_tokens")
_FORMS = (STRICT, PLAIN, OBJECT, NONE)
_OPTIONAL = ("temperature", "seed", "stream_options", "logprobs", "top_logprobs", "response_format")
_REFUSING = (200, 400, 403, 404, 413, 415, 422, 500, 501)  # 200: some servers reply with an error
_DETAIL = re.compile(r"image_url[^a-z]{0,12}detail|loc.{0,80}\"detail\"")
_FORM = re.compile(r"response.?format|json_schema|json_object|response.?schema|invalid schema|specified schema|"
                   r"grammar|guided|structured output|additionalproperties")
_NO_SCHEMA = re.compile(r"json_schema.{0,80}(?:not support|unsupported|unavailable)|"
                        r"(?:not support|unsupported|invalid value|unavailable).{0,80}json_schema|"
                        r"response_format type is unavailable")
_LEAST_SIDE_PX, _FIRST_THOUGHTS, _MOST_THOUGHTS = 64, 8192, 65536
_NO_FORMAT = re.compile(r"(?:unknown name|unrecognized request argument|not support parameters|unsupported parameter)"
                        r".{0,60}response_format|response_format(?: parameter)? is (?:unsupported|not supported)|"
                        r"extra.?(?:forbidden|inputs|fields)")  # the field itself, and not what stands in it


@dataclass(frozen=True)
class Dialect:
    """What is known of a server and a model. At first nothing is, and everything is sent.

    tokens_field: "" = as configured. refused: fields that are not sent. form: how a reply's schema is sent, one of
    _FORMS; form_taken: a request with it has been answered. images, side_px, most_tokens: limits, 0 = none known.
    thoughts: tokens that are allowed on top of a reply's, because the model thinks first.
    """

    tokens_field: str = ""
    refused: frozenset[str] = frozenset()
    form: str = STRICT
    form_taken: bool = False
    images: int = 0
    side_px: int = 0
    most_tokens: int = 0
    thoughts: int = 0

    def with_thoughts(self) -> Lesson | None:
        """Return what to do about a reply that was all thoughts; None where nothing more helps."""
        more = min(_MOST_THOUGHTS, max(_FIRST_THOUGHTS, 4 * self.thoughts))
        if more <= self.thoughts:
            return None
        return Lesson(f"thinks before it replies; {more} more tokens are allowed", {"thoughts": more})


class Lesson(NamedTuple):
    """What a refusal tells. changes: of the dialect's fields; those of `refused` are added."""

    note: str
    changes: Mapping[str, Any]


class Memory:
    """What is known of one server and model, shared by all backends of a process that ask it. Safe for threads."""

    def __init__(self, name: str) -> None:
        self._name, self._lock = name, threading.Lock()
        self._dialect = Dialect()

    @property
    def dialect(self) -> Dialect:
        """What is known."""
        with self._lock:
            return self._dialect

    def learn(self, lesson: Lesson) -> None:
        """Remember a lesson and log it."""
        with self._lock:
            changes = dict(lesson.changes)
            changes["refused"] = self._dialect.refused | changes.get("refused", frozenset())
            self._dialect = replace(self._dialect, **changes)
        log.warning("%s %s", self._name, lesson.note)

    def form_was_taken(self) -> None:
        """Remember that a request with a form has been answered."""
        with self._lock:
            self._dialect = replace(self._dialect, form_taken=True)

    def restore(self, before: Dialect) -> None:
        """Forget a lesson that did not help."""
        with self._lock:
            self._dialect = before
        log.warning("%s refuses it also so; what was concluded is dropped", self._name)


_MEMORIES: dict[tuple[str, str], Memory] = {}
_LOCK = threading.Lock()


def memory_of(url: str, model: str) -> Memory:
    """Return what is known of a model at a server."""
    with _LOCK:
        return _MEMORIES.setdefault((url, model), Memory(f"{model} at {url}"))


def forget_all() -> None:
    """Forget all servers, as a new process does."""
    with _LOCK:
        _MEMORIES.clear()


def lesson_from(refusal: Refusal, dialect: Dialect, body: Mapping[str, Any], longest_px: int) -> Lesson | None:
    """Return what a refused request tells about its server; None where nothing can be left out or made smaller.

    longest_px: longest side of the request's pictures, 0 = there are none, or none that can be scaled.
    """
    if refusal.status not in _REFUSING:
        return None
    if (kind := refusal.kind()) == MANY:
        return _fewer(refusal)
    if kind == LARGE:
        return _smaller(refusal, longest_px)
    if kind:
        return None
    return (_roles(refusal, dialect, body) or _tokens(refusal, body) or _without(refusal, body)
            or _detail(refusal, dialect) or _other_form(refusal, dialect, body))


def _roles(refusal: Refusal, dialect: Dialect, body: Mapping[str, Any]) -> Lesson | None:
    if ROLES in dialect.refused or not refusal.about_roles() or body["messages"][0]["role"] != "system":
        return None
    return Lesson("takes no message of the system; its text is sent as the user's", {"refused": frozenset({ROLES})})


def _fewer(refusal: Refusal) -> Lesson | None:
    most = refusal.most_pictures()
    return Lesson(f"takes at most {most} pictures in a request; further ones are left out: set the most images of a "
                  "call to that", {"images": most}) if most else None


def _smaller(refusal: Refusal, longest_px: int) -> Lesson | None:
    side = min(refusal.most_pixels() or longest_px // 2, longest_px - 1)
    if side < _LEAST_SIDE_PX:
        return None
    return Lesson(f"refuses pictures of {longest_px} pixels; they are scaled down to {side}: set --image-side to that",
                  {"side_px": side})


def _tokens(refusal: Refusal, body: Mapping[str, Any]) -> Lesson | None:
    field = next((name for name in TOKENS if name in body), "")
    if not field:
        return None
    other = TOKENS[1 - TOKENS.index(field)]
    most = refusal.most_tokens()
    if 0 < most < body[field]:
        return Lesson(f"writes at most {most} tokens", {"most_tokens": most})
    if refusal.names(field) and not most:
        return Lesson(f"takes {other} instead of {field}", {"tokens_field": other})
    return None


def _without(refusal: Refusal, body: Mapping[str, Any]) -> Lesson | None:
    named = {name for name in _OPTIONAL if name in body and refusal.names(name)}
    if named & {"logprobs", "top_logprobs"}:
        named |= {"logprobs", "top_logprobs"}
    if not _NO_FORMAT.search(refusal.words):
        named.discard("response_format")
    if not named:
        return None
    return Lesson(f"does not take {', '.join(sorted(named))}; it is asked without", {"refused": frozenset(named)})


def _detail(refusal: Refusal, dialect: Dialect) -> Lesson | None:
    if "detail" in dialect.refused or not _DETAIL.search(refusal.words + refusal.param):
        return None
    return Lesson("does not take the detail of a picture; it is asked without", {"refused": frozenset({"detail"})})


def _other_form(refusal: Refusal, dialect: Dialect, body: Mapping[str, Any]) -> Lesson | None:
    """Return the next form of a schema, also where a server that never took one does not say what is wrong."""
    if "response_format" not in body:
        return None
    if refusal.param.startswith("response_format") or _FORM.search(refusal.words):
        form = _FORMS[_FORMS.index(dialect.form) + 1]
        if dialect.form in (STRICT, PLAIN) and _NO_SCHEMA.search(refusal.words):
            form = OBJECT
    elif refusal.status in (400, 422) and not dialect.form_taken:
        form = NONE
    else:
        return None
    return Lesson(f"refuses {dialect.form} as the form of a reply; {form} is sent", {"form": form, "form_taken": False})
