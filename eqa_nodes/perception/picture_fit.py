"""Fits a picture into the input of a model, and brings boxes, masks and maps back to the picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from PIL import Image


class PictureFit(NamedTuple):
    """Where a picture lies in the input of a model. All sizes are height and width in pixels.

    picture: its own size; canvas: size of the input; content: its size within the input; corner: its top and left edge
    there.
    """

    picture: tuple[int, int]
    canvas: tuple[int, int]
    content: tuple[int, int]
    corner: tuple[int, int] = (0, 0)

    def filled(self, rgb: np.ndarray, grey: int) -> np.ndarray:
        """Return the input (h, w, 3) uint8 with the picture (H, W, 3) uint8 and grey around it."""
        (height, width), (top, left) = self.content, self.corner
        image = np.full((*self.canvas, 3), grey, np.uint8)
        image[top:top + height, left:left + width] = _resized(Image.fromarray(np.ascontiguousarray(rgb)), self.content,
                                                             Image.Resampling.BILINEAR)
        return image

    def boxes_back(self, boxes: np.ndarray) -> np.ndarray:
        """Return boxes (n, 4) of the input in whole pixels of the picture, clipped to it."""
        (top, left), (height, width) = self.corner, self.picture
        scale = np.array([width / self.content[1], height / self.content[0]] * 2)
        raw = (boxes.astype(np.float64) - np.array([left, top, left, top])) * scale
        return np.rint(np.clip(raw, 0, np.array([width, height, width, height]))).astype(np.int64)

    def map_back(self, values: np.ndarray) -> np.ndarray:
        """Return the value of each pixel of the picture (H, W) from a map (h, w) over the whole input: the nearest."""
        rows = self._nearest(0, values.shape[0])
        columns = self._nearest(1, values.shape[1])
        return values[rows[:, None], columns[None, :]]

    def mask_back(self, logits: np.ndarray, box: list[int]) -> np.ndarray:
        """Return a mask (H, W) bool within a box of the picture from logits (h, w) over the whole input."""
        (top, left), (height, width) = self.corner, self.content
        down, across = logits.shape[0] / self.canvas[0], logits.shape[1] / self.canvas[1]
        part = (left * across, top * down, (left + width) * across, (top + height) * down)
        image = Image.fromarray(np.ascontiguousarray(logits, np.float32))
        whole = np.asarray(image.resize(self.picture[::-1], Image.Resampling.BILINEAR, box=part)) > 0
        mask = np.zeros(self.picture, bool)
        x, y, u, v = box
        mask[y:v, x:u] = whole[y:v, x:u]
        return mask

    def _nearest(self, axis: int, cells: int) -> np.ndarray:
        """Return the row or column of a map with this number of cells for each row or column of the picture."""
        spots = (np.arange(self.picture[axis]) + 0.5) * self.content[axis] / self.picture[axis] + self.corner[axis]
        return np.clip(np.floor(spots * cells / self.canvas[axis]), 0, cells - 1).astype(np.intp)


def _resized(image: Image.Image, size: tuple[int, int], how: Image.Resampling) -> np.ndarray:
    return np.asarray(image if image.size == size[::-1] else image.resize(size[::-1], how))


def letterboxed(picture: tuple[int, int], canvas: tuple[int, int]) -> PictureFit:
    """Return the fit that keeps the proportions, with borders on two sides, as in the training of YOLO models."""
    scale = min(canvas[0] / picture[0], canvas[1] / picture[1])
    height, width = (min(own, max(1, round(side * scale))) for side, own in zip(picture, canvas, strict=True))
    return PictureFit(picture, canvas, (height, width), ((canvas[0] - height) // 2, (canvas[1] - width) // 2))


def stretched(picture: tuple[int, int], canvas: tuple[int, int]) -> PictureFit:
    """Return the fit that fills the input without keeping the proportions."""
    return PictureFit(picture, canvas, canvas)


def shortest_side(picture: tuple[int, int], shortest: int, longest: int) -> PictureFit:
    """Return the fit whose input has the picture's proportions and this shortest side, unless the longest side limits
    it."""
    scale = min(shortest / min(picture), longest / max(picture))
    height, width = (max(1, round(side * scale)) for side in picture)
    return PictureFit(picture, (height, width), (height, width))
