"""The process that runs habitat_sim, in any Python from 3.9 that has it; this project need not be installed there.

It holds a scene and its navigation mesh but no state of the robot: every request contains the robot's pose, so that a
new worker can replace a lost one. Axes, positions (x, y, z) and rotations (x, y, z, w) are Habitat's: y up, -z
forward. `Worker.answers` lists the requests; images are written to shared memory.
"""

from __future__ import annotations

import math
import os
import platform
import signal
import sys
from collections.abc import Callable
from importlib import util
from typing import TYPE_CHECKING, Any

import numpy as np

CELL_M, CELL_HEIGHT_M = 0.05, 0.05  # of the navigation mesh: Habitat's default 0.2 puts it up to 0.2 m above the floor
PROBE_M = 0.4  # height above the navigation mesh from which the floor is probed
KEPT_MESHES = 8  # cached navigation meshes of earlier scenes and robots

if __name__ == "__main__":
    sys.path[:] = [p for p in sys.path if os.path.realpath(p) != os.path.dirname(os.path.realpath(__file__))]


def _beside(name: str) -> Any:
    """Import a module of this file's folder, which is not on sys.path: its names would shadow other packages."""
    spec = util.spec_from_file_location(name, os.path.join(os.path.dirname(os.path.realpath(__file__)), name + ".py"))
    module = util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules[name] = module
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


if TYPE_CHECKING:
    from sim_bridge.habitat import wire
else:
    wire = _beside("wire")


def _composed(scene: dict[str, Any]) -> bool:
    """Return whether a scene is composed of objects."""
    return str(scene.get("file", "")).endswith(".scene_instance.json")


def _vector(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)


def _floats(values: Any) -> list[float]:
    return [float(v) for v in values]


class Worker:
    """Serves one scene at a time. The first request imports habitat_sim."""

    def __init__(self, images: Any) -> None:
        self._images = images
        self._habitat: Any = None
        self._sim: Any = None
        self._scene: dict[str, Any] = {}  # the request of the open scene
        self._config: dict[str, Any] = {}  # its scene and camera
        self._meshes: dict[str, Any] = {}
        self._finder: Any = None
        self._camera: dict[str, Any] = {}
        self._labels: list[Any] | None = None
        self._ids = np.zeros(1, np.uint16)  # our label id for each of Habitat's
        self.answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "hello": self.hello, "open": self.open, "snap": self.snap, "draw": self.draw, "walk": self.walk,
            "path": self.path, "floor": self.floor, "look": self.look}

    def answer(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request."""
        if op not in self.answers:
            raise wire.WorkerFailure("Protocol", f"no request is called {op!r}: known are {', '.join(self.answers)}")
        if self._finder is None and op not in ("hello", "open"):
            raise wire.WorkerFailure("Protocol", "no scene is open")
        return self.answers[op](request)

    def hello(self, request: dict[str, Any]) -> dict[str, Any]:
        """Import habitat_sim and return the versions; for a client of another protocol, return only ours."""
        mine = {"protocol": wire.PROTOCOL, "python": platform.python_version(), "pid": os.getpid()}
        if request["protocol"] != wire.PROTOCOL:
            return mine
        try:
            import habitat_sim
        except Exception as error:  # a missing system library is also an ImportError
            raise wire.WorkerFailure("Import", f"{type(error).__name__}: {error}") from error
        self._habitat = habitat_sim
        return dict(mine, habitat_sim=habitat_sim.__version__)

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Open a scene with a camera for a robot.

        scene: {file, dataset (config or null), up ("y", "z" or null for Habitat's own guess), navmesh (file or null),
        labelled, gpu (-1: none)}; camera: {width, height, hfov_deg, color}; body: {radius_m, height_m, climb_m,
        slope_deg}. Returns {labels: [id, category, region] or null, navmesh: "loaded" | "computed", note, bounds,
        islands: areas in m2}; islands is empty if the robot can stand nowhere.
        """
        scene, camera = request["scene"], request["camera"]
        kin = _composed(scene) and _composed(self._scene) and scene["gpu"] == self._scene["gpu"]
        textured = camera["color"] and not self._camera.get("color", True)  # an open simulator cannot add textures
        if (scene != self._scene and not kin) or textured:
            self._close()
        wanted = {"scene": scene, "camera": camera}
        if wanted != self._config:
            self._configure(scene, camera)
        self._scene, self._camera, self._config = scene, camera, wanted
        source, note = self._navigate(scene, request["body"])
        finder, islands = self._finder, []
        if finder is not None and finder.is_loaded:
            islands = [float(finder.island_area(i)) for i in range(finder.num_islands)]
        return {"labels": self._labels, "navmesh": source, "note": note, "islands": islands,
                "bounds": [_floats(corner) for corner in finder.get_bounds()] if islands else None}

    def snap(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return for each of `points` the nearest mesh point (of one `island`, -1 = any) and its island, or null."""
        island = request["island"]
        found: list[Any] = []
        for point in request["points"]:
            near = self._finder.snap_point(_vector(point), island)
            found.append([_floats(near), int(self._finder.get_island(near))] if math.isfinite(near[0]) else None)
        return {"points": found}

    def draw(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return a random point of an island, drawn with a `seed`."""
        self._finder.seed(request["seed"])
        return {"point": _floats(self._finder.get_random_navigable_point(island_index=request["island"]))}

    def walk(self, request: dict[str, Any]) -> dict[str, Any]:
        """Move a robot from `position` by each (dx, dz) of `moves`; with `slide` it slides along obstacles.

        Returns its final position, metres driven, and whether a move fell short.
        """
        step = self._finder.try_step if request["slide"] else self._finder.try_step_no_sliding
        at, metres, collided = _vector(request["position"]), 0.0, False
        for dx, dz in request["moves"]:
            end = _vector(step(at, _vector([at[0] + dx, at[1], at[2] + dz])))
            metres += math.dist(_floats(at), _floats(end))
            rounding = 2 * float(np.spacing(np.abs(at).max()))  # rounding error of float32 coordinates, 0.5 mm at 5 km
            collided |= math.hypot(end[0] - at[0], end[2] - at[2]) + 1e-5 + rounding < math.hypot(dx, dz)
            at = end
        return {"position": _floats(at), "metres": metres, "collided": bool(collided)}

    def path(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the shortest path between two points of the mesh: metres (null if there is none) and corners."""
        path = self._habitat.ShortestPath()
        path.requested_start, path.requested_end = _vector(request["start"]), _vector(request["end"])
        if not self._finder.find_path(path) or not math.isfinite(path.geodesic_distance):
            return {"metres": None, "points": []}
        return {"metres": float(path.geodesic_distance), "points": [_floats(p) for p in path.points]}

    def floor(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the height of the rendered surface straight below a `position` of the mesh, null if there is none."""
        x, y, z = request["position"]
        self._place(1, [x, y + PROBE_M, z], [0.0, 0.0, 0.0, 1.0])
        depth = self._sim.get_sensor_observations(1)["floor"]
        seen = depth[depth > 0]
        return {"height": y + PROBE_M - float(np.median(seen)) if seen.size else None}

    def look(self, request: dict[str, Any]) -> dict[str, Any]:
        """Render a camera at `position` with `rotation` into the shared memory."""
        self._place(0, request["position"], request["rotation"])
        seen = self._sim.get_sensor_observations(0)
        wire.show(self._images.views(self._camera["width"], self._camera["height"]), seen, self._ids)
        return {}

    def _place(self, agent: int, position: list[float], rotation: list[float]) -> None:
        state = self._habitat.AgentState(np.array(position, np.float32), rotation)
        self._sim.get_agent(agent).set_state(state, True)

    def _close(self) -> None:
        """Release a scene and its textures, which Habitat keeps as long as a simulator lives.

        Composed scenes reuse one simulator, because they share objects and lights whose maps take long to make.
        """
        if self._sim is not None:
            self._sim.close()
        self._sim, self._scene, self._config, self._camera, self._finder = None, {}, {}, {}, None

    def _configure(self, scene: dict[str, Any], camera: dict[str, Any]) -> None:
        h = self._habitat
        settings = h.SimulatorConfiguration()
        settings.scene_id = scene["file"]
        settings.scene_dataset_config_file = scene["dataset"] or "default"
        settings.gpu_device_id = scene["gpu"]
        settings.enable_physics = False
        settings.load_semantic_mesh = scene["labelled"]
        config = h.Configuration(settings, [self._eyes(scene, camera), self._probe()])
        if self._sim is None:
            config.metadata_mediator = h.metadata.MetadataMediator(settings)
            self._stage(config.metadata_mediator, scene)
            self._sim = h.Simulator(config)
        else:
            # Habitat ignores a configuration equal to its own, and treats sensors that differ only in size and field
            # of view as equal: a configuration without sensors is never equal.
            self._sim.config.agents = []
            self._sim.reconfigure(config)
        self._labels = self._known_labels() if scene["labelled"] else None

    def _stage(self, mediator: Any, scene: dict[str, Any]) -> None:
        """Register a single file's orientation and flat shading if no data set config does."""
        if scene["up"] is None:
            return
        manager = mediator.stage_template_manager
        stage = manager.create_new_template(scene["file"], False)
        stage.orient_up = _vector([0, 1, 0] if scene["up"] == "y" else [0, 0, 1])
        stage.orient_front = _vector([0, 0, -1] if scene["up"] == "y" else [0, 1, 0])
        stage.force_flat_shading, stage.shader_type = True, "flat"
        manager.register_template(stage, scene["file"])

    def _eyes(self, scene: dict[str, Any], camera: dict[str, Any]) -> Any:
        kinds = self._habitat.SensorType
        sensors = [("rgb", kinds.COLOR)] if camera["color"] else []
        sensors += [("depth", kinds.DEPTH)] + ([("labels", kinds.SEMANTIC)] if scene["labelled"] else [])
        size = [camera["height"], camera["width"]]
        return self._agent([self._sensor(name, kind, size, camera["hfov_deg"]) for name, kind in sensors])

    def _probe(self) -> Any:
        sensor = self._sensor("floor", self._habitat.SensorType.DEPTH, [8, 8], 10.0)
        sensor.orientation = _vector([-math.pi / 2, 0, 0])
        return self._agent([sensor])

    def _sensor(self, name: str, kind: Any, size: list[int], hfov_deg: float) -> Any:
        sensor = self._habitat.CameraSensorSpec()
        sensor.uuid, sensor.sensor_type, sensor.resolution, sensor.hfov = name, kind, size, hfov_deg
        sensor.position = _vector([0, 0, 0])
        return sensor

    def _agent(self, sensors: list[Any]) -> Any:
        agent = self._habitat.agent.AgentConfiguration()
        agent.sensor_specifications = sensors
        return agent

    def _known_labels(self) -> list[Any] | None:
        """Return the labels by id: Habitat's ids, plus one if it uses 0, which means "nothing" here.

        Objects without a category are "nothing" too. Scenes composed of objects have ids of categories, not instances.
        """
        scene, found = self._sim.semantic_scene, []
        for item in scene.objects if scene is not None else []:
            if item is None or item.category is None:
                continue
            region = item.region.category.name() if item.region is not None and item.region.category is not None else ""
            found.append([int(item.semantic_id), item.category.name(), region])
        if scene is not None and not found:
            found = [[int(kind.index()), kind.name(), ""] for kind in scene.categories if kind is not None]
        named = [entry for entry in found if entry[1].strip().lower() not in ("", "unknown", "void")]
        shift = int(any(entry[0] == 0 for entry in named))
        most = max((entry[0] for entry in named), default=0)
        if most + shift > 65535:
            raise wire.WorkerFailure("Labels", f"the scene has label ids up to {most}: 16 bits do not hold them")
        self._ids = np.zeros(most + 2, np.uint16)
        for entry in named:
            self._ids[entry[0]] = entry[0] + shift
        return [[entry[0] + shift, entry[1], entry[2]] for entry in named] or None

    def _navigate(self, scene: dict[str, Any], body: dict[str, float]) -> tuple[str, str]:
        """Load the mesh baked for such a robot, or compute one. Returns "loaded" or "computed", and a warning."""
        key, note = repr((scene["file"], scene["navmesh"], sorted(body.items()))), ""
        if key in self._meshes:
            source, self._finder = self._meshes[key] = self._meshes.pop(key)  # newest last
            return source, note
        finder, source = self._habitat.PathFinder(), "loaded"
        if scene["navmesh"] and not finder.load_nav_mesh(scene["navmesh"]):
            note = "the navigation mesh {} cannot be read: it was computed again".format(scene["navmesh"])
        if not finder.is_loaded or not self._baked_for(finder, body):
            finder, source = self._habitat.PathFinder(), "computed"
            self._sim.recompute_navmesh(finder, self._settings(body))
        self._finder, self._meshes[key] = finder, (source, finder)
        while len(self._meshes) > KEPT_MESHES:
            self._meshes.pop(next(iter(self._meshes)))
        return source, note

    def _settings(self, body: dict[str, float]) -> Any:
        settings = self._habitat.NavMeshSettings()
        settings.set_defaults()
        settings.cell_size, settings.cell_height = CELL_M, CELL_HEIGHT_M
        settings.agent_radius, settings.agent_height = body["radius_m"], body["height_m"]
        settings.agent_max_climb, settings.agent_max_slope = body["climb_m"], body["slope_deg"]
        return settings

    def _baked_for(self, finder: Any, body: dict[str, float]) -> bool:
        had, wanted = finder.nav_mesh_settings, self._settings(body)
        names = ("agent_radius", "agent_height", "agent_max_climb", "agent_max_slope")
        return had is not None and all(abs(getattr(had, n) - getattr(wanted, n)) < 1e-3 for n in names)


def main() -> None:
    """Serve the socket, life pipe and image memory whose descriptors are the arguments."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives it, and ends this process
    end, life, memory = (int(text) for text in sys.argv[1:4])
    wire.end_with(life)
    wire.serve(wire.inherited(end), Worker(wire.Images(memory)).answer)
    os._exit(0)  # skips the renderer's shutdown, which can crash


if __name__ == "__main__":
    main()
