"""Estimates the poses of a recording without poses and writes an episode history with a quality report."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.reconstruction.config import PoseSearchConfig
from eqa_nodes.core.reconstruction.localisation import LocalisationReport, localised, report_of
from eqa_nodes.core.reconstruction.tracking import CameraTracker
from eqa_nodes.core.types.views import Frame, clean_depth
from eqa_nodes.recordings.episode_history import no_frame
from eqa_nodes.recordings.formats.cameras import base_below, mount
from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa
from eqa_nodes.scanning.unposed import Unposed

REPORT = "localisation.json"
Progress = Callable[[str, int], None]  # name of the step, and how much of it is done


def localise(recording: Unposed, out: Path, config: PoseSearchConfig = PoseSearchConfig(),
             progress: Progress = lambda step, done: None) -> LocalisationReport:
    """Write the frames whose poses were found in OpenEQA's folder format, and the report beside them.

    Raises BadFrame when there is no usable image or no two images match, StorageError when the folder has files
    already, MissingExtra without Open3D.
    """
    if out.exists() and any(out.iterdir()):
        raise StorageError(f"{out} is not empty: choose another folder, or empty it")
    tracker = CameraTracker(config)
    for image in recording:
        tracker.add(image)
        progress("followed", image.number + 1)
    unread = dict(recording.dropped)
    if not tracker.track.images:
        raise no_frame(recording)
    found = localised(tracker.track, config, lambda done: progress("compared", done))
    report = report_of(tracker.track, found, unread)
    write_openeqa(_frames(recording, found.poses), out, lambda done: progress("written", done))
    (out / REPORT).write_text(json.dumps(_plain(asdict(report)), indent=2) + "\n", encoding="utf-8")
    return report


def _frames(recording: Unposed, poses: dict[int, np.ndarray]) -> Iterator[Frame]:
    """Yield the images with their poses; the base is on the floor, below the camera."""
    for image in recording:
        if image.number in poses:
            map_from_base = base_below(poses[image.number], 0.0)
            yield Frame(image.stamp_ns, image.rgb, clean_depth(image.depth_m)[0], image.intrinsics, map_from_base,
                        mount(map_from_base, poses[image.number]))


def _plain(value: Any) -> Any:
    """Return a value for JSON, with null for nan, which JSON does not have."""
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
