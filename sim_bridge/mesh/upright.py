"""Determines which way is up in a mesh file, and its transform to the map frame.

1. "<name>.stage_config.json" beside the file, which Habitat reads too: its `up` and `front`.
2. The default attributes of stages in the data set's "*.scene_dataset_config.json".
3. A scan of a published data set: z up, y to the front, as HM3D, MP3D, Gibson and Replica are stored and Habitat takes
   every GLB to be.
4. A file by itself: y up, -z to the front, glTF's own rule, which exporters of OBJ and STL follow as well; PLY z up, as
   scanners write it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from eqa_nodes.core.errors import SimulatorError
from sim_bridge.scans import SceneFiles

Z_UP = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))  # up, front
Y_UP = ((0.0, 1.0, 0.0), (0.0, 0.0, -1.0))


def stage_config_of(mesh: Path) -> Path:
    """Return where a mesh's stage config lies, if there is one."""
    return mesh.with_suffix(".stage_config.json")


def write_stage_config(mesh: Path, up: tuple[float, ...], front: tuple[float, ...]) -> Path:
    """Write which way is up in a mesh, for this project and for Habitat; return the file."""
    path = stage_config_of(mesh)
    path.write_text(json.dumps({"render_asset": mesh.name, "up": list(up), "front": list(front)}))
    return path


def map_from_file(scan: SceneFiles) -> np.ndarray:
    """Return the rotation (3, 3) from the axes of a scan's file (also of its labels) to the map's: x front, z up.

    Raises SimulatorError for a config that cannot be read, or whose vectors are not at right angles.
    """
    mesh, config = scan.glb or scan.basis_glb or Path(scan.place), scan.dataset_config
    alone = Path(scan.place).name == mesh.name and mesh.suffix.lower() != ".ply"
    (up, front), source = Y_UP if alone else Z_UP, stage_config_of(mesh)
    if source.is_file():
        attributes = _read(source)
    elif config is not None:
        source, attributes = config, _read(config).get("stages", {}).get("default_attributes", {})
    else:
        attributes = {}
    try:
        z, x = (np.array(attributes.get(key, default), float).reshape(3)
                for key, default in (("up", up), ("front", front)))
        z, x = z / max(float(np.linalg.norm(z)), 1e-12), x / max(float(np.linalg.norm(x)), 1e-12)
    except (TypeError, ValueError, AttributeError) as error:
        raise SimulatorError(f"{source}: `up` and `front` are three numbers each ({error})") from error
    if not (abs(float(z @ x)) < 1e-3 and z.any() and x.any()):  # also not a number
        raise SimulatorError(f"{source}: `up` {z.tolist()} and `front` {x.tolist()} are not at right angles: write "
                             'e.g. "up": [0, 1, 0], "front": [0, 0, -1]')
    return np.stack([x, np.cross(z, x), z])


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise SimulatorError(f"{path}: not JSON that can be read ({error}): mend it, or take it away to have the "
                             "format's default") from error
    if not isinstance(content, dict):
        raise SimulatorError(f"{path}: not a JSON object: mend it, or take it away to have the format's default")
    return content
