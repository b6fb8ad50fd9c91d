"""An episode as a Rerun recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.recordings.episode_history import EpisodeHistory, no_frame
from eqa_nodes.recordings.history import BagHistory, BagOptions
from eqa_nodes.recordings.reader import open_bag
from eqa_nodes.viewing.episodes import Episode
from eqa_nodes.viewing.events import EventWriter
from eqa_nodes.viewing.frames import FrameWriter
from eqa_nodes.viewing.layout import layout
from eqa_nodes.viewing.objects import write_objects
from eqa_nodes.viewing.rrd_file import RrdFile
from eqa_nodes.viewing.surfaces import open_surface


class Written(NamedTuple):
    """What a recording holds. surface: in words; events: how many of each kind; refused: frames by reason."""

    frames: int
    images: int
    surface: str
    events: Counter[str]
    objects: int
    refused: Counter[str]

    def __str__(self) -> str:
        counts = {"frames": self.frames, "images with depth": self.images, **self.events,
                  "remembered objects": self.objects}
        return ", ".join([*(f"{what} {count}" for what, count in counts.items() if count), self.surface])


def write_recording(episode: Episode, history: EpisodeHistory, out: Path, *, voxel_m: float = 0.04, every: int = 1,
                    options: BagOptions | None = None,
                    progress: Callable[[int], None] = lambda frames: None) -> Written:
    """Write an episode as an .rrd file, and return what it holds. The frames pass one at a time.

    history: of the episode; voxel_m: of its surface, metres; every: images of every Nth frame only; options: how the
    bag is read. Raises StorageError where nothing can be read or written, ConfigError, MissingExtra; then there is no
    file.
    """
    with RrdFile(out, episode.name) as file:
        surface = open_surface(voxel_m)
        frames = FrameWriter(file, surface, every)
        frames.write(history, progress)
        if not frames.frames:
            raise no_frame(history, frames.refused)
        file.lay_out(layout(*frames.extent()))
        shown, events = surface.write(file), Counter[str]()
        if isinstance(history, BagHistory):
            with open_bag(episode.history, *(options.namespace, options.remap) if options else ()) as bag:
                writer = EventWriter(file, bag, frames.steps)
                writer.write()
                events = writer.written
        objects = write_objects(file, episode.memory, frames.steps) if episode.memory else 0
    return Written(frames.frames, frames.images, shown, events, objects, frames.refused)
