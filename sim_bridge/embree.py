"""Embree 4 through its C interface: builds trees over numpy arrays in place, without holding the GIL.

The library is the one that the package embreex contains. embreex's own classes copy corners and faces one by one
through Python objects, which takes as long as building the tree, and hold the GIL meanwhile. Compiled loops pass rays
to Embree: in packets of eight neighbours for first hits, one at a time for occlusion. Embree traces the rays of a
packet one by one unless they are flagged as coherent, like those of a camera: that takes a third of the time.
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

VERSION = 4  # Embree's major version: others lay out ray records differently
FAR = 1e37  # length of a ray that hits nothing
_TRIANGLES, _INDEX, _VERTEX, _UINT3, _FLOAT3 = 0, 0, 1, 0x5003, 0x9003  # Embree's constants, like the next
_ROBUST = 4  # flag of a scene: no ray passes between two adjacent triangles
_VERSION_MAJOR, _OUT_OF_MEMORY = 1, 4
_WORDS = 24  # 4 bytes each: a record of a ray and its hit, with room for fields that builds may append
_ALL = 0xFFFFFFFF  # ray mask for all geometry; "no triangle" index; all features of Embree
_PACKET, _ALIGNED = 8, 32  # rays of a packet, and the alignment of its record in bytes
INCOHERENT, COHERENT = 0, 1 << 16  # flags of a query
_POINTER, _NUMBER, _SIZE = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
_FUNCTIONS = {  # name -> result, arguments
    "rtcNewDevice": (_POINTER, (ctypes.c_char_p,)), "rtcReleaseDevice": (None, (_POINTER,)),
    "rtcGetDeviceProperty": (ctypes.c_ssize_t, (_POINTER, _NUMBER)), "rtcGetDeviceError": (_NUMBER, (_POINTER,)),
    "rtcNewScene": (_POINTER, (_POINTER,)), "rtcReleaseScene": (None, (_POINTER,)),
    "rtcSetSceneFlags": (None, (_POINTER, _NUMBER)), "rtcCommitScene": (None, (_POINTER,)),
    "rtcNewGeometry": (_POINTER, (_POINTER, _NUMBER)),
    "rtcSetSharedGeometryBuffer": (None, (_POINTER, _NUMBER, _NUMBER, _NUMBER, _POINTER, _SIZE, _SIZE, _SIZE)),
    "rtcCommitGeometry": (None, (_POINTER,)), "rtcAttachGeometry": (_NUMBER, (_POINTER, _POINTER)),
    "rtcReleaseGeometry": (None, (_POINTER,)), "rtcIntersect8": (None, (_POINTER, _POINTER, _POINTER, _POINTER)),
    "rtcOccluded1": (None, (_POINTER, _POINTER, _POINTER)),
}


@cache
def _library() -> ctypes.CDLL:
    """Return Embree's functions, loaded through the embreex module that links to them. Raises SimulatorError."""
    library = ctypes.CDLL(embreex.rtcore_scene.__file__)
    try:
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError as error:
        raise SimulatorError(f"embreex brings no Embree {VERSION} ({error}): pip install -U 'eqa-nodes[house]'"
                             ) from error
    for name in ("rtcIntersect8", "rtcOccluded1"):  # compiled code, cached code included, looks them up by name
        llvmlite.binding.add_symbol(name, ctypes.cast(getattr(library, name), _POINTER).value)
    return library


_of_ray = types.void(types.intp, types.uintp, types.uintp)  # scene, record, arguments
_of_packet = types.void(types.uintp, types.intp, types.uintp, types.uintp)  # mask of active rays, then the same
_intersect = types.ExternalFunction("rtcIntersect8", _of_packet)
_occluded = types.ExternalFunction("rtcOccluded1", _of_ray)


class TriangleTree:
    """An Embree scene of triangles, ready for ray queries."""

    def __init__(self, corners: np.ndarray, faces: np.ndarray) -> None:
        """Build the tree over corners (n, 3) float32 and faces (m, 3) int32, indices of corners. Raises SimulatorError.

        The faces are shared with the caller and must not change.
        """
        embree = _library()
        self._corners = np.zeros(3 * len(corners) + 1, np.float32)  # Embree reads 16 bytes even at the last corner
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
def hits(scene: int, flags: int, origins: np.ndarray, directions: np.ndarray, face: np.ndarray, u: np.ndarray,
         v: np.ndarray, far: np.ndarray, normal: np.ndarray) -> None:
    """Fill the first hit of each ray (n, 3) float32: face (n,) int32, -1 = none; u, v, far (n,), normal (n, 3) float32.

    One origin (1, 3) is that of all rays; normals (0, 3) are left out. far is a multiple of the direction, or FAR if
    nothing is hit: then u, v and normal are undefined. flags: with INCOHERENT, each result depends only on its own ray;
    with COHERENT, the choice between equally near triangles may depend on the other rays of the packet.
    """
    record = _aligned(_PACKET * _WORDS).view(np.float32).reshape(_WORDS, _PACKET)
    bits, which, arguments = record.view(np.uint32), _aligned(_PACKET), _aligned(_WORDS)
    arguments[0], arguments[1] = np.uint32(flags), _ALL
    for first in range(0, len(face), _PACKET):
        count = min(_PACKET, len(face) - first)
        for k in range(_PACKET):
            which[k] = _ALL if k < count else 0
        for k in range(count):
            _aim(record[:, k], bits[:, k], origins[min(first + k, len(origins) - 1)], directions[first + k],
                 np.float32(FAR))
            bits[17:21, k] = _ALL  # index of the hit triangle: none yet
        _intersect(which.ctypes.data, scene, record.ctypes.data, arguments.ctypes.data)
        for k in range(count):
            i = first + k
            face[i] = np.int32(bits[17, k])
            u[i], v[i], far[i] = record[15, k], record[16, k], record[8, k]
            if len(normal):
                normal[i, 0], normal[i, 1], normal[i, 2] = record[12, k], record[13, k], record[14, k]


@njit(inline="always")
def _aligned(words: int) -> np.ndarray:
    """Return (words,) uint32 zeros, aligned as Embree requires for packets."""
    room = np.zeros(words + _ALIGNED // 4, np.uint32)
    begin = (-room.ctypes.data % _ALIGNED) // 4
    return room[begin:begin + words]


@njit(nogil=True)
def blocked(scene: int, origins: np.ndarray, directions: np.ndarray, length: np.ndarray, out: np.ndarray) -> None:
    """Fill out (n,) bool: whether the ray (n, 3) float32 hits something before length (n,) float32 x its direction."""
    record = np.zeros(_WORDS, np.float32)
    bits = record.view(np.uint32)
    address = record.ctypes.data
    for i in range(len(out)):
        _aim(record, bits, origins[i], directions[i], length[i])
        _occluded(scene, address, 0)
        out[i] = record[8] < 0  # Embree sets minus infinity on a hit


@njit(inline="always")
def _aim(record: np.ndarray, bits: np.ndarray, origin: np.ndarray, direction: np.ndarray, length: float) -> None:
    """Write a ray into Embree's record: origin, near limit, direction, time, far limit, mask, id, flags."""
    for axis in range(3):
        record[axis], record[4 + axis] = origin[axis], direction[axis]
    record[3] = record[7] = 0.0
    record[8] = length
    bits[9], bits[10], bits[11] = _ALL, 0, 0
