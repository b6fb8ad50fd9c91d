"""Seeded, tileable surface textures: small images that modulate a surface's own colour.

A texel is a factor per channel: 128 leaves the surface colour as it is, 255 doubles it. Textures with `tint` 0 have
their own colours (paintings, screens) and ignore the surface's. Images are computed once per process, from fixed seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.kernels import njit
from sim_bridge.house import lettering
from sim_bridge.house.scene import HouseObject, ObjectPart

SIZE = 256  # texels per side of the finest level
LEVELS = 7  # 256 .. 4
PICTURES = 8  # different paintings and screens

_U, _V = np.meshgrid(np.arange(SIZE) / SIZE, np.arange(SIZE) / SIZE)  # u to the right, v up


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _smooth(seed: int, sigma_u: float, sigma_v: float) -> np.ndarray:
    """Return (SIZE, SIZE) tileable noise of zero mean and unit deviation, blurred by texels along u and v."""
    noise = _blurred(_rng(seed).standard_normal((SIZE, SIZE)), _bell(sigma_v))
    noise = _blurred(np.ascontiguousarray(noise.T), _bell(sigma_u)).T.copy()
    return (noise - noise.mean()) / noise.std()


def _bell(sigma: float) -> np.ndarray:
    """Return the weights (2 r + 1,) of a Gaussian blur by `sigma` texels."""
    reach = int(4.0 * sigma + 0.5)
    weights = np.exp(-0.5 / (sigma * sigma) * np.arange(-reach, reach + 1) ** 2)
    return np.asarray(weights / weights.sum())


@njit(nogil=True)
def _blurred(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return an image blurred along its first axis, at whose ends it repeats. weights: (2 r + 1,), symmetric."""
    rows, reach = len(image), len(weights) // 2
    found = np.empty_like(image)
    for i in range(rows):
        row = found[i]
        row[:] = image[i] * weights[reach]
        for j in range(reach, 0, -1):
            before, after, weight = image[(i - j) % rows], image[(i + j) % rows], weights[reach - j]
            for k in range(len(row)):
                row[k] += (before[k] + after[k]) * weight
    return found


def _grey(values: np.ndarray) -> np.ndarray:
    return np.repeat(values[:, :, None], 3, axis=2)


def _shift(values: np.ndarray, rgb: tuple[float, float, float]) -> np.ndarray:
    """Return colours that change along rgb in proportion to `values`."""
    return 1.0 + values[:, :, None] * np.asarray(rgb)


def _plain(seed: int) -> np.ndarray:
    return _grey(1.0 + 0.012 * _smooth(seed, 6, 6) + 0.008 * _smooth(seed + 1, 1, 1))


def _plaster(seed: int) -> np.ndarray:
    return _grey(1.0 + 0.018 * _smooth(seed, 30, 30) + 0.012 * np.tanh(_smooth(seed + 1, 1.5, 1.5)))


def _stripes(seed: int) -> np.ndarray:
    """Wallpaper: pairs of broad and thin stripes."""
    u = (_U * 4) % 1.0
    stripes = np.where(u < 0.5, 1.05, 0.90) + np.where(np.abs(u - 0.75) < 0.04, 0.12, 0.0)
    return _grey(stripes + 0.012 * _smooth(seed, 1, 1))


def _dots(seed: int) -> np.ndarray:
    """Wallpaper: small lozenges in staggered rows."""
    v = _V * 6
    u = _U * 6 + 0.5 * (np.floor(v) % 2)
    lozenge = np.abs(u % 1 - 0.5) + np.abs(v % 1 - 0.5) < 0.16
    return _grey(np.where(lozenge, 0.80, 1.02) + 0.012 * _smooth(seed, 2, 2))


def _wood(seed: int) -> np.ndarray:
    """Grain along u: sine rings bent by slow noise, with fine fibres."""
    rings = np.sin(2 * np.pi * (5 * _V + 0.22 * _smooth(seed, 60, 12)))
    return _shift(0.12 * rings + 0.08 * _smooth(seed + 1, 40, 0.9), (0.9, 1.1, 1.4))


def _boards(seed: int, rows: int, joint: float) -> np.ndarray:
    """Boards along u, each with its own tone and grain, dark joints, ends staggered."""
    row = (np.floor(_V * rows)).astype(int)
    offset = _rng(seed).random(rows)[row]
    along = np.floor(_U + offset)
    tone = _rng(seed + 1).normal(0, 0.10, (rows, 3))[row, along.astype(int)]
    rings = np.sin(2 * np.pi * (rows * 2 * _V + 0.3 * _smooth(seed + 3, 50, 8)))
    grain = 0.05 * _smooth(seed + 2, 30, 0.8) + 0.04 * rings
    edge = (np.abs(_V * rows - np.round(_V * rows)) < joint * rows) | (np.abs((_U + offset) % 1.0) < joint * 0.6)
    return _shift(tone + grain, (0.9, 1.05, 1.25)) * np.where(edge, 0.62, 1.0)[:, :, None]


def _tile(seed: int, count: int, grout: float) -> np.ndarray:
    u, v = (_U * count) % 1.0, (_V * count) % 1.0
    cell = (np.floor(_U * count) * 7 + np.floor(_V * count)).astype(int)
    tone = _rng(seed).normal(0, 0.035, cell.max() + 1)[cell]
    joint = np.minimum(np.minimum(u, 1 - u), np.minimum(v, 1 - v)) < grout * count
    return np.where(joint[:, :, None], 0.70, _grey(1.02 + tone + 0.02 * _smooth(seed + 1, 5, 5)))


def _brick(seed: int) -> np.ndarray:
    row = np.floor(_V * 8).astype(int)
    u = (_U * 4 + 0.5 * (row % 2)) % 4
    tone = _rng(seed).normal(0, 0.12, (8, 5))[row, np.floor(u).astype(int)]
    joint = (np.abs(u - np.round(u)) < 0.04) | (np.abs(_V * 8 - np.round(_V * 8)) < 0.08)
    return np.where(joint[:, :, None], (1.25, 1.3, 1.3), _shift(tone + 0.05 * _smooth(seed + 1, 1, 1), (1, 1.1, 1.1)))


def _carpet(seed: int) -> np.ndarray:
    return _grey(1.0 + 0.10 * _smooth(seed, 0.8, 0.8) + 0.05 * _smooth(seed + 1, 8, 8))


def _fabric(seed: int) -> np.ndarray:
    weave = np.sin(2 * np.pi * 20 * _U) * np.sin(2 * np.pi * 20 * _V)
    return _grey(1.0 + 0.18 * weave + 0.05 * _smooth(seed, 1.2, 1.2) + 0.03 * _smooth(seed + 1, 14, 14))


def _rug(seed: int) -> np.ndarray:
    """A framed carpet with a lattice of lozenges; fits one face."""
    edge = np.minimum(np.minimum(_U, 1 - _U), np.minimum(_V, 1 - _V))
    lozenge = np.abs((_U * 6) % 1 - 0.5) + np.abs((_V * 4) % 1 - 0.5)
    tone = np.where(lozenge < 0.28, 1.45, np.where(lozenge < 0.36, 0.7, 1.0))
    tone = np.where(edge < 0.10, 0.62, tone)
    tone = np.where((edge > 0.045) & (edge < 0.065), 1.5, tone)
    return _grey(tone + 0.07 * _smooth(seed, 0.8, 0.8))


def _marble(seed: int) -> np.ndarray:
    vein = np.abs(_smooth(seed, 22, 14) + 0.35 * _smooth(seed + 1, 5, 5))
    return _shift(-0.35 * np.exp(-vein * 9.0) + 0.03 * _smooth(seed + 2, 20, 20), (1.0, 0.95, 0.9))


def _metal(seed: int) -> np.ndarray:
    return _grey(1.0 + 0.035 * _smooth(seed, 40, 0.7))


def _plastic(seed: int) -> np.ndarray:
    return _grey(1.0 + 0.025 * np.tanh(_smooth(seed, 0.8, 0.8)))


def _lampshade(seed: int) -> np.ndarray:
    """A shade with light behind it: brightest a little above its lower rim; fits one face."""
    light = np.clip(1.9 - 2.4 * (_V - 0.25) ** 2 + 0.03 * _smooth(seed, 1.2, 1.2), 0.8, 1.95)
    return light[:, :, None] * (1.0, 0.88, 0.66)


def _concrete(seed: int) -> np.ndarray:
    return _grey(1.0 + 0.05 * np.tanh(_smooth(seed, 2, 2)) + 0.04 * _smooth(seed + 1, 20, 20))


def _leather(seed: int) -> np.ndarray:
    """Dark creases between worn, paler patches."""
    crease = np.exp(-5.0 * np.abs(_smooth(seed, 9, 9) + 0.3 * _smooth(seed + 1, 2, 2)))
    return _grey(1.06 - 0.30 * crease + 0.09 * _smooth(seed + 2, 22, 22))


def _wicker(seed: int) -> np.ndarray:
    a = np.sin(2 * np.pi * 12 * _U) * np.where(np.sin(2 * np.pi * 6 * _V) > 0, 1, -1)
    return _grey(0.95 + 0.34 * a + 0.04 * _smooth(seed, 1, 1))


def _leaves(seed: int) -> np.ndarray:
    spots = np.tanh(2 * _smooth(seed, 5, 5))
    return _shift(0.35 * spots + 0.1 * _smooth(seed + 1, 1.5, 1.5), (0.9, 1.0, 0.7))


def _books(seed: int) -> np.ndarray:
    """A row of spines, each of its own colour and height, with a title band; v fits the face."""
    rng, image, at = _rng(seed), np.full((SIZE, SIZE, 3), 0.12), 0
    while at < SIZE:
        width = min(int(rng.integers(9, 22)), SIZE - at)
        top = int(SIZE * rng.uniform(0.74, 0.98))
        hue = np.array(_hsv(rng.random(), rng.uniform(0.25, 0.8), rng.uniform(0.25, 0.9)))
        image[:top, at:at + width] = hue * np.linspace(0.7, 1.0, width)[None, :, None]
        band = int(top * rng.uniform(0.55, 0.8))
        image[band:band + SIZE // 14, at + 1:at + width - 1] = hue * 0.4 + 0.5
        at += width
    return image * 2.0


def _hsv(h: float, s: float, v: float) -> tuple[float, float, float]:
    k = [(n + h * 6) % 6 for n in (5, 3, 1)]
    return tuple(v - v * s * max(0.0, min(x, 4 - x, 1.0)) for x in k)  # type: ignore[return-value]


def _painting(seed: int) -> np.ndarray:
    """An abstract image: a graded ground, a horizon of hills and a few discs, inside a pale mount."""
    rng = _rng(seed)
    low, high, third = (np.array(_hsv(rng.random(), rng.uniform(0.3, 0.8), rng.uniform(0.4, 0.95))) for _ in range(3))
    image = low + (high - low) * _V[:, :, None]
    for layer in range(3):
        hill = 0.55 - 0.16 * layer + 0.07 * np.sin(2 * np.pi * (_U * rng.integers(1, 3) + rng.random()))
        image = np.where((hill > _V)[:, :, None], third * (1.0 - 0.25 * layer), image)
    for _ in range(int(rng.integers(1, 4))):
        x, y, r = rng.uniform(0.2, 0.8), rng.uniform(0.55, 0.85), rng.uniform(0.04, 0.12)
        image = np.where(((_U - x) ** 2 + (_V - y) ** 2 < r * r)[:, :, None], _hsv(rng.random(), 0.7, 0.95), image)
    mount = np.minimum(np.minimum(_U, 1 - _U), np.minimum(_V, 1 - _V)) < 0.08
    return np.where(mount[:, :, None], 0.85, image) * 2.0


def _screen(seed: int) -> np.ndarray:
    """A running television or monitor: a bright scene with a bar of text blocks."""
    rng = _rng(seed)
    image = np.array(_hsv(rng.uniform(0.5, 0.7), 0.5, 0.9)) * (0.5 + 0.5 * _V[:, :, None])
    blob = _smooth(seed + 1, 24, 18)
    image = np.where((blob > 0.7)[:, :, None], _hsv(rng.random(), 0.6, 0.9), image)
    text = (_V < 0.22) & (_V > 0.08) & ((np.floor(_U * 24) * 5 % 7) > 1) & ((_V * 28) % 1.0 > 0.35)
    return np.where(text[:, :, None], 0.95, image) * 2.0


class Texture(NamedTuple):
    """How a texture is made and mapped: tile_m metres per repeat along u and v, 0 = fitted once to the face."""

    draw: Callable[[int], np.ndarray]
    tile_m: tuple[float, float]
    tint: float = 1.0  # weight of the surface's own colour
    pictures: int = 1  # number of variants


TEXTURES: dict[str, Texture] = {  # the names of scene.TEXTURES
    "plain": Texture(_plain, (1.0, 1.0)),
    "plaster": Texture(_plaster, (1.4, 1.4)),
    "wallpaper_stripes": Texture(_stripes, (0.48, 0.96)),
    "wallpaper_dots": Texture(_dots, (0.6, 0.6)),
    "wood": Texture(_wood, (0.9, 0.45)),
    "planks": Texture(lambda seed: _boards(seed, 8, 0.004), (1.6, 1.0)),
    "tile": Texture(lambda seed: _tile(seed, 3, 0.010), (0.99, 0.99)),
    "small_tile": Texture(lambda seed: _tile(seed, 6, 0.010), (0.66, 0.66)),
    "brick": Texture(_brick, (1.0, 0.64)),
    "carpet": Texture(_carpet, (0.5, 0.5)),
    "fabric": Texture(_fabric, (0.3, 0.3)),
    "rug": Texture(_rug, (0.0, 0.0)),
    "marble": Texture(_marble, (1.1, 1.1)),
    "concrete": Texture(_concrete, (1.5, 1.5)),
    "metal": Texture(_metal, (0.4, 0.4)),
    "glass": Texture(_plain, (0.7, 0.7)),
    "leather": Texture(_leather, (0.6, 0.6)),
    "paper": Texture(_plain, (0.4, 0.4)),
    "wicker": Texture(_wicker, (0.3, 0.3)),
    "leaves": Texture(_leaves, (0.35, 0.35)),
    "books": Texture(_books, (0.55, 0.0), 0.35),
    "painting": Texture(_painting, (0.0, 0.0), 0.0, PICTURES),
    "screen": Texture(_screen, (0.0, 0.0), 0.0, PICTURES),
    "ceramic": Texture(_plain, (0.7, 0.7)),
    "plastic": Texture(_plastic, (0.25, 0.25)),
    "lampshade": Texture(_lampshade, (0.0, 0.0), 0.85),
}


def texture_named(name: str) -> Texture:
    """Return a texture by name; "text:..." is text. Raises ConfigError for an unknown one."""
    if name.startswith(lettering.PREFIX):
        words = lettering.words_of(name)
        return Texture(lambda seed: lettering.drawn(words, SIZE), (0.0, 0.0))
    if name not in TEXTURES:
        raise ConfigError(unknown("texture", name, TEXTURES))
    return TEXTURES[name]


def texture_row(name: str, instance: int) -> int:
    """Return the atlas row of a texture on an object, whose id selects the image. Rows of text are last."""
    row = 0
    if name.startswith(lettering.PREFIX):
        return _first_of_words() + lettering.WRITTEN.index(lettering.words_of(name))
    for other, texture in TEXTURES.items():
        if other == name:
            return row + instance % texture.pictures
        row += texture.pictures
    raise ConfigError(unknown("texture", name, TEXTURES))


def _first_of_words() -> int:
    return sum(texture.pictures for texture in TEXTURES.values())


def has_words(rows: np.ndarray) -> np.ndarray:
    """Return (n,) bool: whether a row of the atlas is text, which has the same resolution along u and v."""
    return np.asarray(rows >= _first_of_words(), bool)


def level_offsets() -> np.ndarray:
    """Return the start index of each level in the texels of one variant."""
    sizes = [(SIZE >> level) ** 2 for level in range(LEVELS)]
    return np.concatenate([[0], np.cumsum(sizes)])


def _pyramid(image: np.ndarray) -> np.ndarray:
    """Return the image (SIZE, SIZE, 3) and its halvings, flattened to (texels, 3) uint8."""
    levels = []
    for _ in range(LEVELS):
        levels.append(image.reshape(-1, 3))
        image = (image[::2, ::2] + image[::2, 1::2] + image[1::2, ::2] + image[1::2, 1::2]) / 4
    return _as_bytes(np.concatenate(levels))


@njit(nogil=True)
def _as_bytes(factors: np.ndarray) -> np.ndarray:
    """Return factors (n, 3) as uint8: 128 for 1."""
    found = np.empty(factors.shape, np.uint8)
    for i in range(len(factors)):
        for c in range(3):
            found[i, c] = min(max(np.rint(factors[i, c] * 128.0), 0.0), 255.0)
    return found


@cache
def _variant(row: int) -> np.ndarray:
    """Return the pyramid of one row of the atlas."""
    if has_words(np.asarray(row)):
        return _pyramid(lettering.drawn(lettering.WRITTEN[row - _first_of_words()], SIZE))
    rows = [(name, picture) for name, texture in TEXTURES.items() for picture in range(texture.pictures)]
    name, picture = rows[row]
    return _pyramid(TEXTURES[name].draw(1000 * list(TEXTURES).index(name) + 10 * picture))


def atlas(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the texels (k, texels, 3) uint8 of the k rows in use, and `rows` renumbered into them."""
    used, renumbered = np.unique(rows, return_inverse=True)
    return np.stack([_variant(int(row)) for row in used]), renumbered.astype(np.int32)


class Gloss(NamedTuple):
    """mirror: share of the light that is reflected in the surface's own colour, as metals do; coat: strength of the
    white highlight of a clear coat; sharpness: how often the highlight's cosine is squared."""

    mirror: float = 0.0
    coat: float = 0.0
    sharpness: int = 0


MATT = Gloss()
GLOSS = {  # gloss by texture; all others are matt
    "metal": Gloss(0.8, 0.5, 4),
    "ceramic": Gloss(0.0, 1.4, 6),
    "glass": Gloss(0.35, 2.2, 7),
    "plastic": Gloss(0.0, 0.45, 3),
    "leather": Gloss(0.0, 0.15, 3),
    "marble": Gloss(0.0, 0.4, 4),
}
_COATED = {"metal": "metal", "ceramic": "ceramic", "plastic": "plastic", "rubber": "plastic", "wax": "plastic",
           "wood": "wood"}


def gloss_of(texture: str) -> Gloss:
    """Return the gloss of a texture."""
    return GLOSS.get(texture, MATT)


def texture_of(obj: HouseObject, part: ObjectPart) -> str:
    """Return a part's texture; plain parts of the object's own colour show what the object is made of."""
    own = part.colour in (obj.colour, obj.paint) and part.glow == 0.0
    return _COATED.get(obj.material, part.texture) if own and part.texture == "plain" else part.texture
