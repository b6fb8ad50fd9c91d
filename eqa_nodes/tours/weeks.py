"""The patrols of a house's life as an episode history: pictures from fixed stops, at the times of the calendar.

A picture depends only on what stands in view of its stop, so each is rendered once. They are lit evenly, because light
is costly to compute for a house that changes on every patrol.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.geometry import camera_mount
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.recordings.episode_history import FramesAlone, RecordedFrame
from sim_bridge.house.life import DAYS, FIRST_DAY, VERSION, HouseLife, life_of
from sim_bridge.house.life_places import CAMERA, HEADINGS, LookStop
from sim_bridge.house.render import LightMap, Renderer
from sim_bridge.house.scene import House
from sim_bridge.house.world import HouseWorld
from sim_bridge.rays import Image

DRIVE_S = 12  # from one room to the next
_DAYLIGHT = 0.55  # light of every surface


NOISY = "noisy"
_NAME = re.compile(rf"house-weeks/([0-9]+)x([0-9]+)(-{NOISY})?", re.ASCII)


class LookErrors(NamedTuple):
    """Shares of the looks at an object that a detector loses, or names wrongly."""

    lost: float = 0.0
    misnamed: float = 0.0


MEASURED_ERRORS = LookErrors(lost=0.1, misnamed=0.05)


def weeks_name(seed: int, days: int = DAYS, noisy: bool = False) -> str:
    """Return the name of the history of a life. noisy: with MEASURED_ERRORS."""
    return f"house-weeks/{seed}x{days}{f'-{NOISY}' * noisy}"


def weeks_history(name: str) -> WeeksHistory | None:
    """Return the history of a name, None for a name of another kind."""
    found = _NAME.fullmatch(name)
    return found and WeeksHistory(int(found[1]), int(found[2]), MEASURED_ERRORS if found[3] else LookErrors())


def patrol_end(life: HouseLife, number: int) -> datetime:
    """Return the time of the last picture of a patrol."""
    patrol = life.patrols[number]
    stops = [stop for stop in life.stops if stop.room in patrol.rooms]
    rooms = len(dict.fromkeys(stop.room for stop in stops))
    return patrol.first + timedelta(seconds=len(stops) * HEADINGS + (rooms - 1) * DRIVE_S - 1)


class WeeksHistory(FramesAlone):
    """The patrols of a life. Ids in its label images name an object in one of its places or states (privileged)."""

    def __init__(self, seed: int, days: int = DAYS, errors: LookErrors = LookErrors()) -> None:
        self.seed, self.days, self.errors = seed, days, errors
        self.name = weeks_name(seed, days, any(errors)).replace("/", "-")
        self.dropped: Counter[str] = Counter()

    @property
    def identity(self) -> dict[str, object]:
        """Return what determines the frames, as plain JSON. Stamps depend on the time zone of the computer."""
        return {"weeks": self.seed, "days": self.days, "version": VERSION, "errors": list(self.errors),
                "begins": FIRST_DAY.timestamp()}

    @cached_property
    def life(self) -> HouseLife:
        """The script."""
        return life_of(self.seed, self.days)

    @cached_property
    def labels(self) -> Mapping[int, Label]:
        """Id in label images -> label."""
        return self.life.labels()

    def __len__(self) -> int:
        return sum(len(self._stops(number)) * HEADINGS for number in range(len(self.life.patrols)))

    def recorded(self) -> Iterator[RecordedFrame]:
        """Yield the rendered frames."""
        pictures, index = _Pictures(self.life), 0
        mount = camera_mount(CAMERA.height_m, math.radians(CAMERA.tilt_down_deg))
        for patrol in self.life.patrols:
            stamp_ns, room = round(patrol.first.timestamp()) * 10 ** 9, -1
            for stop in self._stops(patrol.number):
                stamp_ns += (DRIVE_S * 10 ** 9 if stop.room != room and room >= 0 else 0)
                room = stop.room
                for pose, image in zip(stop.poses(), pictures.of(patrol.number, stop), strict=True):
                    labels = self._mistaken(image.labels, stamp_ns)
                    yield RecordedFrame(index, -1, Frame(stamp_ns, image.rgb, image.depth_m, CAMERA.intrinsics,
                                                         pose.transform(), mount, labels))
                    index, stamp_ns = index + 1, stamp_ns + 10 ** 9

    def _stops(self, patrol: int) -> list[LookStop]:
        rooms = self.life.patrols[patrol].rooms
        return [stop for stop in self.life.stops if stop.room in rooms]

    def _mistaken(self, labels: np.ndarray, stamp_ns: int) -> np.ndarray:
        """Return label ids in which some objects are lost or take another name; each look errs on its own."""
        if not any(self.errors):
            return labels
        table = np.arange(2 ** 16, dtype=np.uint16)
        for number in np.unique(labels).tolist():
            if number in self.labels:
                drawn = _draw(f"{self.seed} {stamp_ns} {number}")
                if drawn < self.errors.lost:
                    table[number] = 0
                elif drawn < self.errors.lost + self.errors.misnamed:
                    table[number] = self._other(number, f"{number} {stamp_ns}")
        return table[labels]

    def _other(self, number: int, spot: str) -> int:
        """Return an id with a wrong label: the same object in another state, or another object of its room."""
        label = self.labels[number]
        states = [i for i, other in self.labels.items() if (other.kind, other.room) == (label.kind, label.room)
                  and other.attributes.get("state") != label.attributes.get("state")]
        if states and _draw(f"which {spot}") < 0.5:
            return states[0]
        others = [i for i, other in self.labels.items() if other.room == label.room and other.kind != label.kind]
        return others[int(_draw(f"other {spot}") * len(others))] if others else number


def _draw(spot: str) -> float:
    """Return a pseudo-random number in [0, 1) that depends only on the argument."""
    return zlib.crc32(spot.encode()) * 2.0 ** -32


class _Pictures:
    """Renders the pictures of a stop once for each content."""

    def __init__(self, life: HouseLife) -> None:
        self._life = life
        self._made: dict[tuple[LookStop, tuple[int, ...]], list[Image]] = {}
        self._drawn = lru_cache(maxsize=1)(lambda patrol: _evenly_lit(life.house_on(patrol)))

    def of(self, patrol: int, stop: LookStop) -> list[Image]:
        """Return the pictures of a stop on a patrol."""
        key = stop, tuple(o.forms[form].id for o in self._life.objects if (form := o.course[patrol]) >= 0
                          and stop.room in o.seen[form].clear | o.seen[form].faint)
        if key not in self._made:
            renderer, mount = self._drawn(patrol), camera_mount(CAMERA.height_m, math.radians(CAMERA.tilt_down_deg))
            self._made[key] = [renderer.image(CAMERA, pose.transform().matrix() @ mount.matrix())
                               for pose in stop.poses()]
        return self._made[key]


def _evenly_lit(house: House) -> Renderer:
    world = HouseWorld(house)
    quads = len(world.mesh.corners)
    grid = np.tile(np.array([0, 1, 1], np.int32), (quads, 1))
    return Renderer(world.mesh, world.rays, LightMap(np.full((4, 3), _DAYLIGHT, np.float32), grid))
