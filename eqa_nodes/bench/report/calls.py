"""The model calls of an episode, for pages: small pictures with their numbers, the replies, and the costs."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from PIL import ImageDraw

from eqa_nodes.bench.report.drawing_why import spread
from eqa_nodes.bench.report.pictures import Keep, size_of
from eqa_nodes.core.answerers.vlm_views import draw_discs
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.calls import CallPicture, ModelCall
from eqa_nodes.core.types.floor import LOOK_ROUND, POINTED, WeighedOption
from eqa_nodes.core.types.trace import Destination, EpisodeTrace, destinations
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.wire.image_files import decode_image

THUMB_PX, _QUALITY = 200, 76  # numbers are drawn larger on smaller pictures
MOST = 6  # maximum pictures shown per call; calls that judge views have more
_RING, _RING_PX = (245, 158, 11), 11  # where the model saw its evidence
_TITLES = {"decide": "Decides", "regions": "Names rooms", "assess": "Judges views", "answer": "Answers"}
_PLAIN = {LOOK_ROUND: "a look round", POINTED: "a place it pointed at"}  # short names of kinds of options
_NOT_KEPT = "this picture is not kept in the episode"


class CallThumb(NamedTuple):
    """A picture of a call. src: "" = not shown, for the reason in the caption; number: the picture's in the prompt."""

    number: int
    src: str
    caption: str
    now: bool
    proves: bool
    width: int = 0
    height: int = 0


class OptionLine(NamedTuple):
    """An option in the page's list. room: according to the model, else to the map; went: the robot went there.

    number: 0 for a place that the model pointed at; distance_m: length of the path, 0 if there is none.
    """

    number: int
    kind: str
    room: str
    distance_m: float
    weight: float
    went: bool


class CallCard(NamedTuple):
    """One call. seconds_in: since the start of the episode; more, others: number of pictures, options not shown.

    went: destination of the robot if it is not one of the options; "" for none.
    """

    number: int
    title: str
    call: ModelCall
    seconds_in: float
    pictures: tuple[CallThumb, ...]
    more: int
    options: tuple[OptionLine, ...]
    others: int
    went: str


class CallsSection(NamedTuple):
    """All calls of an episode, and their sums."""

    cards: tuple[CallCard, ...]
    requests: int
    pictures: int
    tokens_in: int
    tokens_out: int
    money: float
    seconds: float


def calls_of(trace: EpisodeTrace, keep: Keep) -> CallsSection | None:
    """Return the calls of an episode; None if no model was asked. If there are many, some show no pictures."""
    calls = trace.calls
    if not calls:
        return None
    views = {view.id: view for view in trace.keyframes}
    pictured, begin = set(spread(len(calls))), trace.poses[0][0] if trace.poses else calls[0].stamp_ns
    cards = tuple(card_of(n + 1, call, views, went, keep if n in pictured else None, begin)
                  for n, (call, went) in enumerate(zip(calls, destinations(trace), strict=True)))
    return CallsSection(cards, sum(c.requests for c in calls), sum(len(c.pictures) for c in calls),
                        sum(c.tokens_in for c in calls), sum(c.tokens_out for c in calls),
                        sum(c.money for c in calls), sum(c.seconds for c in calls))


def card_of(number: int, call: ModelCall, views: Mapping[int, Keyframe], went: Destination | None, keep: Keep | None,
            begin_ns: int) -> CallCard:
    """Return one call for a page; keep: None = without its pictures."""
    chosen = chosen_pictures(call) if keep is not None else ()
    proofs = {*call.evidence, *(p.keyframe_id for p in call.pictures if p.points)}
    shown = tuple(_thumb(i, call.pictures[i], views, proofs, keep) for i in chosen if keep is not None)
    option = went.option if went else 0
    listed = tuple(line for line in _lines(call, option) if line.weight > 0.0 or line.went)
    return CallCard(number, _TITLES.get(call.kind, call.kind), call, (call.stamp_ns - begin_ns) / 1e9, shown,
                    len(call.pictures) - len(shown), listed, len(call.options) - len(listed),
                    went.decision.reason if went and not option else "")


def chosen_pictures(call: ModelCall) -> Sequence[int]:
    """Return the indices of the pictures of a call to show, in order; if many, those that the model mentions."""
    if len(call.pictures) <= MOST:
        return range(len(call.pictures))
    matter = sorted(range(len(call.pictures)), key=lambda i: (
        call.pictures[i].keyframe_id not in call.evidence, not call.pictures[i].note.startswith("says"), -i))
    return sorted(matter[:MOST])


def thumb(view: Keyframe, picture: CallPicture, width: int = THUMB_PX) -> bytes:
    """Return a small JPEG of a view with its numbers, and rings where the model saw evidence. Raises BadFrame."""
    stored = decode_image(view.jpeg, f"of keyframe {view.id}")
    image = stored.convert("RGB")
    image.thumbnail((width, width))
    scale = image.width / stored.width
    draw_discs(image, {str(m.number): (m.u, m.v) for m in picture.marks if _finite(m.u, m.v)}, scale)
    draw = ImageDraw.Draw(image)
    for u, v in picture.points:
        if _finite(u, v):
            for radius, colour, line in ((_RING_PX, "black", 5), (_RING_PX - 1, _RING, 3)):
                draw.ellipse((u * scale - radius, v * scale - radius, u * scale + radius, v * scale + radius),
                             None, colour, line)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_QUALITY, optimize=True)
    return out.getvalue()


def _thumb(index: int, picture: CallPicture, views: Mapping[int, Keyframe], proofs: Set[int], keep: Keep) -> CallThumb:
    view, proves = views.get(picture.keyframe_id), picture.keyframe_id in proofs
    if view is None:
        return CallThumb(index + 1, "", _NOT_KEPT, picture.now, proves)
    try:
        small = thumb(view, picture)
        return CallThumb(index + 1, keep(small), picture.note, picture.now, proves, *size_of(small))
    except BadFrame as error:
        return CallThumb(index + 1, "", f"this picture cannot be shown: {error}", picture.now, proves)


def _lines(call: ModelCall, went: int) -> Sequence[OptionLine]:
    """Return all options, the one with the highest weight first."""
    heaviest = sorted(enumerate(call.options, 1), key=lambda pair: (-pair[1].weight, pair[0]))
    return [_line(n, weighed, n == went) for n, weighed in heaviest]


def _line(number: int, weighed: WeighedOption, went: bool) -> OptionLine:
    option, room = weighed.option, weighed.room or weighed.option.room
    if option.kind in _PLAIN:
        number, option = number if option.kind == LOOK_ROUND else 0, option._replace(distance_m=0.0)
    return OptionLine(number, _PLAIN.get(option.kind, option.kind), room, option.distance_m, weighed.weight, went)


def _finite(u: float, v: float) -> bool:
    """Return whether a pixel can be drawn, because traces are untrusted input."""
    return math.isfinite(u) and math.isfinite(v) and max(abs(u), abs(v)) < 1e6
