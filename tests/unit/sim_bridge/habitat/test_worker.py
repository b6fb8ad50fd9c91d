"""The worker over habitat_sim's own habits: a camera that changes within a scene is the one that is looked through."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sim_bridge.habitat.worker import Worker, wire
from tests.fixtures import habitat_like

BODY = {"radius_m": 0.1, "height_m": 1.5, "climb_m": 0.2, "slope_deg": 45.0}
SCENE = {"file": "/flat.glb", "dataset": None, "up": "y", "navmesh": None, "labelled": False, "gpu": -1}
COMPOSED = {**SCENE, "file": "/a.scene_instance.json", "dataset": "/a.scene_dataset_config.json", "up": None}
HERE = {"position": [3.0, 0.0, 4.0], "rotation": [0.0, 0.0, 0.0, 1.0]}
Size = tuple[int, int]


class Eyes:
    """A worker and the memory that it shares."""

    def __init__(self) -> None:
        self._descriptor = os.memfd_create("test")
        self._images = wire.Images(self._descriptor)
        self.worker = Worker(wire.Images(self._descriptor))
        self.worker.answer("hello", {"protocol": wire.PROTOCOL})

    def look(self, size: Size, scene: dict[str, Any] = SCENE, hfov_deg: float = 90.0, color: bool = True,
             ) -> wire.SharedImages:
        """Open a scene with such a camera, and look."""
        camera = {"width": size[0], "height": size[1], "hfov_deg": hfov_deg, "color": color}
        self.worker.answer("open", {"scene": scene, "camera": camera, "body": BODY})
        assert abs(self.worker.answer("floor", {"position": HERE["position"]})["height"]) < 1e-6
        self.worker.answer("look", HERE)
        return self._images.views(*size)

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[habitat_like.Simulator]:
    """All simulators that were made of the stand-in, which is imported as habitat_sim."""
    made: list[habitat_like.Simulator] = []

    class Noted(habitat_like.Simulator):
        def __init__(self, config: habitat_like.Configuration) -> None:
            super().__init__(config)
            made.append(self)

    monkeypatch.setitem(sys.modules, "habitat_sim", habitat_like)
    monkeypatch.setattr(habitat_like, "Simulator", Noted)
    return made


@pytest.fixture
def eyes(opened: list[habitat_like.Simulator]) -> Iterator[Eyes]:
    eyes = Eyes()
    yield eyes
    eyes.close()


@pytest.mark.parametrize("scene", [SCENE, COMPOSED], ids=["a scan", "a composed scene"])
def test_a_camera_may_change_its_size_again_and_again(eyes: Eyes, scene: dict[str, Any]) -> None:
    for size in ((40, 30), (80, 60), (20, 16), (64, 64), (40, 30), (41, 30)):
        views = eyes.look(size, scene)
        assert views.depth_m.shape == (size[1], size[0]) and (views.depth_m == 5.0).all()
        assert len(np.unique(views.rgb)) == 1 and views.rgb.any()


def test_a_camera_may_change_its_field_of_view_alone(eyes: Eyes) -> None:
    """Pictures of the old one have the size that is expected: nothing else would tell."""
    seen = [int(eyes.look((40, 30), hfov_deg=hfov).rgb[0, 0, 0]) for hfov in (90.0, 100.0, 70.0, 90.0)]
    assert seen == [seen[0], seen[0] + 10, seen[0] - 20, seen[0]]


@pytest.mark.parametrize("scene", [SCENE, COMPOSED], ids=["a scan", "a composed scene"])
def test_colour_may_be_asked_for_later(eyes: Eyes, scene: dict[str, Any]) -> None:
    for color in (False, True, False, True):
        assert (eyes.look((40, 30), scene, color=color).depth_m == 5.0).all()


def test_the_same_camera_in_the_same_scene_opens_nothing_anew(
        eyes: Eyes, opened: list[habitat_like.Simulator]) -> None:
    eyes.look((40, 30))
    eyes.look((40, 30))
    assert [sim.opened for sim in opened] == [1]
    eyes.look((80, 60))
    assert [sim.opened for sim in opened] == [2]  # the scene and its textures stay
    eyes.look((80, 60), {**SCENE, "file": "/other.glb"})
    assert [sim.opened for sim in opened] == [2, 1]
