"""The content of a mesh file of any format: parts with materials, and encoded images."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from eqa_nodes.core.errors import ConfigError, SimulatorError, UnknownScene
from eqa_nodes.core.kernels import njit

REPEAT, CLAMP, MIRROR = 0, 1, 2  # wrap modes of a texture
_KTX2, _BASIS = b"\xabKTX 20\xbb\r\n\x1a\n", b"sB"
BASIS_REMEDY = ("textures compressed with Basis (KTX2) are read by Habitat only: take the plain .glb of the same scan "
                "(HM3D: the archive 'glb' beside 'habitat'; without \".basis\" in the name), or decode it with "
                "`gltf-transform ktxdecompress`")
Decode = Callable[[], np.ndarray]
LOOK_VARIABLE, HABITAT_LOOK = "EQA_MESH_LOOK", "habitat"


def shown_as_stored() -> bool:
    """Return whether glTF's linear base colours are shown as stored: dark, as Habitat shows them.

    Raises ConfigError for an unknown look.
    """
    look = os.environ.get(LOOK_VARIABLE, "")
    if look not in ("", HABITAT_LOOK):
        raise ConfigError(f"{LOOK_VARIABLE} is {look!r}: expected {HABITAT_LOOK}, or nothing")
    return look == HABITAT_LOOK


class Material(NamedTuple):
    """Base colour (r, g, b) 0..1, as shown, that multiplies the texture `image` (index, -1 = none); wrap modes along u
    and v."""

    factor: tuple[float, float, float] = (1.0, 1.0, 1.0)
    image: int = -1
    wrap: tuple[int, int] = (REPEAT, REPEAT)


class Submesh(NamedTuple):
    """Triangles of one material, in the scene frame of the file with its axes and units.

    vertices (n, 3) float64; faces (m, 3) integers, counter-clockwise seen from the front; uv (n, 2) float32 with v
    downwards from the image's top, or None; colour (n, 3) float32, 0..1 as stored, or None; name: name of the node.
    """

    vertices: np.ndarray
    faces: np.ndarray
    uv: np.ndarray | None
    colour: np.ndarray | None
    material: Material
    name: str = ""


class MeshFile(NamedTuple):
    """A whole file. images: functions that return decoded images (h, w, 3) uint8, or raise SimulatorError."""

    parts: list[Submesh]
    images: list[Decode]

    def used(self) -> list[int]:
        """Return the indices of the images that any part uses."""
        return sorted({part.material.image for part in self.parts} - {-1})


def broken(path: Path, why: object) -> SimulatorError:
    """Return the error for a file that does not match its format."""
    return SimulatorError(f"{path}: {why}. The file is damaged, incomplete or of another format: copy or export it "
                          "again; `eqa` reads .glb, .obj, .ply and .stl")


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Convert the image library's errors (not an image, truncated, too large) to SimulatorError."""
    try:
        yield
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError, EOFError) as error:
        raise SimulatorError(f"{what}: not an image that can be read ({error}): export the scan again with PNG or "
                             "JPEG textures") from error


def opened(data: bytes | memoryview, what: str) -> Image.Image:
    """Return an image file, not yet decoded. Raises SimulatorError: Basis, too large for Pillow, or not an image."""
    if bytes(data[:len(_KTX2)]).startswith((_KTX2, _BASIS)):
        raise SimulatorError(f"{what}: {BASIS_REMEDY}")
    with readable(what):
        return Image.open(io.BytesIO(data))


def decoded(data: bytes | memoryview, what: str) -> np.ndarray:
    """Return an image file's pixels (h, w, 3) uint8. Raises what `opened` raises."""
    return pixels_of(opened(data, what), what)


def pixels_of(image: Image.Image, what: str) -> np.ndarray:
    """Return the pixels (h, w, 3) uint8 of an opened image. Raises SimulatorError if it is truncated."""
    with readable(what):
        return np.asarray(image.convert("RGB"))


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file. Raises UnknownScene if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnknownScene(f"{path}: cannot be read ({error.strerror}): give the path of a scan, or set EQA_SCENES"
                           ) from error


def beside(folder: Path, name: str) -> Path | None:
    """Return the file that a scan refers to, or None if the reference leaves the scan's folder."""
    steps = re.split(r"[/\\]+", name.strip())
    if ".." in steps or steps[0] in ("", "~") or ":" in steps[0] or "\0" in name:
        return None
    return folder.joinpath(*steps)


LEVELS = 14  # enough for 8192 x 8192


class Pyramids(NamedTuple):
    """All textures: texels (t, 3) uint8 sRGB, rows from the top; levels (n, LEVELS, 3) int64 first texel, width and
    height of each level of each texture, 0 = no such level; depth (n,) int64 number of levels."""

    texels: np.ndarray
    levels: np.ndarray
    depth: np.ndarray


def pyramids(images: Sequence[Callable[[], np.ndarray] | None]) -> Pyramids:
    """Return the pyramids of images; each function decodes one, (h, w, 3) uint8. None: unused image, no level.

    Raises what the functions raise.
    """
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="textures") as workers:
        done = list(workers.map(lambda decode: _levels(decode()) if decode is not None else [], images))
    table, start = np.zeros((len(done), LEVELS, 3), np.int64), 0
    for row, levels in zip(table, done):
        for number, level in enumerate(levels):
            row[number] = start, level.shape[1], level.shape[0]
            start += level.shape[0] * level.shape[1]
    depth, texels = np.array([len(levels) for levels in done], np.int64), np.empty((start, 3), np.uint8)
    for row, levels in zip(table, done):
        for (at, width, height), level in zip(row, levels):
            texels[at:at + width * height] = level.reshape(-1, 3)
        levels.clear()  # so that all textures are in memory only once
    return Pyramids(texels, table, depth)


def _levels(image: np.ndarray) -> list[np.ndarray]:
    """Return the image and its successive halves down to one texel."""
    levels = [np.ascontiguousarray(image)]
    while max(levels[-1].shape[:2]) > 1 and len(levels) < LEVELS:
        levels.append(_half(levels[-1]))
    return levels


@njit(nogil=True)
def _half(image: np.ndarray) -> np.ndarray:
    """Return the image at half the size, rounded down: means of 2 x 2 texels; an odd last row or column is dropped."""
    height, width = max(1, image.shape[0] // 2), max(1, image.shape[1] // 2)
    out = np.empty((height, width, 3), np.uint8)
    for row in range(height):
        low, high = min(2 * row, image.shape[0] - 1), min(2 * row + 1, image.shape[0] - 1)
        for column in range(width):
            left, right = min(2 * column, image.shape[1] - 1), min(2 * column + 1, image.shape[1] - 1)
            for channel in range(3):
                total = (np.int64(image[low, left, channel]) + image[low, right, channel]
                         + image[high, left, channel] + image[high, right, channel])
                out[row, column, channel] = (total + 2) // 4
    return out
