"""Code that all ray-cast worlds share: pinhole rays, the triangle tree (Embree), worker threads.

The image is split into bands of rows. One worker thread casts and shades each band; a band depends only on its own
rays, so the image is the same for any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from eqa_nodes.core.types.views import Intrinsics
from sim_bridge import embree

BAND_ROWS = 40
Result = TypeVar("Result")


class Image(NamedTuple):
    """rgb (H, W, 3) uint8; depth_m (H, W) float32 along the optical axis, 0 = no return; labels (H, W) uint16."""

    rgb: np.ndarray
    depth_m: np.ndarray
    labels: np.ndarray


@lru_cache(maxsize=1)
def _workers(process: int) -> ThreadPoolExecutor:
    """Return this process's thread pool for casting and shading (Embree and numba release the GIL)."""
    return ThreadPoolExecutor(max_workers=max(1, min(8, os.cpu_count() or 1)), thread_name_prefix="rays")


@lru_cache(maxsize=8)
def optical_rays(k: Intrinsics) -> np.ndarray:
    """Return (H * W, 3) float32 ray directions in the optical frame, z component 1: ray length is then z-depth."""
    u, v = np.meshgrid((np.arange(k.width) + 0.5 - k.cx) / k.fx, (np.arange(k.height) + 0.5 - k.cy) / k.fy)
    return np.stack([u, v, np.ones_like(u)], -1).reshape(-1, 3).astype(np.float32)


class RayScene:
    """The triangles of a mesh, ready for ray queries. scene: Embree's handle, for the functions of `embree`."""

    def __init__(self, points: np.ndarray, faces: np.ndarray | None = None) -> None:
        """Build the tree over (n, 3, 3) float32 triangles, or over (n, 3) points and (m, 3) int32 faces."""
        points = np.ascontiguousarray(points, np.float32).reshape(-1, 3)
        every = np.arange(len(points), dtype=np.int32).reshape(-1, 3) if faces is None else faces
        self._tree = embree.TriangleTree(points, every)
        self.scene = self._tree.scene

    def hits(self, origins: np.ndarray, directions: np.ndarray, coherent: bool = False, normals: bool = True
             ) -> dict[str, np.ndarray]:
        """Return the first hit of each ray (n, 3) float32: primID (n,) int32, -1 = none, u, v, tfar, Ng (n, 3).

        origins: (n, 3), or (1, 3) if it is the same for all. tfar is a multiple of the direction, or embree.FAR if
        nothing is hit: then u, v and Ng are undefined. coherent: whether neighbouring rays have almost the same
        direction, like a camera's. That is faster, but neighbouring rays may then decide which of two coinciding
        triangles a ray hits. normals: if false, Ng is empty.
        """
        count = len(directions)
        face, (u, v, far) = np.empty(count, np.int32), (np.empty(count, np.float32) for _ in range(3))
        normal = np.empty((count if normals else 0, 3), np.float32)
        flags = embree.COHERENT if coherent else embree.INCOHERENT
        embree.hits(self.scene, flags, *_floats(origins, directions), face, u, v, far, normal)
        return {"primID": face, "u": u, "v": v, "tfar": far, "Ng": normal}

    def blocked(self, origins: np.ndarray, directions: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Return (n,) bool: whether the ray hits something before `length` times its direction."""
        out = np.empty(len(origins), bool)
        embree.blocked(self.scene, *_floats(origins, directions, length), out)
        return out


def _floats(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the arrays as contiguous float32, the only layout that the kernels are compiled for."""
    return tuple(np.ascontiguousarray(array, np.float32) for array in arrays)


def later(work: Callable[[], Result]) -> Future[Result]:
    """Start `work` in a worker thread. It must not wait for other work of the same pool."""
    return _workers(os.getpid()).submit(work)


def blank(count: int) -> Image:
    """Return an uninitialised flat image of `count` pixels."""
    return Image(np.empty((count, 3), np.uint8), np.empty(count, np.float32), np.empty(count, np.uint16))


def for_bands(work: Callable[[slice], None], total: int, band: int) -> None:
    """Run `work` on consecutive slices of `total` items in the worker threads; re-raises their errors."""
    if 0 < total <= band:  # a worker would begin later
        work(slice(0, total))
        return
    for _ in _workers(os.getpid()).map(work, [slice(at, min(at + band, total)) for at in range(0, total, band)]):
        pass
