"""Writes an episode history as a video: the colour images, with an inset that shows the camera poses from above."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.camera.jumps import SteadyClock
from eqa_nodes.core.errors import MissingExtra, StorageError
from eqa_nodes.core.pillow import writing_font
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.episode_history import no_frame

_CODECS = ("libx264", "libopenh264", "mpeg4")  # the first one available in PyAV is used
_TICKS = 90_000  # per second, as in MPEG
_SHARE = 0.3  # side of the inset, as a share of the image's shorter side
_PATH_SIDE, _MIDDLE = 0.74, (0.5, 0.44)  # side and middle of the path's square, in the inset; the scale bar is below
_PATH, _BACK, _ROBOT, _TEXT = (14, 165, 233), (255, 255, 255, 200), (225, 29, 72), (20, 20, 20)
_BARS_M = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
_POINTS = 2000  # maximum number of path points drawn; beyond it every second one is removed


def write_video(frames: Iterable[Frame], out: Path, progress: Callable[[int], None] = lambda written: None) -> int:
    """Write frames, one at a time, as an MP4 that plays at the speed of their stamps; return their number.

    Pauses and jumps of the clock are skipped.

    Raises MissingExtra without PyAV, StorageError when there is no frame, the file exists or the disk fails.
    """
    reading = iter(frames)
    first = next(reading, None)
    if first is None:
        raise no_frame(frames)
    return write_pictures(_drawn(chain((first,), reading)), out, progress)


def _drawn(frames: Iterable[Frame]) -> Iterator[tuple[int, np.ndarray]]:
    inset, begin_ns = Inset(), None
    for number, frame in enumerate(frames):
        begin_ns = frame.stamp_ns if begin_ns is None else begin_ns
        yield frame.stamp_ns, drawn(frame, number, begin_ns, inset)


def write_pictures(pictures: Iterable[tuple[int, np.ndarray]], out: Path,
                   progress: Callable[[int], None] = lambda written: None) -> int:
    """Write pictures, (H, W, 3) uint8, with stamps, ns, as an MP4 like `write_video`; the last one is held briefly."""
    try:
        import av
    except ImportError as error:
        raise MissingExtra("PyAV (av)", "video") from error
    if out.exists():
        raise StorageError(f"{out} exists already: name another file, or remove it")
    reading = iter(pictures)
    first = next(reading, None)
    if first is None:
        raise no_frame(pictures)
    part, written = out.with_name(f".{out.name}.part"), 0
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with av.open(str(part), "w", format="mp4") as container:
            for written, packet in enumerate(_packets(av, container, chain((first,), reading)), start=1):
                container.mux(packet)
                progress(written)
        part.replace(out)
    except (OSError, av.FFmpegError) as error:
        raise StorageError(f"video {out} could not be written ({error}): free space there, or name another") from error
    finally:
        part.unlink(missing_ok=True)
    return written


def _packets(av: Any, container: Any, pictures: Iterator[tuple[int, np.ndarray]]) -> Iterator[Any]:
    """Yield the encoder's packets for each picture, as a list; in the end mux the packets of the flush."""
    stream, last, clock = None, -1, SteadyClock()
    for stamp_ns, pixels in pictures:
        if stream is None:
            stream = _stream(av, container, pixels)
        picture = av.VideoFrame.from_ndarray(_fitted(pixels, stream), format="rgb24")
        last = max(last + 1, round(clock.at(stamp_ns) * _TICKS / 1e9))  # stamps may be repeated
        picture.pts, picture.time_base = last, Fraction(1, _TICKS)
        yield stream.encode(picture)
    container.mux(stream.encode(None) if stream is not None else [])


def _stream(av: Any, container: Any, pixels: np.ndarray) -> Any:
    codec = next((name for name in _CODECS if name in av.codecs_available), "mpeg4")
    stream = container.add_stream(codec, rate=30)
    stream.width, stream.height = (2 * max(1, size // 2) for size in (pixels.shape[1], pixels.shape[0]))
    stream.pix_fmt, stream.time_base = "yuv420p", Fraction(1, _TICKS)
    stream.codec_context.time_base = Fraction(1, _TICKS)
    if codec == "libx264":
        stream.options = {"crf": "23", "preset": "veryfast"}
    else:
        stream.bit_rate = 4_000_000
    return stream


def _fitted(pixels: np.ndarray, stream: Any) -> np.ndarray:
    """Return the image in the size of the first one: cameras may change their size; encoders need even sizes."""
    size = (stream.width, stream.height)
    if pixels.shape[1::-1] == size:
        return pixels
    cut = pixels[:stream.height, :stream.width]
    return cut if cut.shape[1::-1] == size else np.asarray(Image.fromarray(pixels).resize(size))


def drawn(frame: Frame, number: int, begin_ns: int, inset: Inset) -> np.ndarray:
    """Return the image, (H, W, 3) uint8, with index, stamp, seconds since the beginning, and the inset."""
    image = Image.fromarray(frame.rgb)
    side = round(_SHARE * min(image.size))
    if side >= 32:
        inset.move(frame)
        image.paste(view := inset.view(side), (image.width - side, 0), view)
    draw, font = ImageDraw.Draw(image, "RGBA"), writing_font(max(8, min(image.size) // 32))
    text = _wrapped((str(number), f"{frame.stamp_ns / 1e9:.3f} s", f"+{(frame.stamp_ns - begin_ns) / 1e9:.2f} s",
                     f"x {frame.pose.x:.2f} m  y {frame.pose.y:.2f} m  {math.degrees(frame.pose.yaw):.0f} deg"),
                    lambda line: draw.textlength(line, font) <= image.width - 8)
    box = draw.textbbox((4, image.height - 4), text, font=font, anchor="ld")
    draw.rectangle((0, box[1] - 3, box[2] + 4, image.height), fill=_BACK)
    draw.text((4, image.height - 4), text, fill=_TEXT, font=font, anchor="ld")
    return np.asarray(image)


def _wrapped(parts: Sequence[str], fits: Callable[[str], bool]) -> str:
    """Return the parts in as few lines as possible."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]}   {part}"
        lines[-1:] = [longer] if fits(longer) else [lines[-1], part]
    return "\n".join(lines)


class Inset:
    """The path so far from above, x to the right, y up; the scale follows the path.

    path: the drawn points, x, y in metres; their spacing grows with the length of the path.
    """

    def __init__(self) -> None:
        self.path: list[tuple[float, float]] = []
        self._yaw = 0.0
        self._step, self._seen = 1, 0

    def move(self, frame: Frame) -> None:
        """Add the pose of a frame to the path."""
        pose = frame.pose
        if self._seen % self._step == 0 or not self.path:
            self.path.append((pose.x, pose.y))
        else:
            self.path[-1] = (pose.x, pose.y)
        self._yaw, self._seen = pose.yaw, self._seen + 1
        if len(self.path) > _POINTS:
            self.path, self._step = [*self.path[:-1:2], self.path[-1]], 2 * self._step

    def view(self, side: int) -> Image.Image:
        """Return a square RGBA image of `side` pixels: path, heading and a scale bar."""
        view = Image.new("RGBA", (side, side), _BACK)
        draw, path = ImageDraw.Draw(view), np.array(self.path)
        low, high = path.min(axis=0), path.max(axis=0)
        metres = max(float((high - low).max()), 1.0)
        scale = side * _PATH_SIDE / metres  # pixels per metre
        at = (path - (low + high) / 2) * (scale, -scale) + np.multiply(_MIDDLE, side)
        if len(at) > 1:
            draw.line([(float(x), float(y)) for x, y in at], fill=_PATH, width=max(1, side // 60))
        self._arrow(draw, at[-1], side)
        self._bar(draw, scale, side)
        return view

    def _arrow(self, draw: ImageDraw.ImageDraw, at: np.ndarray, side: int) -> None:
        turns = ((0.0, 0.07), (2.5, 0.05), (-2.5, 0.05))  # of the corners of a triangle that points along the heading
        draw.polygon([(float(at[0]) + math.cos(self._yaw + turn) * size * side,
                       float(at[1]) - math.sin(self._yaw + turn) * size * side) for turn, size in turns], fill=_ROBOT)

    def _bar(self, draw: ImageDraw.ImageDraw, scale: float, side: int) -> None:
        metres = max((m for m in _BARS_M if m * scale <= 0.5 * side), default=_BARS_M[0])
        left, bottom = 0.06 * side, 0.95 * side
        width = max(1, side // 60)
        draw.line((left, bottom, left + metres * scale, bottom), fill=_TEXT, width=width)
        font = writing_font(max(8, side // 12))
        draw.text((left, bottom - width - 1), f"{metres:g} m", fill=_TEXT, font=font, anchor="ls")
