"""Writes animations: GIF with Pillow, MP4 if PyAV is installed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from eqa_nodes.core.errors import ConfigError, MissingExtra
from eqa_nodes.core.pillow import RESAMPLING
from eqa_nodes.core.storage.codec import write_bytes

KINDS = (".gif", ".mp4")
Colour = tuple[int, int, int]
_SIDES_PX = (760, 620, 500)  # longer side of a GIF; smaller ones are tried if the file would be too large
_COLOURS, _SAMPLES = 192, 12  # number of colours in a GIF, and of images from which they are chosen


def check_kind(out: Path) -> None:
    """Raise ConfigError for a file name without an ending for animations, MissingExtra for an MP4 without PyAV."""
    if out.suffix.lower() not in KINDS:
        raise ConfigError(f"{out}: the file name of a clip must end in {' or '.join(KINDS)}")
    if out.suffix.lower() == ".mp4":
        try:
            import av  # noqa: F401
        except ImportError as error:
            raise MissingExtra("PyAV (av)", "video") from error


def write_animation(out: Path, images: Sequence[Image.Image], durations_ms: Sequence[int], most_bytes: int,
                    keep: Sequence[Colour] = ()) -> None:
    """Write images of one size in the format of the file name. most_bytes: maximum size of a GIF; keep: colours that
    it must contain.

    Raises the errors of check_kind, and StorageError for an MP4 that exists already.
    """
    check_kind(out)
    if out.suffix.lower() == ".mp4":
        from eqa_nodes.media.video import write_pictures

        write_pictures(_in_time(images, durations_ms), out)
    else:
        write_bytes(out, animated_gif(images, durations_ms, most_bytes, keep))


def animated_gif(images: Sequence[Image.Image], durations_ms: Sequence[int], most_bytes: int,
                 keep: Sequence[Colour] = ()) -> bytes:
    """Return the largest GIF within the limit, or the smallest if none is. keep: colours that it must contain."""
    for side in _SIDES_PX:
        small = [_fitted(image, side) for image in images]
        palette = _palette(small, keep)
        frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in small]
        buffer = io.BytesIO()
        frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=list(durations_ms), loop=0,
                       optimize=True)
        if buffer.tell() <= most_bytes:
            break
    return buffer.getvalue()


def _palette(images: Sequence[Image.Image], keep: Sequence[Colour]) -> Image.Image:
    """Return an image with the palette of a GIF: a common palette keeps unchanged areas identical in all images."""
    some = [*images[::max(1, len(images) // _SAMPLES)], images[-1]]
    width, height = (max(1, size // 2) for size in images[0].size)
    mosaic = Image.new("RGB", (width * len(some), height))
    for index, image in enumerate(some):
        mosaic.paste(image.resize((width, height)), (index * width, 0))
    found = (mosaic.quantize(_COLOURS - len(keep)).getpalette() or [])[:3 * (_COLOURS - len(keep))]
    palette = Image.new("P", (1, 1))
    palette.putpalette([*found, *(part for colour in keep for part in colour)])
    return palette


def _fitted(image: Image.Image, side: int) -> Image.Image:
    share = min(1.0, side / max(image.size))
    size = round(image.width * share), round(image.height * share)
    return image if share == 1.0 else image.resize(size, RESAMPLING.LANCZOS)


def _in_time(images: Sequence[Image.Image], durations_ms: Sequence[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield pictures with stamps, ns; the last one twice, so that it remains visible."""
    at_ns = 0
    for image, duration in zip(images, durations_ms, strict=True):
        yield at_ns, np.asarray(image.convert("RGB"))
        at_ns += duration * 1_000_000
    yield at_ns, np.asarray(images[-1].convert("RGB"))
