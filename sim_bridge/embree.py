"""Embree 4 through its C interface: trees over numpy's own arrays, built with the interpreter unlocked.

The library is the one that embreex brings. embreex's own classes copy corners and faces one by one through Python
objects, which takes as long as the tree itself, and hold the interpreter's lock meanwhile. Rays go through Embree's
function for single rays, from compiled loops: each result depends on nothing but its own ray.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache

import embreex.rtcore_scene
import llvmlite.binding
import numpy as np
from numba import types

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.kernels import njit

VERSION = 4  # of Embree: records of rays have another form in others
FAR = 1e37  # a ray that nothing ends
_TRIANGLES, _INDEX, _VERTEX, _UINT3, _FLOAT3 = 0, 0, 1, 0x5003, 0x9003  # Embree's constants, as the next
_ROBUST = 4  # flag of a scene: no ray slips through between two triangles
_VERSION_MAJOR, _OUT_OF_MEMORY = 1, 4
_WORDS = 24  # of 4 bytes: a record of a ray and its hit, with room for fields that builds may add at its end
_ALL = 0xFFFFFFFF  # mask of a ray that meets everything; number of a triangle that is none
_POINTER, _NUMBER, _SIZE = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
_FUNCTIONS = {  # name -> result, arguments
    "rtcNewDevice": (_POINTER, (ctypes.c_char_p,)), "rtcReleaseDevice": (None, (_POINTER,)),
    "rtcGetDeviceProperty": (ctypes.c_ssize_t, (_POINTER, _NUMBER)), "rtcGetDeviceError": (_NUMBER, (_POINTER,)),
    "rtcNewScene": (_POINTER, (_POINTER,)), "rtcReleaseScene": (None, (_POINTER,)),
    "rtcSetSceneFlags": (None, (_POINTER, _NUMBER)), "rtcCommitScene": (None, (_POINTER,)),
    "rtcNewGeometry": (_POINTER, (_POINTER, _NUMBER)),
    "rtcSetSharedGeometryBuffer": (None, (_POINTER, _NUMBER, _NUMBER, _NUMBER, _POINTER, _SIZE, _SIZE, _SIZE)),
    "rtcCommitGeometry": (None, (_POINTER,)), "rtcAttachGeometry": (_NUMBER, (_POINTER, _POINTER)),
    "rtcReleaseGeometry": (None, (_POINTER,)), "rtcIntersect1": (None, (_POINTER, _POINTER, _POINTER)),
    "rtcOccluded1": (None, (_POINTER, _POINTER, _POINTER)),
}


@cache
def _library() -> ctypes.CDLL:
    """Return Embree's functions, found through the module of embreex that is linked to them. Raises SimulatorError."""
    library = ctypes.CDLL(embreex.rtcore_scene.__file__)
    try:
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError as error:
        raise SimulatorError(f"embreex brings no Embree {VERSION} ({error}): pip install -U 'eqa-nodes[house]'"
                             ) from error
    for name in ("rtcIntersect1", "rtcOccluded1"):  # compiled code, also what was stored, finds them by name
        llvmlite.binding.add_symbol(name, ctypes.cast(getattr(library, name), _POINTER).value)
    return library


_of_ray = types.void(types.intp, types.uintp, types.uintp)  # scene, record, arguments
_intersect = types.ExternalFunction("rtcIntersect1", _of_ray)
_occluded = types.ExternalFunction("rtcOccluded1", _of_ray)


class Tree:
    """Triangles, ready to be hit."""

    def __init__(self, corners: np.ndarray, faces: np.ndarray) -> None:
        """Build the tree over corners (n, 3) float32 and faces (m, 3) int32, rows of corners. Raises SimulatorError.

        Faces stay shared with the caller and must not change.
        """
        embree = _library()
        self._corners = np.zeros(3 * len(corners) + 1, np.float32)  # Embree reads 16 bytes at the last corner too
        self._corners[:-1] = corners.reshape(-1)
        self._faces = np.ascontiguousarray(faces, np.int32)
        device = embree.rtcNewDevice(None)
        if not device:
            raise SimulatorError("Embree does not start: this processor is not one that it supports")
        self.scene = embree.rtcNewScene(device)
        weakref.finalize(self, _release, self.scene, device).atexit = False
        version = embree.rtcGetDeviceProperty(device, _VERSION_MAJOR)
        if version != VERSION:
            raise SimulatorError(f"embreex brings Embree {version}, not {VERSION}: pip install -U 'eqa-nodes[house]'")
        embree.rtcSetSceneFlags(self.scene, _ROBUST)
        geometry = embree.rtcNewGeometry(device, _TRIANGLES)
        for kind, form, array, count in ((_VERTEX, _FLOAT3, self._corners, len(corners)),
                                         (_INDEX, _UINT3, self._faces, len(faces))):
            embree.rtcSetSharedGeometryBuffer(geometry, kind, 0, form, array.ctypes.data, 0, 12, count)
        embree.rtcCommitGeometry(geometry)
        embree.rtcAttachGeometry(self.scene, geometry)
        embree.rtcReleaseGeometry(geometry)
        embree.rtcCommitScene(self.scene)
        error = embree.rtcGetDeviceError(device)
        if error:
            why = "there is not enough memory" if error == _OUT_OF_MEMORY else f"Embree's error {error}"
            raise SimulatorError(f"no tree of {len(faces)} triangles: {why}")


def _release(scene: int, device: int) -> None:
    _library().rtcReleaseScene(scene)
    _library().rtcReleaseDevice(device)


@njit(nogil=True)
def hits(scene: int, origins: np.ndarray, directions: np.ndarray, face: np.ndarray, u: np.ndarray, v: np.ndarray,
         far: np.ndarray, normal: np.ndarray) -> None:
    """Fill the first hit of each ray (n, 3) float32: face (n,) int32, -1 = none; u, v, far (n,), normal (n, 3) float32.

    far is a multiple of the direction, FAR where nothing is hit; there u, v and normal mean nothing.
    """
    record = np.zeros(_WORDS, np.float32)
    bits = record.view(np.uint32)
    address = record.ctypes.data
    for i in range(len(face)):
        _aim(record, bits, origins[i], directions[i], np.float32(FAR))
        bits[17:21] = _ALL  # what is hit: nothing yet
        _intersect(scene, address, 0)
        face[i] = np.int32(bits[17])
        u[i], v[i], far[i] = record[15], record[16], record[8]
        normal[i, 0], normal[i, 1], normal[i, 2] = record[12], record[13], record[14]


@njit(nogil=True)
def blocked(scene: int, origins: np.ndarray, directions: np.ndarray, length: np.ndarray, out: np.ndarray) -> None:
    """Fill out (n,) bool: something lies on the ray (n, 3) float32 before length (n,) float32 times its direction."""
    record = np.zeros(_WORDS, np.float32)
    bits = record.view(np.uint32)
    address = record.ctypes.data
    for i in range(len(out)):
        _aim(record, bits, origins[i], directions[i], length[i])
        _occluded(scene, address, 0)
        out[i] = record[8] < 0  # minus infinity


@njit(inline="always")
def _aim(record: np.ndarray, bits: np.ndarray, origin: np.ndarray, direction: np.ndarray, length: float) -> None:
    """Write a ray into Embree's record: origin, begin, direction, time, end, mask, number, flags."""
    for axis in range(3):
        record[axis], record[4 + axis] = origin[axis], direction[axis]
    record[3] = record[7] = 0.0
    record[8] = length
    bits[9], bits[10], bits[11] = _ALL, 0, 0
