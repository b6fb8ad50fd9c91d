"""Messages <-> core values. Every conversion stands here; both directions are exact, so the graph computes what the core does."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from eqa_interfaces import msg as eqa
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, TransformStamped, Vector3
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from std_msgs.msg import Header

from eqa_nodes.core import types as core
from eqa_nodes.core.errors import BadFrame, EqaError, ErrorCode
from eqa_nodes.core.geometry import Pose2, Transform, pose2_of

MAP, ODOM, BASE, CAMERA = "map", "odom", "base_link", "camera_color_optical_frame"
# encoding -> (dtype, channels, metres per unit for depth)
ENCODINGS = {"rgb8": (np.uint8, 3), "bgr8": (np.uint8, 3), "32FC1": (np.float32, 1), "16UC1": (np.uint16, 1)}


class RemoteError(EqaError):
    """A failure that another node reported, with its own code."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def raise_remote(response: Any) -> None:
    """Raise what a response reports as an error; nothing when it reports none."""
    if response.error_code:
        raise RemoteError(ErrorCode(response.error_code), response.error_message)


def report(response: Any, error: EqaError) -> Any:
    """Write a failure into a response and return it."""
    response.error_code, response.error_message = int(error.code), str(error)
    return response


def time_of(stamp_ns: int) -> Time:
    """Nanoseconds -> message."""
    return Time(sec=stamp_ns // 1_000_000_000, nanosec=stamp_ns % 1_000_000_000)


def ns_of(stamp: Time) -> int:
    """Message -> nanoseconds."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def stamp_in(data: bytes) -> int:
    """Return the stamp of a serialized message that begins with a header (little-endian CDR), nanoseconds."""
    seconds, nanoseconds = struct.unpack_from("<iI", data, 4)
    return seconds * 1_000_000_000 + nanoseconds


def header(stamp_ns: int, frame: str = MAP) -> Header:
    """Return a header."""
    return Header(stamp=time_of(stamp_ns), frame_id=frame)


def image_msg(pixels: np.ndarray, encoding: str, stamp_ns: int) -> Image:
    """(H, W[, 3]) array -> Image. array('B') from a buffer is the one fast way through rclpy's field checks."""
    dtype, _ = ENCODINGS[encoding]
    pixels = np.ascontiguousarray(pixels, dtype)
    data = array("B")
    data.frombytes(memoryview(pixels).cast("B"))
    return Image(header=header(stamp_ns, CAMERA), height=pixels.shape[0], width=pixels.shape[1], encoding=encoding,
                 step=pixels.strides[0], data=data)


def pixels_of(image: Image, allowed: Sequence[str]) -> np.ndarray:
    """Image -> (H, W[, 3]) view of its data. Raises BadFrame for an encoding or a size that does not fit."""
    if image.encoding not in allowed:
        raise BadFrame(f"image encoding {image.encoding!r}: can use {', '.join(allowed)}")
    dtype, channels = ENCODINGS[image.encoding]
    row = image.width * channels * np.dtype(dtype).itemsize
    if image.step < row or len(image.data) != image.step * image.height or not row:
        raise BadFrame(f"image of {image.width} x {image.height} {image.encoding} has {len(image.data)} bytes, step {image.step}")
    order = ">" if image.is_bigendian else "<"
    rows = np.frombuffer(image.data, np.uint8).reshape(image.height, image.step)[:, :row]
    pixels = np.ascontiguousarray(rows).view(np.dtype(dtype).newbyteorder(order)).astype(dtype, copy=False)
    return pixels.reshape(image.height, image.width, 3) if channels == 3 else pixels


def rgb_of(image: Image) -> np.ndarray:
    """Image -> (H, W, 3) uint8, RGB order."""
    pixels = pixels_of(image, ("rgb8", "bgr8"))
    return pixels if image.encoding == "rgb8" else np.ascontiguousarray(pixels[..., ::-1])


def depth_of(image: Image) -> np.ndarray:
    """Image -> (H, W) float32 metres (REP 118: 32FC1 in metres, 16UC1 in millimetres)."""
    pixels = pixels_of(image, ("32FC1", "16UC1"))
    return pixels if image.encoding == "32FC1" else pixels.astype(np.float32) * np.float32(0.001)


def camera_info_msg(k: core.Intrinsics, stamp_ns: int) -> CameraInfo:
    """Intrinsics -> CameraInfo. Messages count pixel centres from 0, the core from 0.5 (REP 104, core/types.py)."""
    cx, cy = k.cx - 0.5, k.cy - 0.5
    return CameraInfo(header=header(stamp_ns, CAMERA), height=k.height, width=k.width, distortion_model="plumb_bob",
                      d=[0.0] * 5, k=[k.fx, 0.0, cx, 0.0, k.fy, cy, 0.0, 0.0, 1.0], r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
                      p=[k.fx, 0.0, cx, 0.0, 0.0, k.fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0])


def intrinsics_of(info: CameraInfo) -> core.Intrinsics:
    """CameraInfo -> Intrinsics. Raises BadFrame when the camera is not calibrated."""
    if not (info.k[0] > 0 and info.k[4] > 0 and all(map(math.isfinite, info.k))):
        raise BadFrame(f"camera_info has focal lengths {info.k[0]}, {info.k[4]}: the camera is not calibrated")
    return core.Intrinsics(info.width, info.height, info.k[0], info.k[4], info.k[2] + 0.5, info.k[5] + 0.5)


def transform_msg(parent: str, child: str, stamp_ns: int, t: Transform) -> TransformStamped:
    """Transform -> message."""
    message = TransformStamped(header=header(stamp_ns, parent), child_frame_id=child)
    message.transform.translation = Vector3(x=t.xyz[0], y=t.xyz[1], z=t.xyz[2])
    message.transform.rotation = _quaternion(t)
    return message


def transform_of(message: TransformStamped) -> Transform:
    """Message -> Transform."""
    p, q = message.transform.translation, message.transform.rotation
    return Transform((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def pose_msg(t: Transform) -> Pose:
    """Transform -> Pose."""
    return Pose(position=Point(x=t.xyz[0], y=t.xyz[1], z=t.xyz[2]), orientation=_quaternion(t))


def pose_of(message: Pose) -> Transform:
    """Pose -> Transform."""
    p, q = message.position, message.orientation
    return Transform((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def _quaternion(t: Transform) -> Quaternion:
    x, y, z, w = t.xyzw
    return Quaternion(x=x, y=y, z=z, w=w)


def goal_msg(goal: Pose2, stamp_ns: int) -> PoseStamped:
    """Floor pose -> PoseStamped."""
    return PoseStamped(header=header(stamp_ns), pose=pose_msg(goal.transform()))


def goal_of(message: PoseStamped) -> Pose2:
    """PoseStamped -> floor pose."""
    return pose2_of(pose_of(message.pose))


def grid_msg(cells: np.ndarray, grid: core.GridMap) -> OccupancyGrid:
    """(H, W) int8 cells of a map (its occupancy, or what is explored as 0/100) -> OccupancyGrid."""
    message = OccupancyGrid(header=header(grid.stamp_ns))
    message.info.map_load_time = message.header.stamp
    message.info.resolution = grid.resolution_m
    message.info.height, message.info.width = cells.shape
    message.info.origin.position.x, message.info.origin.position.y = grid.origin
    message.data = array("b", np.ascontiguousarray(cells, np.int8).tobytes())
    return message


def explored_msg(grid: core.GridMap) -> OccupancyGrid:
    """What is explored -> OccupancyGrid of 0 (not yet) and 100 (explored)."""
    return grid_msg(grid.explored.astype(np.int8) * np.int8(100), grid)


def cells_of(message: OccupancyGrid) -> np.ndarray:
    """OccupancyGrid -> (H, W) int8 view."""
    return np.frombuffer(message.data, np.int8).reshape(message.info.height, message.info.width)


def grid_of(cells: OccupancyGrid, explored: OccupancyGrid | None = None) -> core.GridMap:
    """Messages -> GridMap; the resolution travels as float32 and is rounded back to micrometres."""
    occupancy = cells_of(cells)
    seen = cells_of(explored) > 0 if explored is not None else np.zeros(occupancy.shape, bool)
    origin = cells.info.origin.position
    return core.GridMap(ns_of(cells.header.stamp), round(cells.info.resolution, 6), (origin.x, origin.y), occupancy, seen)


def frontier_msg(f: core.Frontier) -> eqa.Frontier:
    """Frontier -> message."""
    return eqa.Frontier(position=Point(x=f.x, y=f.y), heading=f.heading, length=f.length_m)


def frontier_of(m: eqa.Frontier) -> core.Frontier:
    """Message -> Frontier."""
    return core.Frontier(m.position.x, m.position.y, m.heading, m.length)


def frontiers_msg(frontiers: Iterable[core.Frontier], stamp_ns: int) -> eqa.FrontierArray:
    """All frontiers of one map -> message."""
    return eqa.FrontierArray(header=header(stamp_ns), frontiers=[frontier_msg(f) for f in frontiers])


def label_msg(label: core.Label) -> eqa.Label:
    """Label -> message."""
    pairs = [f"{name}={value}" for name, value in sorted(label.attributes.items())]
    return eqa.Label(instance_id=label.instance, kind=label.kind, room=label.room, attributes=pairs)


def label_of(m: eqa.Label) -> core.Label:
    """Message -> Label."""
    return core.Label(m.instance_id, m.kind, m.room, dict(pair.split("=", 1) for pair in m.attributes))


def label_table_msg(labels: Mapping[int, core.Label], stamp_ns: int) -> eqa.LabelArray:
    """All labels of a world -> message."""
    return eqa.LabelArray(header=header(stamp_ns), labels=[label_msg(labels[i]) for i in sorted(labels)])


def label_table_of(m: eqa.LabelArray) -> dict[int, core.Label]:
    """Message -> labels by instance."""
    return {label.instance_id: label_of(label) for label in m.labels}


def sighting_msg(s: core.Sighting) -> eqa.ObjectSighting:
    """Sighting -> message."""
    return eqa.ObjectSighting(label=label_msg(s.label), pixels=s.pixels, bbox=list(s.bbox),
                              center=Point(x=s.centre[0], y=s.centre[1], z=s.centre[2]),
                              size=Vector3(x=s.size[0], y=s.size[1], z=s.size[2]))


def sighting_of(m: eqa.ObjectSighting) -> core.Sighting:
    """Message -> Sighting."""
    return core.Sighting(label_of(m.label), m.pixels, tuple(int(v) for v in m.bbox), (m.center.x, m.center.y, m.center.z),
                         (m.size.x, m.size.y, m.size.z))


def keyframe_msg(k: core.Keyframe) -> eqa.Keyframe:
    """Keyframe -> message."""
    image = CompressedImage(header=header(k.stamp_ns, CAMERA), format="jpeg", data=array("B", k.jpeg))
    return eqa.Keyframe(header=header(k.stamp_ns), keyframe_id=k.id, pose=pose_msg(k.map_from_base), image=image,
                        sightings=[sighting_msg(s) for s in k.sightings], caption=k.caption, region=k.region,
                        privileged=bool(k.sightings))


def keyframe_of(m: eqa.Keyframe) -> core.Keyframe:
    """Message -> Keyframe."""
    return core.Keyframe(m.keyframe_id, ns_of(m.header.stamp), pose_of(m.pose), bytes(m.image.data),
                         tuple(sighting_of(s) for s in m.sightings), m.caption, m.region)


def assessment_msg(a: core.ViewAssessment, question_id: str = "") -> eqa.ViewAssessment:
    """ViewAssessment -> message."""
    return eqa.ViewAssessment(header=header(a.stamp_ns), question_id=question_id, keyframe_id=a.keyframe_id,
                              relevance=float(a.relevance), enough=float(a.enough), region=a.region, note=a.note)


def assessment_of(m: eqa.ViewAssessment) -> core.ViewAssessment:
    """Message -> ViewAssessment."""
    return core.ViewAssessment(m.keyframe_id, ns_of(m.header.stamp), m.relevance, m.enough, m.region, m.note)


def candidate_msg(c: core.Candidate) -> eqa.Candidate:
    """Candidate -> message."""
    return eqa.Candidate(position=Point(x=c.x, y=c.y), weight=float(c.weight), label=c.label)


def candidate_of(m: eqa.Candidate) -> core.Candidate:
    """Message -> Candidate."""
    return core.Candidate(m.position.x, m.position.y, m.weight, m.label)


def receipt_msg(r: core.Receipt) -> eqa.Receipt:
    """Receipt -> message."""
    return eqa.Receipt(steps=r.steps, metres=r.metres, seconds=r.seconds, calls=r.calls, tokens_in=r.tokens_in,
                       tokens_out=r.tokens_out, privileged=list(r.privileged))


def receipt_of(m: eqa.Receipt) -> core.Receipt:
    """Message -> Receipt."""
    return core.Receipt(m.steps, m.metres, m.seconds, m.calls, m.tokens_in, m.tokens_out, tuple(m.privileged))


def fill_answer(message: Any, answer: core.Answer) -> Any:
    """Write an answer into an Ask result or an AnswerQuestion response and return it."""
    message.answer, message.confidence, message.abstained = answer.text, float(answer.confidence), answer.abstained
    message.evidence = [eqa.Evidence(header=header(e.stamp_ns), keyframe_id=e.keyframe_id, pose=pose_msg(e.pose.transform()),
                                     note=e.note) for e in answer.evidence]
    message.receipt = receipt_msg(answer.receipt)
    message.error_code, message.error_message = int(answer.error), answer.message
    return message


def answer_of(m: Any) -> core.Answer:
    """Ask result or AnswerQuestion response -> Answer."""
    evidence = tuple(core.Evidence(e.keyframe_id, ns_of(e.header.stamp), pose2_of(pose_of(e.pose)), e.note) for e in m.evidence)
    return core.Answer(m.answer, m.confidence, m.abstained, evidence, receipt_of(m.receipt), ErrorCode(m.error_code),
                       m.error_message)
