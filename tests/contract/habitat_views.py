"""Runs in the Python that has habitat_sim, and knows nothing of the project: what its cameras see of a file.

Usage: habitat_views.py FILE VIEWS.npz IMAGES.npz. Views, in Habitat's axes: positions (n, 3) metres, rotations (n, 4)
w, x, y, z, size: width, height, hfov in degrees, dataset: the scene_dataset_config that knows labels, "" for none.
Images: rgb (n, H, W, 3), depth (n, H, W), labels (n, H, W) where there is a dataset; seconds: CPU time of each view.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path

SETTINGS = {"enable_ibl": False, "ibl_blut_filename": "none", "ibl_envmap_filename": "none"}


def spent() -> float:
    """Return the CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(scene: str, views: str, images: str) -> None:
    """Draw a file of views."""
    os.environ.setdefault("MAGNUM_LOG", "quiet")
    os.environ.setdefault("HABITAT_SIM_LOG", "quiet")
    here = Path(tempfile.mkdtemp())
    (here / "data").mkdir()
    (here / "data" / "default.pbr_config.json").write_text(json.dumps(SETTINGS))
    os.chdir(here)  # without these settings it first prepares lights for a minute
    import habitat_sim
    import magnum
    import numpy as np

    asked = np.load(views)
    width, height, hfov = asked["size"]
    sensors, dataset = [], str(asked["dataset"])
    kinds = {"rgb": habitat_sim.SensorType.COLOR, "depth": habitat_sim.SensorType.DEPTH}
    if dataset:
        kinds["labels"] = habitat_sim.SensorType.SEMANTIC
    for name, kind in kinds.items():
        sensor = habitat_sim.CameraSensorSpec()
        sensor.uuid, sensor.sensor_type, sensor.hfov = name, kind, float(hfov)
        sensor.resolution, sensor.position = [int(height), int(width)], magnum.Vector3(0, 0, 0)
        sensors.append(sensor)
    world = habitat_sim.SimulatorConfiguration()
    world.scene_id, world.gpu_device_id, world.enable_physics = scene, -1, False
    world.scene_dataset_config_file, world.load_semantic_mesh = dataset or "default", bool(dataset)
    agent = habitat_sim.agent.AgentConfiguration(sensor_specifications=sensors)
    sim = habitat_sim.Simulator(habitat_sim.Configuration(world, [agent]))
    out, seconds = [], []
    for position, rotation in zip(asked["positions"], asked["rotations"]):
        state = habitat_sim.AgentState(position.astype(np.float32), np.quaternion(*rotation))
        sim.get_agent(0).set_state(state, reset_sensors=True)
        before = spent()
        seen = sim.get_sensor_observations()
        seconds.append(spent() - before)
        out.append({name: seen[name].copy() for name in kinds})
    np.savez(images, seconds=seconds, **{name: [image[name] for image in out] for name in kinds})


main(*sys.argv[1:])
