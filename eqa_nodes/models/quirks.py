"""Why a server refused a request, and what it accepts instead: learned per model, shared by the whole process.

Servers have different error bodies: {"error": {"message", "param"}} (OpenAI, OpenRouter), [{"error": ...}] (Gemini),
{"message"} (vLLM), {"error": "text"} (xAI, Ollama), {"detail": [{"loc", "msg"}]} (FastAPI), and one body as a text
inside another (gateways). So bodies are searched as text, not parsed.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from eqa_nodes.core.model import MORE_CONTEXT

_LONGEST = 4000  # maximum number of characters searched: some servers repeat the whole request
_PARAM = re.compile(r'"(?:param|loc|field)"\s*:\s*(?:"([\w.\[\]]+)"|\[\s*"body"\s*,\s*"(\w+)")')
_SAYS_NO = re.compile(
    r"unsupported|not support|isn.t supported|unrecognized|unknown|not permitted|not allowed|cannot find field|"
    r"unexpected|extra.?(?:inputs|forbidden|fields)|not enabled|deprecated|unset|not available|unavailable|"
    r"only the default|only \S+ is allowed|invalid temperature|not implemented")
_CODE = re.compile(r'"code"\s*:\s*"([\w.-]+)"')
_ROLES = re.compile(
    r"roles? must alternate|only user and assistant roles|successive (?:user|assistant)|unexpected role|"
    r"developer instruction|messages\[\d+\]\.role|system (?:role|message|prompt|instruction)s?[^{}]{0,40}\bnot\b|"
    r"(?:not support|unsupported)[^{}]{0,40}\bsystem\b")
_FILTERED = re.compile(
    r"content.?filter|content.?policy|content management policy|responsibleai|data.?inspection.?failed|"
    r"inappropriate content|content exists risk|input was flagged|prohibited_content")
_NO_QUOTA = re.compile(
    r"insufficient_quota|insufficient (?:balance|credits)|credit balance is too low|arrearage|"
    r"billing_(?:hard_limit|not_active)")
_LOADING = re.compile(r"\bloading\b|not (?:yet )?ready|(?:starting|warming) up")
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.]*\d)")
_VARYING = re.compile(r"\S*\d\S*")  # ids, counts and times, which differ between equal refusals
_TOO_LONG = re.compile(
    r"context.?(?:length|size|window)|maximum context|too many tokens|(?:prompt|input)s? (?:is|are) too long|"
    r"input token count|max_model_len|input length|prompt contains")
_CONTEXT = re.compile(r"maximum context length (?:is|of) (\d{1,9})")
_READ = re.compile(r"(\d{1,9}) (?:input tokens|in the messages|tokens from the input)")
_MANY = re.compile(
    r"too many images|too much media|at most \d+ image|image count|number of images|passed \d+ image|"
    r"contains \d+ images|images? per (?:request|prompt)")
_LARGE = re.compile(
    r"image[^{}]{0,80}(?:too (?:large|big)|exceed|larger than)|dimensions? exceed|exceeds? [^{}]{0,40}(?:pixels|mb\b)|"
    r"(?:request|payload|entity|body) (?:entity )?(?:is )?too large|request_too_large")
_PIXELS = re.compile(r"(\d{2,5}) ?(?:pixels|px\b)")
_BLIND = re.compile(
    r"data required for image input|"
    r"image.{0,40}not support|not support.{0,40}image|support image|image_url is only|not a multimodal|mmproj|"
    r"vision is not|image input is|(?:unknown|invalid).{0,40}image_url")
_NO_CHAT = re.compile(
    r"not a chat model|v1/responses and not|not (?:supported )?in (?:the )?v1/chat/completions|not support chat|"
    r"not available on this endpoint|not support generate")
_MOST_TOKENS = re.compile(r"(?:at most|>|less than or equal to|maximum (?:is|of|value is)|<=) ?(\d{1,9})")
TOO_LONG, NO_CHAT, BLIND = "too long", "not a chat model", "no pictures"
MANY, LARGE = "too many pictures", "pictures too large"
FILTERED, NO_QUOTA, LOADING = "refused", "no quota", "loading"
REMEDIES = {
    FILTERED: "its content filter is the reason: ask in other words, or choose another model",
    NO_QUOTA: "add credit at the provider, or choose another model",
    TOO_LONG: MORE_CONTEXT,
    NO_CHAT: "choose another --model", BLIND: "choose a model that takes pictures, and on a server of your own one "
    "with its image part loaded", MANY: "show fewer (max_images)", LARGE: "make them smaller (--image-side)"}
log = logging.getLogger(__name__)
STRICT, PLAIN, OBJECT, NONE = "json_schema, strict", "json_schema", "json_object", "no"  # schema forms, the best first
ROLES = "roles"  # entry of Dialect.refused: system messages, and two messages of one role in a row
TOKENS = ("max_tokens", "max_completion_tokens")
_FORMS = (STRICT, PLAIN, OBJECT, NONE)
_OPTIONAL = ("temperature", "seed", "logprobs", "top_logprobs", "response_format")
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
                        r"extra.?(?:forbidden|inputs|fields)")  # the field itself is refused, not its value


class Refusal(NamedTuple):
    """A server's refusal. status: HTTP status, 200 if an error was sent as a reply; words: the body in lower case.

    param: the field that it names, "" = none. pictures: number in the request. code: the error's name, "" = none.
    """

    status: int
    words: str
    param: str
    pictures: int
    code: str = ""

    def names(self, field: str) -> bool:
        """Return whether it says that a field of the request is not accepted."""
        if self.param == field:
            return True
        return bool(re.search(rf"(?<![\w.]){field}(?!\w)", self.words)) and bool(_SAYS_NO.search(self.words))

    def kind(self) -> str:
        """Return the kind of a refusal that leaving a field out cannot fix; "" for any other."""
        if self.status == 402 or _NO_QUOTA.search(self.words):
            return NO_QUOTA
        if self.status in (401, 429):
            return ""
        if self.status == 503 and _LOADING.search(self.words):
            return LOADING
        if _FILTERED.search(self.words):
            return FILTERED
        if _NO_CHAT.search(self.words):
            return NO_CHAT
        if _TOO_LONG.search(self.words):
            return TOO_LONG
        if not self.pictures:
            return ""
        if _MANY.search(self.words):
            return MANY
        if self.status == 413 or _LARGE.search(self.words):
            return LARGE
        return BLIND if _BLIND.search(self.words) else ""

    def about_roles(self) -> bool:
        """Return whether the model accepts no system message, or requires alternating roles."""
        return bool(_ROLES.search(self.words))

    def most_pictures(self) -> int:
        """Return how many pictures the server accepts: the number it names, else half of those sent; 0 for none."""
        named = [int(number) for number in _NUMBER.findall(self.words)]
        return max((number for number in named if 1 <= number < self.pictures), default=self.pictures // 2)

    def most_pixels(self) -> int:
        """Return the longest side in pixels that the server names as its limit, 0 if it names none."""
        return min((int(number) for number in _PIXELS.findall(self.words)), default=0)

    def most_tokens(self) -> int:
        """Return the maximum number of tokens of a reply if the server names it; else 0."""
        if "max_tokens" not in self.words and "max_completion_tokens" not in self.words:
            return 0
        found = _MOST_TOKENS.search(self.words.replace("`", ""))
        return int(found[1]) if found else 0

    def room(self) -> int:
        """Return how many tokens of the context are left for a reply, 0 if the server does not say."""
        context, read = _CONTEXT.search(self.words), _READ.search(self.words)
        return max(0, int(context[1]) - int(read[1])) if context and read else 0

    def alike(self, other: Refusal) -> bool:
        """Return whether both say the same, apart from numbers and ids."""
        return self.status == other.status and _VARYING.sub("", self.words) == _VARYING.sub("", other.words)


def read_refusal(status: int, text: str, pictures: int) -> Refusal:
    """Parse the body of a refusal. Bodies that are nested as text in another body are unpacked."""
    plain = text[:_LONGEST].replace("\\n", " ").replace("\\", "")
    found, code = _PARAM.search(plain), _CODE.search(plain)
    return Refusal(status, plain.lower(), (found[1] or found[2]) if found else "", pictures, code[1] if code else "")


def is_final(status: int, text: str) -> bool:
    """Return whether the same request would be refused again; this is read from the body, whatever the status."""
    refusal = read_refusal(status, text, 1)
    return bool(refusal.kind()) or refusal.about_roles()


@dataclass(frozen=True)
class Dialect:
    """What is known of a server and a model. At first nothing is known, and everything is sent.

    tokens_field: field that limits the tokens of a reply. refused: fields that are not sent. form: how a reply's schema
    is sent, one of _FORMS; form_taken: a request with it has been answered. images, side_px, most_tokens: limits, 0 =
    unknown. thoughts: extra tokens on top of the limit of a reply, because the model thinks first.
    """

    tokens_field: str = TOKENS[0]
    refused: frozenset[str] = frozenset()
    form: str = STRICT
    form_taken: bool = False
    images: int = 0
    side_px: int = 0
    most_tokens: int = 0
    thoughts: int = 0

    def with_thoughts(self) -> Quirk | None:
        """Return a higher limit after a reply that was all thoughts; None if the limit cannot be raised further."""
        more = min(_MOST_THOUGHTS, max(_FIRST_THOUGHTS, 4 * self.thoughts))
        if more <= self.thoughts:
            return None
        return Quirk(f"thinks before it replies; {more} more tokens are allowed", {"thoughts": more})


class Quirk(NamedTuple):
    """A lesson from a refusal. changes: new values of the dialect's fields; those of `refused` are added."""

    note: str
    changes: Mapping[str, Any]


class ServerQuirks:
    """What is known of one server and model, shared by all backends of a process that ask it. Safe for threads."""

    def __init__(self, name: str) -> None:
        self._name, self._lock = name, threading.Lock()
        self._dialect = Dialect()

    @property
    def dialect(self) -> Dialect:
        """The current dialect."""
        with self._lock:
            return self._dialect

    def learn(self, lesson: Quirk) -> None:
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


_KNOWN: dict[tuple[str, str], ServerQuirks] = {}
_LOCK = threading.Lock()


def quirks_of(url: str, model: str) -> ServerQuirks:
    """Return the shared quirks of a model at a server."""
    with _LOCK:
        return _KNOWN.setdefault((url, model), ServerQuirks(f"{model} at {url}"))


def forget_all() -> None:
    """Forget all servers, as a new process does."""
    with _LOCK:
        _KNOWN.clear()


def quirk_from(refusal: Refusal, dialect: Dialect, body: Mapping[str, Any], longest_px: int) -> Quirk | None:
    """Return what a refused request says about its server; None if nothing can be left out or made smaller.

    longest_px: longest side of the request's pictures, pixels; 0 = it has none, or none that can be scaled.
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


def _roles(refusal: Refusal, dialect: Dialect, body: Mapping[str, Any]) -> Quirk | None:
    if ROLES in dialect.refused or not refusal.about_roles() or body["messages"][0]["role"] != "system":
        return None
    return Quirk("takes no message of the system; its text is sent as the user's", {"refused": frozenset({ROLES})})


def _fewer(refusal: Refusal) -> Quirk | None:
    most = refusal.most_pictures()
    return Quirk(f"takes at most {most} pictures in a request; further ones are left out: set the most images of a "
                  "call to that", {"images": most}) if most else None


def _smaller(refusal: Refusal, longest_px: int) -> Quirk | None:
    side = min(refusal.most_pixels() or longest_px // 2, longest_px - 1)
    if side < _LEAST_SIDE_PX:
        return None
    return Quirk(f"refuses pictures of {longest_px} pixels; they are scaled down to {side}: set --image-side to that",
                  {"side_px": side})


def _tokens(refusal: Refusal, body: Mapping[str, Any]) -> Quirk | None:
    field = next((name for name in TOKENS if name in body), "")
    if not field:
        return None
    other = TOKENS[1 - TOKENS.index(field)]
    most = refusal.most_tokens()
    if 0 < most < body[field]:
        return Quirk(f"writes at most {most} tokens", {"most_tokens": most})
    if refusal.names(field) and not most:
        return Quirk(f"takes {other} instead of {field}", {"tokens_field": other})
    return None


def _without(refusal: Refusal, body: Mapping[str, Any]) -> Quirk | None:
    named = {name for name in _OPTIONAL if name in body and refusal.names(name)}
    if named & {"logprobs", "top_logprobs"}:
        named |= {"logprobs", "top_logprobs"}
    if not _NO_FORMAT.search(refusal.words):
        named.discard("response_format")
    if not named:
        return None
    return Quirk(f"does not take {', '.join(sorted(named))}; it is asked without", {"refused": frozenset(named)})


def _detail(refusal: Refusal, dialect: Dialect) -> Quirk | None:
    if "detail" in dialect.refused or not _DETAIL.search(refusal.words + refusal.param):
        return None
    return Quirk("does not take the detail of a picture; it is asked without", {"refused": frozenset({"detail"})})


def _other_form(refusal: Refusal, dialect: Dialect, body: Mapping[str, Any]) -> Quirk | None:
    """Return the next form of a schema, also if a server that never accepted one does not say what is wrong."""
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
    return Quirk(f"refuses {dialect.form} as the form of a reply; {form} is sent", {"form": form, "form_taken": False})
