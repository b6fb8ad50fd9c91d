"""Relocalisation in a known map, and a surface out of depth images: what a robot computes beside its questions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks.timing import Figure, median_ms
from eqa_nodes.core.errors import MissingExtra
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.relocalise import register_maps
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, compose
from eqa_nodes.core.types.views import Frame
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.simulator import EpisodeSetup

SCENE, VIEWS, LATER, REPEATS = "house:3", 48, 36, 3
OTHER = Pose2(7.0, -3.0, 2.1).transform()  # pose of the first map in the second one
DAY = 86_400 * 10**9


def relocalisation() -> list[Figure]:
    """Return the time to find the map of a later session in the known one."""
    views = list(_drive(VIEWS))
    with tempfile.TemporaryDirectory() as folder, closing(MemoryStore(Path(folder) / "memory.sqlite")) as store:
        for name, seen in (("known", views), ("new", [_moved(frame) for frame in views[:LATER]])):
            store.reset(name, keep=True, map_name=name)
            for frame in seen:
                store.take(frame, {})
        kept = {name: len(store.views_of_map(name)) for name in ("known", "new")}
        reading = median_ms(lambda: [store.views_of_map(name) for name in kept], REPEATS)
        found = register_maps(store, "new", "known")
        took = median_ms(lambda: register_maps(store, "new", "known"), REPEATS)
    return [Figure("find a new map in a known one", round(took, 1), f"reading the views of both, {reading:.1f} ms",
                   round(took / reading, 2), f"{kept['new']} views among {kept['known']} of {SCENE}: "
                   f"{found.refused or f'found, overlap {found.overlap:.2f}'}; runs in a thread beside the robot")]


def reconstruction() -> list[Figure]:
    """Return the time of a frame in the surface; a row that says why where Open3D is absent."""
    name, frames = "a 640x480 frame in the surface", list(_drive(VIEWS))
    try:
        surface = Reconstruction(ReconstructionConfig())
    except MissingExtra as error:
        return [Figure(name, note=f"skipped: {error}")]
    shown, mapped, mapper = iter(frames), iter(frames), Mapper()
    ours = median_ms(lambda: surface.add(next(shown)), VIEWS - 4, 4)
    flat = median_ms(lambda: mapper.integrate(next(mapped)), VIEWS - 4, 4)
    return [Figure(name, round(ours, 1), f"the same frame in the map, {flat:.1f} ms", round(ours / flat, 2),
                   f"{surface.blocks} blocks of 8 x 8 x 8 voxels of {ReconstructionConfig().voxel_m} m")]


def _drive(count: int) -> Iterator[Frame]:
    """Yield the frames of a robot that looks round and drives."""
    simulator = HouseSimulator()
    yield simulator.reset(EpisodeSetup(SCENE)).frame
    for i in range(count - 1):
        yield simulator.act(Action.TURN_LEFT if i % 3 else Action.MOVE_FORWARD).frame


def _moved(frame: Frame) -> Frame:
    """Return a frame in another map, a day later."""
    return replace(frame, stamp_ns=frame.stamp_ns + DAY, map_from_base=compose(OTHER, frame.map_from_base))
