"""Converts messages to core values by field name, for rclpy's classes as well as for bags read without ROS.

eqa_nodes/ros/convert.py is the inverse. The round trip is exact, so the graph computes what the core computes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from eqa_nodes.core.camera.image_geometry import calibration_of, metres
from eqa_nodes.core.errors import BadFrame, BadQuestion, ErrorCode
from eqa_nodes.core.ledger import limit_in
from eqa_nodes.core.mapping.area import check_area
from eqa_nodes.core.perception.vectors import LONGEST
from eqa_nodes.core.types.calls import CallPicture, DecisionReply, DecisionRequest, ModelCall, OptionMark, TargetNote
from eqa_nodes.core.types.costs import UNLIMITED, CallBudget
from eqa_nodes.core.types.floor import FREE, Allowance, Candidate, Frontier, GridMap, Option, Staircase, WeighedOption
from eqa_nodes.core.types.geometry import Pose2, Transform, normalised, pose2_of
from eqa_nodes.core.types.inquiries import Inquiry
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import (
    Answer,
    Evidence,
    Limits,
    Question,
    RankedRegion,
    Receipt,
    RoleCost,
    ViewAssessment,
)
from eqa_nodes.core.types.trace import TraceDecision
from eqa_nodes.core.types.views import Cloud, FloorPixel, Intrinsics, Keyframe, Label, Sighting, ViewGeometry

_FORMATS = {"rgb8": ("u1", 3), "bgr8": ("u1", 3), "rgba8": ("u1", 4), "bgra8": ("u1", 4), "mono8": ("u1", 1),
            "8UC3": ("u1", 3), "8UC1": ("u1", 1), "32FC1": ("f4", 1), "16UC1": ("u2", 1), "mono16": ("u2", 1),
            "32SC1": ("i4", 1)}
# Channel indices of red, green and blue; 8UC3 has OpenCV's order, blue first.
_COLORS = {"rgb8": (0, 1, 2), "bgr8": (2, 1, 0), "rgba8": (0, 1, 2), "bgra8": (2, 1, 0), "mono8": (0, 0, 0),
           "8UC3": (2, 1, 0), "8UC1": (0, 0, 0)}
_FLOAT32 = 7  # sensor_msgs/PointField.FLOAT32
_DEPTHS = ("16UC1", "32FC1", "mono16")
DETECTED = "source=detector"  # label attribute that a simulator never sets
SCORE = "detector_score"  # name of another one: Label.score, where it is below 1
VECTOR = "detector_vector"  # name of another one: Label.vector


def ns_of(stamp: Any) -> int:
    """Return a builtin_interfaces/Time in ns."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp_in(data: bytes) -> int:
    """Return the stamp in ns of a serialized message that begins with a header (little-endian CDR)."""
    seconds, nanoseconds = struct.unpack_from("<iI", data, 4)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def stamped(data: bytes, stamp_ns: int) -> bytes:
    """Return a serialized message that begins with a header (little-endian CDR) with another stamp."""
    return data[:4] + struct.pack("<iI", *divmod(stamp_ns, 1_000_000_000)) + data[12:]


def same_content(one: bytes, other: bytes) -> bool:
    """Return whether two serialized messages that begin with a header are the same except for their stamps."""
    return one[12:] == other[12:]


def stamp_in_tf(data: bytes) -> int:
    """Return the stamp in ns of the first transform of a serialized tf2_msgs/TFMessage, -1 if it has none."""
    return stamp_in(data[4:]) if len(data) >= 16 else -1  # the count of transforms precedes it


def stamp_of(message: Any) -> int:
    """Return the stamp of a message with a header, in ns."""
    return ns_of(message.header.stamp)


def cloud_of(message: Any) -> Cloud:
    """Return the points of a PointCloud2 with x, y, z and rgb as float32 (rgb packed as in PCL), else raise BadFrame.
    """
    at = {field.name: int(field.offset) for field in message.fields if int(field.datatype) == _FLOAT32}
    step, count = int(message.point_step), int(message.width) * int(message.height)
    whole = len(message.data) == step * count == int(message.row_step) * int(message.height)
    fits = {"x", "y", "z", "rgb"} <= at.keys() and 0 <= min(at.values()) <= max(at.values()) <= step - 4
    if message.is_bigendian or not whole or not fits:
        raise BadFrame(f"a cloud of {count} points, {len(message.data)} bytes, fields {sorted(at)}: expected are "
                       "x, y, z and rgb as float32 in little endian, without padding between rows")
    names = ["x", "y", "z", "bgr"]
    kind = np.dtype({"names": names, "formats": ["<f4", "<f4", "<f4", ("u1", 3)], "itemsize": step,
                     "offsets": [at["x"], at["y"], at["z"], at["rgb"]]})
    rows = np.frombuffer(bytes(message.data), kind, count)
    return Cloud(np.stack([rows["x"], rows["y"], rows["z"]], axis=1), np.ascontiguousarray(rows["bgr"][:, ::-1]))


def pixels_of(image: Any) -> np.ndarray:
    """Return (H, W) or (H, W, channels) pixels of a sensor_msgs/Image. Raises BadFrame when encoding or size is off."""
    rows, dtype, channels = _rows_of(image)
    pixels = np.ascontiguousarray(rows).view(dtype).astype(dtype.newbyteorder("="), copy=False)
    return pixels if channels == 1 else pixels.reshape(image.height, image.width, channels)


def blacked_out(image: Any, hidden: np.ndarray) -> np.ndarray:
    """Return the data of a sensor_msgs/Image with zeros where `hidden` is true, and in the padding of its rows.

    hidden: (H, W) bool. Raises BadFrame when encoding or size is off.
    """
    rows, dtype, channels = _rows_of(image)
    if hidden.shape != (image.height, image.width):
        raise BadFrame(f"{image.width}x{image.height} image cannot be hidden by a mask of "
                       f"{hidden.shape[1]}x{hidden.shape[0]} pixels")
    kept = np.zeros((image.height, image.step), np.uint8)
    np.multiply(rows, np.repeat(~hidden, channels * dtype.itemsize, axis=1), out=kept[:, :rows.shape[1]])
    return kept.ravel()


def _rows_of(image: Any) -> tuple[np.ndarray, np.dtype[Any], int]:
    """Return the bytes of an image without padding, (height, row), its dtype, and its number of channels."""
    if image.encoding not in _FORMATS:
        raise BadFrame(f"image encoding {image.encoding!r} is not one of {', '.join(sorted(_FORMATS))}")
    kind, channels = _FORMATS[image.encoding]
    dtype = np.dtype((">" if image.is_bigendian else "<") + kind)
    row = image.width * channels * dtype.itemsize
    if not 0 < row <= image.step or len(image.data) != image.step * image.height:
        raise BadFrame(f"{image.width}x{image.height} {image.encoding} image has {len(image.data)} bytes "
                       f"in steps of {image.step}")
    return np.frombuffer(image.data, np.uint8).reshape(image.height, image.step)[:, :row], dtype, channels


def rgb_of(image: Any) -> np.ndarray:
    """Return (H, W, 3) uint8 in RGB order; a grey image has three equal channels."""
    if image.encoding not in _COLORS:
        raise BadFrame(f"colour image encoding {image.encoding!r} is not one of {', '.join(_COLORS)}")
    pixels = np.atleast_3d(pixels_of(image))
    return pixels if image.encoding == "rgb8" else np.ascontiguousarray(pixels[..., list(_COLORS[image.encoding])])


def depth_of(image: Any, unit_m: float = 0.0) -> np.ndarray:
    """Return (H, W) float32 metres, 0 = no return; unit_m: as in `metres`."""
    if image.encoding not in _DEPTHS:
        raise BadFrame(f"depth image encoding {image.encoding!r} is not one of {', '.join(_DEPTHS)}")
    return metres(pixels_of(image), unit_m)


def intrinsics_of(info: Any) -> Intrinsics:
    """Return the intrinsics of a sensor_msgs/CameraInfo; messages count pixel centres from 0, the core from 0.5."""
    k = [float(v) for v in info.k]
    if not (k[0] > 0 and k[4] > 0 and all(map(math.isfinite, k))):
        raise BadFrame(f"camera_info has focal lengths {k[0]}, {k[4]}: the camera is not calibrated")
    return Intrinsics(int(info.width), int(info.height), k[0], k[4], k[2] + 0.5, k[5] + 0.5)


def calibrated(info: Any, shape: tuple[int, ...]) -> tuple[Any, Intrinsics]:
    """Return a sensor_msgs/CameraInfo fitted to an image by `calibration_of`, and its intrinsics.

    shape: shape of the image, (height, width, ...). Raises BadFrame if the calibration is of another image size.
    """
    info = calibration_of(info, shape)
    k = intrinsics_of(info)
    if shape[:2] != (k.height, k.width):
        raise BadFrame(f"image has {shape[1]}x{shape[0]} pixels, its camera_info says {k.width}x{k.height}")
    return info, k


def transform_of(message: Any) -> Transform:
    """Return the transform of a geometry_msgs/TransformStamped."""
    return _transform(message.transform.translation, message.transform.rotation)


def pose_of(pose: Any) -> Transform:
    """Return map_from_base of a geometry_msgs/Pose."""
    return _transform(pose.position, pose.orientation)


def goal_of(message: Any) -> Pose2:
    """Return the floor pose of a geometry_msgs/PoseStamped."""
    return pose2_of(pose_of(message.pose))


def _transform(t: Any, q: Any) -> Transform:
    return normalised(Transform((float(t.x), float(t.y), float(t.z)),
                                (float(q.x), float(q.y), float(q.z), float(q.w))))


def grid_of(occupancy: Any, explored: Any | None = None) -> GridMap:
    """Return the map of nav_msgs/OccupancyGrid messages; an explored grid of another size is ignored."""
    shape = (int(occupancy.info.height), int(occupancy.info.width))
    seen = np.zeros(shape, bool)
    if explored is not None and (explored.info.height, explored.info.width) == shape:
        seen = np.asarray(explored.data, np.int8).reshape(shape) > 0
    cells = np.asarray(occupancy.data, np.int8).reshape(shape)
    origin = (float(occupancy.info.origin.position.x), float(occupancy.info.origin.position.y))
    return GridMap(stamp_of(occupancy), round(float(occupancy.info.resolution), 6), origin, cells, seen,
                   float(occupancy.info.origin.position.z))


def staircases_of(message: Any) -> tuple[Staircase, ...]:
    """Return the stairs of a geometry_msgs/PoseArray: two poses each, the lower end first."""
    ends = [(float(p.position.x), float(p.position.y), float(p.position.z)) for p in message.poses]
    return tuple(Staircase(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True))


def frontier_of(f: Any) -> Frontier:
    """Return the frontier of an eqa_interfaces/Frontier."""
    return Frontier(float(f.position.x), float(f.position.y), float(f.heading), float(f.length))


def frontiers_of(message: Any) -> tuple[Frontier, ...]:
    """Return the frontiers of an eqa_interfaces/FrontierArray."""
    return tuple(map(frontier_of, message.frontiers))


def question_of(m: Any) -> Question:
    """Return the question of an eqa_interfaces/Question."""
    return Question(str(m.text), str(m.id), tuple(map(str, m.choices)), bool(m.may_explore), limits_of(m.limits),
                    bool(m.force_guess), int(m.seed), bool(m.show), instruction=str(m.instruction))


def limits_of(m: Any) -> Limits:
    """Return the limits of an eqa_interfaces/Limits."""
    area = tuple((float(p.x), float(p.y)) for p in m.area)
    return Limits(int(m.steps), float(m.metres), float(m.seconds), int(m.calls), area, int(m.tokens), float(m.money),
                  int(m.poses))


def allowance_of(m: Any) -> Allowance:
    """Return the limits of a drive, an eqa_interfaces/Allowance. Raises BadQuestion for a negative or NaN limit."""
    if not m.limited:
        return FREE._replace(permitted=bool(m.permitted))
    area = tuple((float(p.x), float(p.y)) for p in m.area)
    check_area(area)
    steps, metres, seconds = _limits(m, "steps", "metres", "seconds")
    return Allowance(steps, metres, seconds, area, bool(m.permitted))


def budget_of(m: Any) -> CallBudget:
    """Return the budget of model calls, an eqa_interfaces/CallBudget. Raises BadQuestion for a negative or NaN limit.
    """
    return CallBudget(*_limits(m, "calls", "tokens", "money")) if m.limited else UNLIMITED


def _limits(m: Any, *names: str) -> Iterator[float]:
    for name in names:
        if not (value := float(getattr(m, name))) >= 0:
            raise BadQuestion(f"the limit of {name} is {value}: it must be 0 or more, or infinite for no limit")
        yield value


def progress_of(feedback: Any) -> Progress:
    """Return the progress in feedback of the action ask."""
    return Progress(feedback.phase, feedback.steps, feedback.metres, feedback.confidence, reason=feedback.reason,
                    place=feedback.place)


def inquiry_of(m: Any) -> Inquiry:
    """Return the inquiry to a person of an eqa_interfaces/Inquiry."""
    return Inquiry(str(m.id), str(m.kind), str(m.text), tuple(map(str, m.options)), float(m.deadline),
                   str(m.question_id), str(m.question), int(m.reply))


def candidate_of(m: Any) -> Candidate:
    """Return the candidate of an eqa_interfaces/Candidate."""
    return Candidate(float(m.position.x), float(m.position.y), float(m.weight), str(m.label))


def assessment_of(m: Any) -> ViewAssessment:
    """Return the assessment of an eqa_interfaces/ViewAssessment."""
    target = (float(m.target.x), float(m.target.y)) if m.has_target else None
    pose = Pose2(float(m.position.x), float(m.position.y), float(m.heading))
    return ViewAssessment(int(m.keyframe_id), stamp_of(m), float(m.relevance), float(m.enough), str(m.region),
                          str(m.note), pose, float(m.worth),
                          tuple(map(candidate_of, m.places)), target, str(m.says), float(m.position.z),
                          float(m.target.z))


def option_of(m: Any) -> Option:
    """Return the option of an eqa_interfaces/Option."""
    return Option(float(m.position.x), float(m.position.y), float(m.heading), str(m.kind), float(m.distance),
                  str(m.room), float(m.value), float(m.position.z))


def weighed_of(request: Any) -> list[WeighedOption]:
    """Return the weighed options of a ChooseGoal request or an Advise response; none if no model was asked.

    Raises BadQuestion if the numbers of options, weights and rooms differ.
    """
    if not len(request.weights):
        return []
    if not len(request.options) == len(request.weights) == len(request.rooms):
        raise BadQuestion(f"{len(request.options)} options have {len(request.weights)} weights and "
                          f"{len(request.rooms)} rooms: give one of each for every option")
    return [WeighedOption(option_of(o), float(w), str(room))
            for o, w, room in zip(request.options, request.weights, request.rooms, strict=True)]


def brief_of(request: Any) -> DecisionRequest:
    """Return the brief of an Advise request. The present view ends its pictures; the views after it are for the sheet.
    """
    views, now = tuple(keyframe_of(view) for view in request.views), tuple(map(int, request.now))
    ends = next((i for i, view in enumerate(views, 1) if now and view.id == now[-1]), len(views))
    return DecisionRequest(
        views[:ends], tuple(option_of(o) for o in request.options), now, tuple(request.visited),
        tuple(request.notes), int(request.legs_left), int(request.calls_left), _targets_of(request), views[ends:])


def advice_of(response: Any) -> DecisionReply:
    """Return the advice of an Advise response."""
    return DecisionReply(answer_of(response), str(response.reasons), str(response.missing), tuple(weighed_of(response)),
                  tuple(assessment_of(a) for a in response.assessments), _targets_of(response),
                  str(response.room))


def _targets_of(message: Any) -> tuple[TargetNote, ...]:
    return tuple(TargetNote(str(what), str(known)) for what, known in zip(message.targets, message.known))


def ranked_region_of(m: Any) -> RankedRegion:
    """Return the region of an eqa_interfaces/RankedRegion."""
    return RankedRegion(str(m.name), float(m.weight))


def label_table_of(message: Any) -> dict[int, Label]:
    """Return the table of an eqa_interfaces/LabelArray."""
    return {int(label.instance_id): _label(label) for label in message.labels}


def keyframe_of(message: Any) -> Keyframe:
    """Return the keyframe of an eqa_interfaces/Keyframe."""
    return Keyframe(int(message.keyframe_id), stamp_of(message), pose_of(message.pose), bytes(message.image.data),
                    tuple(map(_sighting, message.sightings)), str(message.caption), str(message.region),
                    tuple(FloorPixel(int(p.u), int(p.v), float(p.position.x),
                                     float(p.position.y)) for p in message.places), _geometry(message))


def _geometry(message: Any) -> ViewGeometry | None:
    """Return the geometry of a keyframe; None if it was not recorded, or by a version that did not record geometry."""
    if not len(getattr(message, "depth_png", b"")):
        return None
    k, mount = message, message.base_from_camera
    return ViewGeometry(Intrinsics(int(k.width), int(k.height), float(k.fx), float(k.fy), float(k.cx), float(k.cy)),
                        _transform(mount.translation, mount.rotation), bytes(message.depth_png))


def _sighting(s: Any) -> Sighting:
    left, top, right, bottom = (int(edge) for edge in s.bbox)
    return Sighting(_label(s.label), int(s.pixels), (left, top, right, bottom),
                    (float(s.center.x), float(s.center.y), float(s.center.z)),
                    (float(s.size.x), float(s.size.y), float(s.size.z)))


def call_of(m: Any) -> ModelCall:
    """Return the model call of an eqa_interfaces/ModelCall. Raises BadQuestion, as `weighed_of` does."""
    return ModelCall(
        stamp_of(m), Pose2(float(m.position.x), float(m.position.y), float(m.heading)), str(m.question), str(m.kind),
        tuple(map(_picture_of, m.pictures)), tuple(weighed_of(m)), str(m.reasons), str(m.answer), float(m.confidence),
        str(m.missing), tuple(map(int, m.evidence)), int(m.requests), int(m.tokens_in), int(m.tokens_out),
        float(m.money), float(m.seconds), str(m.error), tuple(map(str, m.models)))


def _picture_of(m: Any) -> CallPicture:
    marks = tuple(OptionMark(int(mark.number), float(mark.u), float(mark.v)) for mark in m.marks)
    return CallPicture(int(m.keyframe_id), marks, tuple((float(p.x), float(p.y)) for p in m.points), bool(m.now),
                       str(m.note))


def receipt_of(m: Any) -> Receipt:
    """Return the receipt of an eqa_interfaces/Receipt."""
    return Receipt(int(m.steps), float(m.metres), float(m.seconds), int(m.calls), int(m.tokens_in), int(m.tokens_out),
                   tuple(m.privileged), float(m.money), roles=tuple(map(_role_cost, m.roles)))


def _role_cost(m: Any) -> RoleCost:
    return RoleCost(str(m.role), str(m.model), int(m.calls), int(m.tokens_in), int(m.tokens_out), float(m.money))


def answer_of(m: Any) -> Answer:
    """Return the answer of an eqa_interfaces/Answer, a result of the action Ask, or a response of AnswerQuestion."""
    receipt = replace(receipt_of(m.receipt), limit=limit_in(m.error_message))
    return Answer(str(m.answer), float(m.confidence), bool(m.abstained), evidence_of(m.evidence), receipt,
                  ErrorCode(int(m.error_code)), str(m.error_message), bool(getattr(m, "shown", False)),
                  str(getattr(m, "understood", "")))


def decision_of(m: Any) -> TraceDecision:
    """Return the decision of an eqa_interfaces/Decision. Its frontiers have their own topic."""
    pose = Pose2(float(m.position.x), float(m.position.y), float(m.heading))
    goal = Pose2(float(m.goal.x), float(m.goal.y), float(m.goal_heading))
    return TraceDecision(stamp_of(m), pose, goal, str(m.reason), tuple(map(candidate_of, m.candidates)),
                         marks=tuple(map(candidate_of, m.marks)))


def evidence_of(entries: Iterable[Any]) -> tuple[Evidence, ...]:
    """Return the evidence of eqa_interfaces/Evidence messages."""
    return tuple(Evidence(int(e.keyframe_id), stamp_of(e), pose2_of(pose_of(e.pose)), str(e.note)) for e in entries)


def _label(label: Any) -> Label:
    pairs = [str(pair) for pair in label.attributes]
    attributes = dict(pair.split("=", 1) for pair in pairs if pair != DETECTED)
    score, vector = _share(attributes.pop(SCORE, "1")), attributes.pop(VECTOR, "")
    return Label(int(label.instance_id), str(label.kind), str(label.room), attributes, DETECTED in pairs, score,
                 vector if len(vector) <= LONGEST else "")


def _share(text: str) -> float:
    """Return a number from 0 to 1; 0 for a text that is none: what another node wrote is not trusted."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0.0 <= value <= 1.0 else 0.0
