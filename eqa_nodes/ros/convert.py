"""Converts core values to messages (inverse: eqa_nodes/wire/messages.py); frame names, and errors in responses."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from eqa_interfaces import msg as eqa
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseArray,
    PoseStamped,
    Quaternion,
    TransformStamped,
    Vector3,
)
from geometry_msgs.msg import Transform as TransformMessage
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, LaserScan, PointCloud2, PointField
from std_msgs.msg import Header
from vision_msgs.msg import (
    BoundingBox3D,
    Detection3D,
    Detection3DArray,
    ObjectHypothesis,
    ObjectHypothesisWithPose,
)

from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.memory.watches import WatchEvent
from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.perception.tracking import Perceived
from eqa_nodes.core.storage.text import stored
from eqa_nodes.core.types import calls, floor, questions, views
from eqa_nodes.core.types.costs import UNLIMITED, CallBudget
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.inquiries import Inquiry
from eqa_nodes.core.types.trace import TraceDecision
from eqa_nodes.core.types.views import Cloud
from eqa_nodes.wire.messages import DETECTED, SCORE, VECTOR

# Nav2 reports a failure as an error number of the failed server; these numbers lie above all of Nav2's.
NAV_ERRORS = {floor.NavCode.BLOCKED: 9901, floor.NavCode.UNREACHABLE: 9902, floor.NavCode.TIMEOUT: 9903,
              floor.NavCode.FAILED: 9904, floor.NavCode.CANCELED: 9905, floor.NavCode.OUT_OF_STEPS: 9906,
              floor.NavCode.OUT_OF_METRES: 9907, floor.NavCode.OUT_OF_SECONDS: 9908,
              floor.NavCode.NOT_ALLOWED: 9909}
NAV_CODES = {number: code for code, number in NAV_ERRORS.items()}
MAP, ODOM, BASE, SCAN = "map", "odom", "base_link", "base_scan"
MOUNT, LINK, CAMERA = "camera_mount", "camera_link", "camera_color_optical_frame"  # frames of the head, base first
DTYPES = {"rgb8": np.uint8, "bgr8": np.uint8, "bgra8": np.uint8, "32FC1": np.float32, "16UC1": np.uint16}


class RemoteError(EqaError):
    """A failure that another node reported, with its own code."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def raise_remote(response: Any) -> None:
    """Raise the error that a response reports, if any."""
    if hasattr(response, "success"):  # a service type of ROS itself
        if not response.success:
            raise RemoteError(ErrorCode.INTERNAL, response.message)
    elif response.error_code:
        raise RemoteError(ErrorCode(response.error_code), response.error_message)


def report(response: Any, error: EqaError) -> Any:
    """Write a failure into a response and return it."""
    if hasattr(response, "success"):
        response.success, response.message = False, stored(str(error))
    else:
        response.error_code, response.error_message = int(error.code), stored(str(error))
    return response


def time_of(stamp_ns: int) -> Time:
    """Nanoseconds -> message."""
    return Time(sec=stamp_ns // 1_000_000_000, nanosec=stamp_ns % 1_000_000_000)


def header(stamp_ns: int, frame: str = MAP) -> Header:
    """Return a header."""
    return Header(stamp=time_of(stamp_ns), frame_id=frame)


def in_frame(message: Any, frame: str) -> Any:
    """Rename the map frame in all headers of a message to the robot's name for it. Returns the message."""
    parts = (entry for name in ("markers", "detections", "evidence") for entry in getattr(message, name, ()))
    for part in (message, *parts):
        if (stamped := getattr(part, "header", None)) is not None and stamped.frame_id == MAP:
            stamped.frame_id = frame
    return message


def image_msg(pixels: np.ndarray, encoding: str, stamp_ns: int) -> Image:
    """(H, W[, 3]) array -> Image. Only array('B') from a buffer passes rclpy's field checks fast."""
    pixels = np.ascontiguousarray(pixels, DTYPES[encoding])
    data = array("B")
    data.frombytes(pixels.data.cast("B"))
    return Image(header=header(stamp_ns, CAMERA), height=pixels.shape[0], width=pixels.shape[1], encoding=encoding,
                 step=pixels.strides[0], data=data)


def cloud_msg(cloud: Cloud, stamp_ns: int) -> PointCloud2:
    """Points -> PointCloud2 with the fields x, y, z and rgb, with the bytes blue, green, red, 0 as in PCL."""
    packed = np.zeros(len(cloud.points), [("xyz", "<f4", 3), ("bgr", "u1", 3), ("unused", "u1")])
    packed["xyz"], packed["bgr"] = cloud.points, cloud.colours[:, ::-1]
    data = array("B")
    data.frombytes(packed.tobytes())
    fields = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1)
              for i, name in enumerate(("x", "y", "z", "rgb"))]
    return PointCloud2(header=header(stamp_ns), height=1, width=len(packed), fields=fields, is_bigendian=False,
                       point_step=packed.itemsize, row_step=packed.nbytes, data=data, is_dense=True)


def points_msg(frame: views.Frame, every: int) -> PointCloud2:
    """Depth -> PointCloud2 in the camera's optical frame, x, y, z in float32 metres, of each `every`th row and column.

    Pixels that measured nothing are left out.
    """
    k, depth = frame.intrinsics, frame.depth_m[::every, ::every]
    rows, columns = np.nonzero(depth > 0)
    z = depth[rows, columns]
    points = np.stack([(columns * every + 0.5 - k.cx) / k.fx * z, (rows * every + 0.5 - k.cy) / k.fy * z, z], axis=1)
    data = array("B")
    data.frombytes(points.astype("<f4").tobytes())
    fields = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, name in enumerate("xyz")]
    return PointCloud2(header=header(frame.stamp_ns, CAMERA), height=1, width=len(points), fields=fields,
                       is_bigendian=False, point_step=12, row_step=12 * len(points), data=data, is_dense=True)


def camera_info_msg(k: views.Intrinsics, stamp_ns: int) -> CameraInfo:
    """Intrinsics -> CameraInfo. Messages count pixel centres from 0, the core from 0.5 (REP 104, types/views.py)."""
    cx, cy = k.cx - 0.5, k.cy - 0.5
    return CameraInfo(header=header(stamp_ns, CAMERA), height=k.height, width=k.width, distortion_model="plumb_bob",
                      d=[0.0] * 5, k=[k.fx, 0.0, cx, 0.0, k.fy, cy, 0.0, 0.0, 1.0],
                      r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
                      p=[k.fx, 0.0, cx, 0.0, 0.0, k.fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0])


def scan_msg(scan: views.PlanarScan, stamp_ns: int) -> LaserScan:
    """Scan -> LaserScan. All beams have the same time."""
    return LaserScan(header=header(stamp_ns, SCAN), angle_min=scan.first_rad, angle_increment=scan.step_rad,
                     angle_max=scan.first_rad + scan.step_rad * (len(scan.ranges_m) - 1),
                     range_min=scan.min_range_m, range_max=scan.max_range_m, ranges=array("f", scan.ranges_m.tobytes()))


def transform_msg(parent: str, child: str, stamp_ns: int, t: Transform) -> TransformStamped:
    """Transform -> message."""
    return TransformStamped(header=header(stamp_ns, parent), child_frame_id=child, transform=_transform(t))


def pose_msg(t: Transform) -> Pose:
    """Transform -> Pose."""
    return Pose(position=Point(x=t.xyz[0], y=t.xyz[1], z=t.xyz[2]), orientation=_quaternion(t))


def _transform(t: Transform) -> TransformMessage:
    return TransformMessage(translation=Vector3(x=t.xyz[0], y=t.xyz[1], z=t.xyz[2]), rotation=_quaternion(t))


def _quaternion(t: Transform) -> Quaternion:
    x, y, z, w = t.xyzw
    return Quaternion(x=x, y=y, z=z, w=w)


def goal_msg(goal: Pose2, stamp_ns: int, frame: str = MAP) -> PoseStamped:
    """Floor pose -> PoseStamped. frame: name of the map frame."""
    return PoseStamped(header=header(stamp_ns, frame), pose=pose_msg(goal.transform()))


def end_goal(handle: Any, response: Any, result: floor.NavResult) -> Any:
    """End the goal of a drive; return the response with its code and message."""
    response.error_code, response.error_msg = NAV_ERRORS.get(result.code, 0), result.message
    if result.code is floor.NavCode.SUCCEEDED:
        handle.succeed()
    elif result.code is floor.NavCode.CANCELED and handle.is_cancel_requested:
        handle.canceled()
    else:
        handle.abort()
    return response


def grid_msg(cells: np.ndarray, grid: floor.GridMap) -> OccupancyGrid:
    """(H, W) int8 cells of a map (occupancy, or explored area as 0/100) -> OccupancyGrid."""
    message = OccupancyGrid(header=header(grid.stamp_ns))
    message.info.map_load_time = message.header.stamp
    message.info.resolution = grid.resolution_m
    message.info.height, message.info.width = cells.shape
    message.info.origin.position = Point(x=grid.origin[0], y=grid.origin[1], z=grid.z)
    message.data = array("b", np.ascontiguousarray(cells, np.int8).tobytes())
    return message


def explored_msg(grid: floor.GridMap) -> OccupancyGrid:
    """Explored area -> OccupancyGrid of 0 (not explored) and 100 (explored)."""
    return grid_msg(grid.explored.astype(np.int8) * np.int8(100), grid)


def frontier_msg(f: floor.Frontier) -> eqa.Frontier:
    """Frontier -> message."""
    return eqa.Frontier(position=Point(x=f.x, y=f.y), heading=f.heading, length=f.length_m)


def frontiers_msg(frontiers: Iterable[floor.Frontier], stamp_ns: int) -> eqa.FrontierArray:
    """All frontiers of one map -> message."""
    return eqa.FrontierArray(header=header(stamp_ns), frontiers=[frontier_msg(f) for f in frontiers])


def staircases_msg(staircases: Iterable[floor.Staircase], stamp_ns: int) -> PoseArray:
    """Stairs -> PoseArray, two poses each: the lower end, the upper end."""
    ends = [Pose(position=Point(x=x, y=y, z=z)) for staircase in staircases for x, y, z in staircase]
    return PoseArray(header=header(stamp_ns), poses=ends)


def label_msg(label: views.Label) -> eqa.Label:
    """Label -> message."""
    pairs = [f"{name}={value}" for name, value in sorted(label.attributes.items())] + [DETECTED] * label.detected
    if label.score < 1.0:
        pairs.append(f"{SCORE}={label.score}")
    if label.vector:
        pairs.append(f"{VECTOR}={label.vector}")
    return eqa.Label(instance_id=label.instance, kind=label.kind, room=label.room, attributes=pairs)


def label_table_msg(labels: Mapping[int, views.Label], stamp_ns: int) -> eqa.LabelArray:
    """All labels of a world -> message."""
    return eqa.LabelArray(header=header(stamp_ns), labels=[label_msg(labels[i]) for i in sorted(labels)])


def sighting_msg(s: views.Sighting) -> eqa.ObjectSighting:
    """Sighting -> message."""
    return eqa.ObjectSighting(label=label_msg(s.label), pixels=s.pixels, bbox=list(s.bbox),
                              center=Point(x=s.centre[0], y=s.centre[1], z=s.centre[2]),
                              size=Vector3(x=s.size[0], y=s.size[1], z=s.size[2]))


def keyframe_msg(k: views.Keyframe) -> eqa.Keyframe:
    """Keyframe -> message."""
    image = CompressedImage(header=header(k.stamp_ns, CAMERA), format="jpeg", data=array("B", k.jpeg))
    message = eqa.Keyframe(header=header(k.stamp_ns), keyframe_id=k.id, pose=pose_msg(k.map_from_base), image=image,
                           sightings=[sighting_msg(s) for s in k.sightings], caption=k.caption, region=k.region,
                           places=[eqa.Place(u=p.u, v=p.v, position=Point(x=p.x, y=p.y)) for p in k.places],
                           privileged=k.privileged)
    if k.geometry is not None:
        for name, value in k.geometry.intrinsics._asdict().items():
            setattr(message, name, value)
        message.base_from_camera = _transform(k.geometry.base_from_camera)
        message.depth_png = array("B", k.geometry.depth_png)
    return message


def watch_event_msg(event: WatchEvent) -> eqa.WatchEvent:
    """WatchEvent -> message."""
    return eqa.WatchEvent(header=header(event.stamp_ns, ""), event_id=event.id, watch=event.watch,
                          statement=stored(event.statement), since=time_of(event.since_ns), text=stored(event.text),
                          object_id=event.object_id, keyframe_id=event.keyframe_id)


def question_msg(q: questions.Question) -> eqa.Question:
    """Question -> message."""
    return eqa.Question(text=q.text, id=q.id, choices=list(q.choices), may_explore=q.may_explore,
                        limits=limits_msg(q.limits), force_guess=q.force_guess, seed=q.seed, show=q.show,
                        instruction=q.instruction)


def limits_msg(limits: questions.Limits) -> eqa.Limits:
    """Limits of a question -> message."""
    return eqa.Limits(steps=limits.steps, metres=float(limits.metres), seconds=float(limits.seconds),
                      calls=limits.calls, tokens=limits.tokens, money=float(limits.money), poses=limits.poses,
                      area=[Point(x=float(x), y=float(y)) for x, y in limits.area])


def allowance_msg(allowance: floor.Allowance) -> eqa.Allowance:
    """Limits of one drive -> message."""
    limited = allowance._replace(permitted=False) != floor.FREE
    return eqa.Allowance(limited=limited, steps=float(allowance.steps), metres=float(allowance.metres),
                         seconds=float(allowance.seconds), permitted=allowance.permitted,
                         area=[Point(x=float(x), y=float(y)) for x, y in allowance.area])


def budget_msg(budget: CallBudget) -> eqa.CallBudget:
    """Budget of model calls for one request -> message."""
    return eqa.CallBudget(limited=budget != UNLIMITED, calls=float(budget.calls), tokens=float(budget.tokens),
                          money=float(budget.money))


def inquiry_msg(inquiry: Inquiry) -> eqa.Inquiry:
    """Inquiry to a person -> message."""
    return eqa.Inquiry(id=inquiry.id, kind=inquiry.kind, text=stored(inquiry.text),
                       options=[stored(option) for option in inquiry.options], deadline=float(inquiry.deadline_s),
                       question_id=inquiry.question_id, question=inquiry.question, reply=inquiry.reply)


def assessment_msg(a: questions.ViewAssessment, question_id: str = "") -> eqa.ViewAssessment:
    """ViewAssessment -> message."""
    x, y = a.target or (0.0, 0.0)
    return eqa.ViewAssessment(header=header(a.stamp_ns), question_id=question_id, keyframe_id=a.keyframe_id,
                              relevance=float(a.relevance), enough=float(a.enough), region=a.region, note=a.note,
                              position=Point(x=a.pose.x, y=a.pose.y, z=a.z), heading=a.pose.yaw, worth=float(a.worth),
                              places=[candidate_msg(p) for p in a.places], has_target=a.target is not None,
                              target=Point(x=x, y=y, z=float(a.target_z)), says=a.says)


def ranked_region_msg(r: questions.RankedRegion) -> eqa.RankedRegion:
    """RankedRegion -> message."""
    return eqa.RankedRegion(name=r.name, weight=float(r.weight))


def candidate_msg(c: floor.Candidate) -> eqa.Candidate:
    """Candidate -> message."""
    return eqa.Candidate(position=Point(x=c.x, y=c.y), weight=float(c.weight), label=stored(c.label))


def option_msg(o: floor.Option) -> eqa.Option:
    """Option -> message."""
    return eqa.Option(position=Point(x=float(o.x), y=float(o.y), z=float(o.z)), heading=float(o.heading), kind=o.kind,
                      distance=float(o.distance_m), room=stored(o.room), value=float(o.value))


def brief_fields(brief: calls.DecisionRequest) -> dict[str, Any]:
    """DecisionRequest -> the fields of an Advise request, except the question."""
    views = (*brief.views, *brief.sheet)
    return {"views": [keyframe_msg(view) for view in views], "options": [option_msg(o) for o in brief.options],
            "now": list(brief.now), "visited": [stored(room) for room in brief.visited],
            "notes": [stored(note) for note in brief.notes], "legs_left": brief.legs_left,
            "calls_left": brief.calls_left, **_targets(brief.targets)}


def fill_advice(response: Any, said: calls.DecisionReply, question_id: str) -> Any:
    """Write advice into an Advise response and return it."""
    fill_answer(response, said.answer)
    response.reasons, response.missing, response.room = stored(said.reasons), stored(said.missing), stored(said.room)
    for name, value in {**weighed_fields(said.options), **_targets(said.targets)}.items():
        setattr(response, name, value)
    response.assessments = [assessment_msg(a, question_id) for a in said.assessments]
    return response


def weighed_fields(options: Sequence[floor.WeighedOption]) -> dict[str, Any]:
    """Weighed options -> the fields of an Advise response or a ChooseGoal request."""
    return {"options": [option_msg(each.option) for each in options],
            "weights": [float(each.weight) for each in options], "rooms": [stored(each.room) for each in options]}


def _targets(targets: Sequence[calls.TargetNote]) -> dict[str, Any]:
    return {"targets": [stored(target.what) for target in targets],
            "known": [stored(target.known) for target in targets]}


def call_msg(call: calls.ModelCall) -> eqa.ModelCall:
    """Model call -> message."""
    return eqa.ModelCall(
        header=header(call.stamp_ns, MAP), position=Point(x=float(call.pose.x), y=float(call.pose.y)),
        heading=float(call.pose.yaw), question=stored(call.question), kind=call.kind,
        pictures=[_picture_msg(picture) for picture in call.pictures], **weighed_fields(call.options),
        reasons=stored(call.reasons), answer=stored(call.answer), confidence=float(call.confidence),
        missing=stored(call.missing), evidence=list(call.evidence), requests=call.requests, tokens_in=call.tokens_in,
        tokens_out=call.tokens_out, money=float(call.money), seconds=float(call.seconds), error=stored(call.error),
        models=[stored(model) for model in call.models])


def _picture_msg(picture: calls.CallPicture) -> eqa.CallPicture:
    return eqa.CallPicture(
        keyframe_id=picture.keyframe_id, now=picture.now, note=stored(picture.note),
        marks=[eqa.Mark(number=mark.number, u=float(mark.u), v=float(mark.v)) for mark in picture.marks],
        points=[Point(x=float(x), y=float(y)) for x, y in picture.points])


def receipt_msg(r: questions.Receipt) -> eqa.Receipt:
    """Receipt -> message."""
    return eqa.Receipt(steps=r.steps, metres=r.metres, seconds=r.seconds, calls=r.calls, tokens_in=r.tokens_in,
                       tokens_out=r.tokens_out, money=r.money, privileged=list(r.privileged),
                       roles=[eqa.RoleCost(**one._asdict()) for one in r.roles])


def evidence_msg(e: questions.Evidence) -> eqa.Evidence:
    """Evidence -> message."""
    return eqa.Evidence(header=header(e.stamp_ns), keyframe_id=e.keyframe_id, pose=pose_msg(e.pose.transform()),
                        note=stored(e.note))


def fill_answer(message: Any, answer: questions.Answer) -> Any:
    """Write an answer into a message, such as an AnswerQuestion response, and return it."""
    message.answer, message.abstained = stored(answer.text), answer.abstained
    message.confidence = float(answer.confidence)
    message.evidence = [evidence_msg(e) for e in answer.evidence]
    message.receipt = receipt_msg(answer.receipt)
    message.error_code, message.error_message = int(answer.error), stored(answer.message)
    return message


def fill_result(message: Any, answer: questions.Answer) -> Any:
    """Write the end of a question into an Ask result or an Answer and return it."""
    message.shown, message.understood = answer.shown, stored(answer.understood)
    return fill_answer(message, answer)


def answer_msg(answer: questions.Answer, question: questions.Question, stamp_ns: int) -> eqa.Answer:
    """Answer -> message. stamp_ns: stamp of the newest observation at the end of the question."""
    message = eqa.Answer(header=header(stamp_ns), question_id=stored(question.id), question=stored(question.text))
    return fill_result(message, answer)


def decision_msg(decision: TraceDecision, goal: Pose2, explored: float) -> eqa.Decision:
    """Decision to go to a goal -> message. explored: share of the mapped free space, 0 to 1."""
    at = decision.pose
    return eqa.Decision(header=header(decision.stamp_ns), position=Point(x=float(at.x), y=float(at.y)),
                        heading=float(at.yaw), goal=Point(x=float(goal.x), y=float(goal.y)),
                        goal_heading=float(goal.yaw), reason=stored(decision.reason), explored=float(explored),
                        candidates=[candidate_msg(c) for c in decision.candidates],
                        marks=[candidate_msg(c) for c in decision.marks])


def detections_msg(p: Perceived, stamp_ns: int) -> Detection3DArray:
    """Detections of an image -> vision_msgs/Detection3DArray in the map frame."""
    return Detection3DArray(header=header(stamp_ns), detections=[_detection_msg(d, s, stamp_ns) for d, s in p.found])


def _detection_msg(d: Detection, s: views.Sighting, stamp_ns: int) -> Detection3D:
    x, y, z = s.centre
    centre = Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(w=1.0))
    box = BoundingBox3D(center=centre, size=Vector3(x=s.size[0], y=s.size[1], z=s.size[2]))
    what = ObjectHypothesisWithPose(hypothesis=ObjectHypothesis(class_id=d.name, score=float(d.score)))
    what.pose.pose = centre
    return Detection3D(header=header(stamp_ns), results=[what], bbox=box, id=str(s.label.instance))
