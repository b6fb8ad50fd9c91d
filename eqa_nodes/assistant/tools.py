"""The tools for an assistant, without the protocol: each method returns plain values and pictures."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from eqa_nodes.bench.report.drawing import FloorPicture, MapBox, extent
from eqa_nodes.console.questions import PROOF_PX, Questions
from eqa_nodes.console.shown import shown_entry
from eqa_nodes.console.values import ENDED, Entry, RequestRefused, WatchedRobot
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Recalled
from eqa_nodes.viewer.packing import boxes_of
from eqa_nodes.wire.image_files import shrunk

SIDE_PX = 768  # longer side of the map's picture
VIEWS = 12  # maximum that one call of recall returns


class ToolReply(NamedTuple):
    """facts: values that JSON can represent; pictures: JPEG or PNG files, in the order in which facts name them."""

    facts: Mapping[str, Any]
    pictures: tuple[bytes, ...] = ()


class RobotTools:
    """Reads the robot's state and queues questions. Methods are thread-safe and raise EqaError."""

    def __init__(self, robot: WatchedRobot, questions: Questions) -> None:
        self._robot, self._questions = robot, questions

    def look(self) -> ToolReply:
        """Return the newest picture of the camera, and the robot's pose."""
        facts = {"place": self._robot.place, "robot": self._pose(), "pictures": ["the camera's newest picture"]}
        return ToolReply(facts, (self._robot.camera(),))

    def map(self) -> ToolReply:
        """Return the robot's map with its path since the newest question began. Raises RequestRefused without a map."""
        grid, trace = self._robot.grid(), self._robot.live.trace()
        shown = map_picture(grid, [pose for _, pose in trace.poses]) if grid is not None else None
        if grid is None or shown is None:
            raise RequestRefused("the robot has no map yet: it has seen nothing since the episode began", 404)
        left, bottom, right, top = (round(value, 2) for value in shown.box)
        explored_m2 = round(float(grid.explored.sum()) * grid.resolution_m**2, 1)
        picture = {"left_x_m": left, "right_x_m": right, "bottom_y_m": bottom, "top_y_m": top,
                   "colours": "white: seen floor, dark: obstacles, grey: unknown, blue: path, red: the robot"}
        return ToolReply({"robot": self._pose(), "explored_m2": explored_m2, "pictures": [picture]}, (shown.png,))

    def recall(self, text: str, limit: int) -> ToolReply:
        """Return remembered views that match a text, best first; for an empty text, views spread over time."""
        if not 1 <= limit <= VIEWS:
            raise RequestRefused(f"limit is {limit}: it must be 1 to {VIEWS}", 400)
        found = self._robot.recall(text, limit)
        return ToolReply({"views": [_view(item) for item in found]},
                     tuple(shrunk(item.keyframe.jpeg, PROOF_PX) for item in found))

    def objects(self, text: str) -> ToolReply:
        """Return remembered objects with their positions, from all views or from those that match a text."""
        views = [item.keyframe for item in self._robot.recall(text, VIEWS if text else 0)]
        boxes = [{"name": box.name, "privileged": box.privileged,
                  "centre_m": [round((a + b) / 2, 2) for a, b in zip(box.low, box.high, strict=True)],
                  "size_m": [round(b - a, 2) for a, b in zip(box.low, box.high, strict=True)]}
                 for box in boxes_of(views)]
        return ToolReply({"objects": boxes, "views": len(views)})

    def status(self) -> ToolReply:
        """Return the robot's pose, its current question, and all questions, the newest first."""
        live = self._robot.live
        return ToolReply({"place": self._robot.place, "robot": self._pose(), "question": live.trace().question,
                      "running": live.running, "questions": [_brief(e) for e in self._questions.entries()]})

    def put(self, question: str, drive: bool, show: bool) -> Entry:
        """Add a question to the robot's queue."""
        return self._questions.put(question, may_explore=drive, show=show)

    def entry(self, number: int) -> Entry:
        """Return a question by its number."""
        return self._questions.entry(number)

    def result(self, entry: Entry) -> ToolReply:
        """Return the state of a question and, once it has ended, its answer with the pictures that prove it."""
        proofs = [proof for proof in entry.proofs if proof.jpeg] if entry.state == ENDED else []
        return ToolReply(shown_entry(entry), tuple(proof.jpeg for proof in proofs))

    def cancel(self, number: int) -> ToolReply:
        """Cancel one question, waiting or running."""
        self._questions.cancel(number)
        return ToolReply({"canceled": number})

    def stop(self) -> ToolReply:
        """End all questions and the drive, also those of other clients."""
        self._questions.stop(self._robot)
        return ToolReply({"stopped": True})

    def _pose(self) -> Mapping[str, float] | None:
        poses = self._robot.live.trace().poses
        if not poses:
            return None
        pose = poses[-1][1]
        return {"x_m": round(pose.x, 2), "y_m": round(pose.y, 2), "heading_deg": round(math.degrees(pose.yaw))}


def _view(item: Recalled) -> Mapping[str, Any]:
    view = item.keyframe
    return {"view": view.id, "seconds": round(view.stamp_ns / 1e9, 1), "x_m": round(view.pose.x, 2),
            "y_m": round(view.pose.y, 2), "heading_deg": round(math.degrees(view.pose.yaw)), "room": view.region,
            "shows": view.caption, "score": round(item.score, 3), "why": item.why, "privileged": view.privileged}


def _brief(entry: Entry) -> Mapping[str, Any]:
    shown = shown_entry(entry)
    return {key: shown[key] for key in ("id", "question", "state", "answer", "error") if key in shown}


class MapPicture(NamedTuple):
    """png: the picture, +x to the right, +y up; box: the area that it shows, metres, map frame."""

    png: bytes
    box: MapBox


def map_picture(grid: GridMap, poses: list[Pose2]) -> MapPicture | None:
    """Return a picture of the map with the path and, at its end, the robot; None if nothing is known yet."""
    box = extent(grid, poses, None)
    if box is None:
        return None
    picture = FloorPicture(box, SIDE_PX)
    picture.floor(grid)
    picture.path(poses)
    picture.bar()
    buffer = io.BytesIO()
    picture.image.save(buffer, "PNG", optimize=True)
    return MapPicture(buffer.getvalue(), box)
