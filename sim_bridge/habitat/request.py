"""Builds the worker's request to open a scene, from its name, its files and a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eqa_nodes.core.errors import SimulatorError, UnknownScene
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.mesh.load import map_from_file, stage_config_of
from sim_bridge.scans import SceneFiles, fault_of, find_scan

PREFIX = "habitat:"


def scan_of(scene: str, folder: Path | None) -> SceneFiles:
    """Return the files of a scene. Raises UnknownScene, and SimulatorError for a file that is cut off."""
    if not scene.startswith(PREFIX) or scene == PREFIX:
        raise UnknownScene(f"unknown scene {scene!r}: Habitat's are {PREFIX}DATASET/ID and {PREFIX}FILE")
    scan = find_scan(scene[len(PREFIX):], folder)
    for file in (scan.basis_glb or scan.glb, scan.semantic_glb):
        if file is not None and (fault := fault_of(file)):
            raise SimulatorError(f"the scene {scene!r} cannot be opened: {fault}")
    return scan


def files_of(scan: SceneFiles) -> dict[str, Any]:
    """Return the files as the worker wants them. up: None where a config says it that Habitat reads too."""
    file = scan.instance or scan.basis_glb or scan.glb
    assert file is not None
    described = scan.dataset_config is not None
    up = "y" if map_from_file(scan)[2, 1] > 0.5 else "z"
    return {"file": str(file.resolve()), "dataset": str(scan.dataset_config.resolve()) if scan.dataset_config else None,
            "up": None if described or stage_config_of(file).is_file() else up,
            "navmesh": str(scan.navmesh.resolve()) if scan.navmesh else None,
            "labelled": scan.labelled and described}


def missing_labels(scan: SceneFiles) -> str:
    """Return why a scene has no labels although its data set has some, "" where none are promised."""
    if scan.labelled and scan.dataset_config is None:
        return "the data set's scene_dataset_config.json, which says where they are, is missing"
    if scan.labelled:
        return "Habitat cannot read them from the semantic files"
    if scan.dataset_config is not None and ("annotated" in scan.dataset_config.name or scan.semantic_glb
                                            or scan.semantic_txt):
        return "not all of its semantic files are there"
    return ""


def camera_of(camera: CameraModel) -> dict[str, Any]:
    """Return a camera as the worker wants it."""
    return {"width": camera.width, "height": camera.height, "hfov_deg": float(camera.hfov_deg), "color": camera.color}


def body_of(robot: RobotModel) -> dict[str, float]:
    return {"radius_m": float(robot.radius_m), "height_m": float(robot.height_m), "climb_m": float(robot.climb_m),
            "slope_deg": float(robot.slope_deg)}
