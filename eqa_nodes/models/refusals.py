"""Reads why a server refused a request, out of the error bodies of the servers that speak OpenAI's interface.

Their forms differ: {"error": {"message", "param"}} (OpenAI, OpenRouter), [{"error": ...}] (Gemini), {"message"} (vLLM),
{"error": "text"} (xAI, Ollama), {"detail": [{"loc", "msg"}]} (FastAPI), and one body as a text inside another
(gateways). So texts are searched, not parsed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from eqa_nodes.core.model import MORE_CONTEXT

_LONGEST = 4000  # characters that are searched: some servers repeat the whole request
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
_VARYING = re.compile(r"\S*\d\S*")  # ids, counts and times, by which the same refusal differs
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


class Refusal(NamedTuple):
    """What a server said. status: of HTTP, 200 where an error came as a reply; words: in lower case; param: "" = none.

    pictures: how many the request held. code: the error's own name, "" where it has none.
    """

    status: int
    words: str
    param: str
    pictures: int
    code: str = ""

    def names(self, field: str) -> bool:
        """Whether it says that a field of the request is not taken."""
        if self.param == field:
            return True
        return bool(re.search(rf"(?<![\w.]){field}(?!\w)", self.words)) and bool(_SAYS_NO.search(self.words))

    def kind(self) -> str:
        """Return the name of what cannot be mended by leaving a field out; "" for anything else."""
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
        """Whether it says that the model takes no message of the system, or that the roles of turns must alternate."""
        return bool(_ROLES.search(self.words))

    def most_pictures(self) -> int:
        """Return how many the server takes: the number that it names, else half of what was sent; 0 for none."""
        named = [int(number) for number in _NUMBER.findall(self.words)]
        return max((number for number in named if 1 <= number < self.pictures), default=self.pictures // 2)

    def most_pixels(self) -> int:
        """Return the longest side that the server says it takes, 0 where it does not say."""
        return min((int(number) for number in _PIXELS.findall(self.words)), default=0)

    def most_tokens(self) -> int:
        """Return how many tokens a reply may have, where the server says that it is asked for too many; else 0."""
        if "max_tokens" not in self.words and "max_completion_tokens" not in self.words:
            return 0
        found = _MOST_TOKENS.search(self.words.replace("`", ""))
        return int(found[1]) if found else 0

    def room(self) -> int:
        """Return how many tokens of the context are left for a reply, 0 where the server does not say."""
        context, read = _CONTEXT.search(self.words), _READ.search(self.words)
        return max(0, int(context[1]) - int(read[1])) if context and read else 0

    def alike(self, other: Refusal) -> bool:
        """Whether both say the same, apart from numbers and ids."""
        return self.status == other.status and _VARYING.sub("", self.words) == _VARYING.sub("", other.words)


def read_refusal(status: int, text: str, pictures: int) -> Refusal:
    """Return what a body says. Bodies inside texts of others are unpacked."""
    plain = text[:_LONGEST].replace("\\n", " ").replace("\\", "")
    found, code = _PARAM.search(plain), _CODE.search(plain)
    return Refusal(status, plain.lower(), (found[1] or found[2]) if found else "", pictures, code[1] if code else "")


def is_final(status: int, text: str) -> bool:
    """Return whether the same request would be refused again, whatever the status: the body says why."""
    refusal = read_refusal(status, text, 1)
    return bool(refusal.kind()) or refusal.about_roles()
