"""Surfaces of a place as points and as triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


def srgb_of(linear: np.ndarray) -> np.ndarray:
    """Return colours as screens and cameras keep them (sRGB), of linear ones (as glTF keeps them), both 0..1."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0) ** (1 / 2.4) - 0.055)


class Cloud(NamedTuple):
    """Points on surfaces. points: (n, 3) float32, metres, map frame; colours: (n, 3) uint8, sRGB as the camera's."""

    points: np.ndarray
    colours: np.ndarray


class Mesh(NamedTuple):
    """Surfaces as triangles, whose front is the side that was seen.

    vertices: (n, 3) float32, metres, map frame; triangles: (m, 3) int32, corners counter-clockwise seen from the front;
    colours: (n, 3) uint8 of the vertices, sRGB as the camera's; labels: (n,) uint16 of the vertices, instance ids as in
    Frame.labels, 0 = nothing, or None where nothing was labelled.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    colours: np.ndarray
    labels: np.ndarray | None = None
