"""A short clip of an episode to share: the robot's views, the growing map, the decisions, and the evidence."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw

from eqa_nodes.bench.report.drawing import FloorPicture, MapBox, extent, widened
from eqa_nodes.bench.report.pictures import jpeg_then, map_then, outlines, proof_picture, weakness
from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.pillow import RESAMPLING, writing_font
from eqa_nodes.core.storage.text import printable
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.floor import parted
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.media.animation import check_kind, write_animation
from eqa_nodes.wire.image_files import decode_image

MOST_BYTES = 1_000_000  # small enough for a page, a chat and a repository
_FRAMES = 48  # maximum of the path; the decisions are always included
_VIEW, _MAP = (400, 300), 300  # pixels
_TOP, _BELOW, _GAP = 54, 86, 10
_SIZE = 3 * _GAP + _VIEW[0] + _MAP, 2 * _GAP + _TOP + _VIEW[1] + _BELOW
_WAY_MS, _DECISION_MS, _ANSWER_MS = 280, 2200, 4500
_INK, _SOFT, _PAGE, _BACK = (28, 36, 48), (100, 112, 127), (255, 255, 255), (236, 239, 243)
_BOX, _ON_BOX = (251, 191, 36), (59, 37, 3)
_FONT, _LARGE = 15, 19


@dataclass(frozen=True)
class _Scene:
    """One image of the clip: the view, the time of the map, and the text."""

    stamp_ns: int
    jpeg: bytes
    said: str
    more: str = ""
    decision: int = 0  # number of the decision, 0 = none
    duration_ms: int = _WAY_MS


def write_clip(out: Path, trace: EpisodeTrace) -> int:
    """Write the clip of an episode, GIF or MP4 by its file name; return its number of images.

    Raises ConfigError for another file name, MissingExtra for an MP4 without PyAV, StorageError if the episode has no
    picture to show.
    """
    check_kind(out)
    scenes = [*_on_the_way(trace), *_at_the_end(trace)]
    if not scenes:
        raise StorageError("the episode keeps no picture: there is nothing to make a clip of")
    box = widened(extent(trace.grid, [pose for _, pose in trace.poses], None))
    images = [_drawn(scene, trace, box) for scene in scenes]
    write_animation(out, images, [scene.duration_ms for scene in scenes], MOST_BYTES,
                    (*FloorPicture.COLOURS, _INK, _SOFT, _PAGE, _BOX, _ON_BOX))
    return len(images)


def _on_the_way(trace: EpisodeTrace) -> list[_Scene]:
    """Return the robot's views until its answer, in order, each with the last decision."""
    decided = [(d.stamp_ns, n) for n, d in enumerate(trace.decisions, 1) if jpeg_then(trace, d)[0]]
    views = [view for view in trace.keyframes if all(view.stamp_ns != stamp for stamp, _ in decided)]
    room = max(1, _FRAMES - len(decided))
    step = max(1, -(-len(views) // room))
    found = [(stamp, number, jpeg_then(trace, trace.decisions[number - 1])[0]) for stamp, number in decided]
    found += [(view.stamp_ns, 0, view.jpeg) for view in views[::step]]
    return [_scene(trace.decisions, *one) for one in sorted(found, key=lambda one: one[:2])]


def _scene(decisions: Sequence[TraceDecision], stamp_ns: int, number: int, jpeg: bytes) -> _Scene:
    last = number or bisect_right([d.stamp_ns for d in decisions], stamp_ns)
    if not last:
        return _Scene(stamp_ns, jpeg, "It looks round." if decisions else "")
    reason, second = parted(decisions[last - 1].reason)
    more = f"Runner-up: {second}" if number and second else ""
    return _Scene(stamp_ns, jpeg, f"{last}. {reason[:1].upper()}{reason[1:]}.", more, last,
                  _DECISION_MS if number else _WAY_MS)


def _at_the_end(trace: EpisodeTrace) -> list[_Scene]:
    """Return the answer with the picture that proves it."""
    answer = trace.answer
    if answer is None:
        return []
    proof = next(iter(answer.evidence), None)
    view = next((k for k in trace.keyframes if proof is not None and k.id == proof.keyframe_id), None)
    last = trace.poses[-1][0] if trace.poses else 0
    jpeg, doubt = trace.view, "no picture proves it"
    if view is not None and proof is not None:
        try:
            jpeg, doubt = _proof(view, proof.note, trace.calls), weakness(outlines(view, proof.note))
        except BadFrame as error:
            jpeg, doubt = view.jpeg, str(error)
    if not jpeg:
        return []
    return [_Scene(last, jpeg, _answer(answer), _sure(answer, doubt), duration_ms=_ANSWER_MS)]


def _answer(answer: Answer) -> str:
    return f"Answer: {answer.text}" if answer.text else "It found no answer."


def _sure(answer: Answer, doubt: str) -> str:
    sure = f"{100 * answer.confidence:.0f} % sure" if answer.text else answer.message
    spent = answer.receipt
    return ", ".join(filter(None, (sure, spent.way(), f"{spent.seconds:.0f} s", doubt if answer.text else "")))


def _proof(view: Keyframe, note: str, calls: Sequence[ModelCall]) -> bytes:
    """Return the picture of a piece of evidence with boxes around its objects, its measured lines, and a ring around
    the point that a model gave. Raises BadFrame.
    """
    image = decode_image(proof_picture(view, note, calls), f"of keyframe {view.id}").convert("RGB")
    draw, font = ImageDraw.Draw(image), writing_font(max(14, image.height // 22))
    across, down = image.width / 100, image.height / 100
    boxed = outlines(view, note)
    for one in boxed:
        corners = (one.left * across, one.top * down, (one.left + one.width) * across, (one.top + one.height) * down)
        draw.rectangle(corners, outline=_BOX, width=max(2, image.width // 180))
    for one in boxed:
        x, y = (one.left + one.width * one.right) * across, (one.top + one.height * one.below) * down
        anchor = ("r" if one.right else "l") + ("d" if one.below != one.outside else "a")
        if one.named:
            draw.rectangle(draw.textbbox((x, y), one.name, font, anchor=anchor), fill=_BOX)
            draw.text((x, y), one.name, fill=_ON_BOX, font=font, anchor=anchor)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=92)
    return out.getvalue()


def _drawn(scene: _Scene, trace: EpisodeTrace, box: MapBox | None) -> Image.Image:
    image = Image.new("RGB", _SIZE, _PAGE)
    draw = ImageDraw.Draw(image)
    _write(draw, printable(trace.question), (_GAP, _GAP), _LARGE, _INK, _TOP)
    _paste(image, _view(scene.jpeg), (_GAP, _GAP + _TOP), _VIEW)
    if box is not None:
        _paste(image, _map(scene, trace, box), (2 * _GAP + _VIEW[0], _GAP + _TOP), (_MAP, _VIEW[1]))
    below = 2 * _GAP + _TOP + _VIEW[1]
    used = _write(draw, printable(scene.said), (_GAP, below), _FONT, _INK, _BELOW)
    _write(draw, printable(scene.more), (_GAP, below + used), _FONT, _SOFT, _BELOW - used)
    return image


def _view(jpeg: bytes) -> Image.Image:
    try:
        return decode_image(jpeg, "of a view").convert("RGB")
    except BadFrame:  # no picture: the report gives the reason
        return Image.new("RGB", (4, 3), _BACK)


def _map(scene: _Scene, trace: EpisodeTrace, box: MapBox) -> Image.Image:
    picture = FloorPicture(box, _MAP)
    last = scene.duration_ms == _ANSWER_MS
    known = trace.grid if last else map_then(trace, scene.stamp_ns)
    if known is not None:
        picture.floor(known)
    poses = [pose for stamp, pose in trace.poses if stamp <= scene.stamp_ns]
    if scene.decision:
        decision = trace.decisions[scene.decision - 1]
        if len(decision.candidates) > 1 and parted(decision.reason)[1] and scene.more:
            picture.second(*decision.candidates[1][:2])
        if decision.goal is not None:
            picture.goal(decision.goal, scene.decision, poses[-1] if poses else decision.pose)
    picture.path(poses)
    picture.bar()
    return picture.image


def _paste(image: Image.Image, part: Image.Image, at: tuple[int, int], room: tuple[int, int]) -> None:
    """Paste a part centred in its area, as large as fits."""
    share = min(room[0] / part.width, room[1] / part.height)
    part = part.resize((max(1, round(part.width * share)), max(1, round(part.height * share))), RESAMPLING.BILINEAR)
    image.paste(_BACK, (*at, at[0] + room[0], at[1] + room[1]))
    image.paste(part, (at[0] + (room[0] - part.width) // 2, at[1] + (room[1] - part.height) // 2))


def _write(draw: ImageDraw.ImageDraw, text: str, at: tuple[int, int], size: int, colour: tuple[int, int, int],
           room: int) -> int:
    """Write text, wrapped to the width `room`; return its height in pixels."""
    font, high = writing_font(size), round(1.25 * size)
    lines = _lines(draw, text, font, _SIZE[0] - 2 * _GAP)
    most = room // high
    if len(lines) > most:
        lines = [*lines[:most - 1], lines[most - 1] + " …"] if most else []
    for index, line in enumerate(lines):
        draw.text((at[0], at[1] + index * high), line, fill=colour, font=font)
    return high * len(lines)


def _lines(draw: ImageDraw.ImageDraw, text: str, font: object, width: int) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and draw.textlength(longer, font) <= width - 20:  # type: ignore[arg-type]
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
