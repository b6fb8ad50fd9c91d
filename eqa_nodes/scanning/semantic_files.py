"""Writes the labels of a reconstructed mesh beside it, in the layout of HM3D, which `mesh:` and `habitat:` scenes read.

`<name>.semantic.glb` is the mesh painted in one colour for each instance, `<name>.semantic.txt` says what the colours
are. HM3D's text has no place for attributes and for names of rooms: they are in `<name>.semantic.json`, which `mesh:`
scenes read and others ignore.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from eqa_nodes.core.storage.codec import write_bytes, write_json
from eqa_nodes.core.types.views import Label, Mesh, srgb_of
from eqa_nodes.scanning.mesh_file import write_mesh

_HEADER = "HM3D Semantic Annotations"
_LEVELS, _STEP = 64, 4  # of a colour channel: bytes so far apart stay different when they are read as linear light
_ENDINGS = (".semantic.glb", ".semantic.txt", ".semantic.json")


def write_semantics(mesh: Mesh, labels: Mapping[int, Label], path: Path) -> list[Path]:
    """Write the labels of a mesh beside its GLB file, and return the files; what an earlier mesh left is removed.

    labels: what the ids in mesh.labels are; ids that are not in it count as nothing. Without labels, and
    beside other formats, none is written.
    """
    if path.suffix.lower() != ".glb":
        return []
    files = [path.with_name(path.stem + ending) for ending in _ENDINGS]
    for file in files:
        file.unlink(missing_ok=True)
    known = [] if mesh.labels is None else [labels[i] for i in np.unique(mesh.labels).tolist() if i and i in labels]
    if mesh.labels is None or not known:
        return []
    number = np.zeros(1 << 16, np.int64)  # of each instance: its colour; 0 = nothing, which is black
    number[[label.instance for label in known]] = np.arange(1, len(known) + 1)
    write_mesh(mesh._replace(colours=_painted(number[mesh.labels])), files[0])
    rooms = sorted({label.room for label in known})
    lines = [f'{label.instance},{_code(n)},"{label.kind}",{rooms.index(label.room)}'
             for n, label in enumerate(known, start=1)]
    write_bytes(files[1], "\n".join([_HEADER, *lines, ""]).encode())
    write_json(files[2], {"labels": [label._asdict() for label in known]})
    return files


def _painted(number: np.ndarray) -> np.ndarray:
    """Return the colours (n, 3) uint8, linear, of numbers (n,)."""
    digits = np.stack([number // _LEVELS ** 2, number // _LEVELS % _LEVELS, number % _LEVELS], axis=-1)
    return (digits * _STEP).astype(np.uint8)


def _code(number: int) -> str:
    """Return the colour of a number as HM3D writes it: RRGGBB, sRGB."""
    srgb = srgb_of(_painted(np.array(number)) / 255)
    return "".join(f"{value:02X}" for value in np.rint(255 * srgb).astype(int).tolist())
