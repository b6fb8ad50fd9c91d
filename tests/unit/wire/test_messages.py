"""Values in messages, worked out by hand; the messages are any objects with the fields of the interfaces."""

from __future__ import annotations

import math
import struct
from types import SimpleNamespace as Message
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import BadFrame, BadQuestion
from eqa_nodes.core.types.costs import UNLIMITED, CallBudget
from eqa_nodes.core.types.floor import FREE, Allowance, Option, Staircase, WeighedOption
from eqa_nodes.wire import messages

STAMP = Message(sec=3, nanosec=5)


def image(encoding: str, width: int, height: int, data: bytes, step: int = 0, big: int = 0) -> Message:
    return Message(encoding=encoding, width=width, height=height, data=data, step=step or len(data) // height,
                   is_bigendian=big)


def point(x: float, y: float, z: float = 0.0) -> Message:
    return Message(x=x, y=y, z=z)


def test_stamps() -> None:
    header = struct.pack("<IiI", 256, 3, 5)  # the encapsulation, then seconds and nanoseconds
    assert messages.ns_of(STAMP) == messages.stamp_in(header) == 3_000_000_005
    assert messages.stamp_in_tf(header[:4] + struct.pack("<IiI", 1, 3, 5)) == 3_000_000_005
    assert messages.stamp_in_tf(header + b"\0\0\0") == -1  # 15 bytes hold no transform


def test_pixels_have_padding_byte_order_and_channels() -> None:
    row = b"\x01\x02\x03\x04\x05\x06\xff"
    assert messages.rgb_of(image("rgb8", 2, 1, row)).tolist() == [[[1, 2, 3], [4, 5, 6]]]
    for encoding in ("bgr8", "8UC3"):
        assert messages.rgb_of(image(encoding, 2, 1, row)).tolist() == [[[3, 2, 1], [6, 5, 4]]]
    assert messages.rgb_of(image("bgra8", 1, 1, b"\x01\x02\x03\x04")).tolist() == [[[3, 2, 1]]]
    assert messages.rgb_of(image("mono8", 1, 1, b"\x07")).tolist() == [[[7, 7, 7]]]
    for big, data in ((0, b"\xdc\x05\x00\x00"), (1, b"\x05\xdc\x00\x00")):
        assert messages.depth_of(image("16UC1", 2, 1, data, big=big))[0] == pytest.approx([1.5, 0.0])
    assert messages.depth_of(image("16UC1", 1, 1, b"\xdc\x05"), 0.01)[0] == pytest.approx([15.0])
    assert messages.depth_of(image("32FC1", 1, 1, struct.pack("<f", 2.5)))[0] == pytest.approx([2.5])


@pytest.mark.parametrize(("bad", "complaint"), [
    (image("yuv", 1, 1, b"\0"), "'yuv' is not one of"), (image("mono8", 2, 1, b"\0\0", step=1), "in steps of 1"),
    (image("mono8", 1, 2, b"\0"), "has 1 bytes"), (image("mono8", 0, 1, b"\0"), "0x1 mono8 image")])
def test_images_that_do_not_fit_are_refused(bad: Message, complaint: str) -> None:
    with pytest.raises(BadFrame, match=complaint):
        messages.pixels_of(bad)


def test_hidden_pixels_and_padding_are_black() -> None:
    wide = image("16UC1", 2, 2, bytes(range(1, 11)), step=5)
    hidden = np.array([[True, False], [False, True]])
    assert messages.blacked_out(wide, hidden).tolist() == [0, 0, 3, 4, 0, 6, 7, 0, 0, 0]
    with pytest.raises(BadFrame, match="2x2 image cannot be hidden by a mask of 1x2 pixels"):
        messages.blacked_out(wide, hidden[:, :1])


def test_pixel_centres_count_from_a_half() -> None:
    info = Message(width=4, height=3, k=[2.0, 0.0, 1.5, 0.0, 2.5, 1.0, 0.0, 0.0, 1.0])
    assert messages.intrinsics_of(info) == (4, 3, 2.0, 2.5, 2.0, 1.5)
    for place, value in ((0, 0.0), (4, -1.0), (5, math.nan)):
        with pytest.raises(BadFrame, match="not calibrated"):
            messages.intrinsics_of(Message(width=4, height=3, k=[*info.k[:place], value, *info.k[place + 1:]]))


def cloud(count: int = 1, step: int = 16, size: int = 16, rgb_at: int = 12, **more: Any) -> Message:
    fields = [Message(name=name, offset=at, datatype=7) for name, at in (("x", 0), ("y", 4), ("z", 8), ("rgb", rgb_at))]
    data = (struct.pack("<fff", 1.0, 2.0, 3.0) + b"\x01\x02\x03\x00")[:size]
    return Message(fields=fields, point_step=step, width=count, height=1, row_step=step * count, data=data,
                   is_bigendian=False, **more)


def test_clouds_are_read_if_their_fields_fit() -> None:
    found = messages.cloud_of(cloud())
    assert found[0].tolist() == [[1.0, 2.0, 3.0]] and found[1].tolist() == [[3, 2, 1]]
    for bad in (cloud(count=2), cloud(size=15), cloud(rgb_at=13)):
        with pytest.raises(BadFrame, match="expected are x, y, z and rgb"):
            messages.cloud_of(bad)


def test_maps_and_stairs() -> None:
    info = Message(width=2, height=1, resolution=np.float32(0.1), origin=Message(position=point(1.0, 2.0, 0.5)))
    seen = Message(info=Message(width=2, height=1), data=[0, 1])
    grid = Message(header=Message(stamp=STAMP), info=info, data=[-1, 100])
    found = messages.grid_of(grid, seen)
    assert (found.stamp_ns, found.resolution_m, found.origin, found.z) == (3_000_000_005, 0.1, (1.0, 2.0), 0.5)
    assert found.cells.tolist() == [[-1, 100]] and found.explored.tolist() == [[False, True]]
    seen.info.width = 3
    assert not messages.grid_of(grid, seen).explored.any()
    ends = [Message(position=point(*at)) for at in ((0.0, 1.0, 0.0), (0.0, 4.0, 2.8))]
    assert messages.staircases_of(Message(poses=ends)) == (Staircase((0.0, 1.0, 0.0), (0.0, 4.0, 2.8)),)


def test_limits_of_drives_and_calls_are_0_or_more() -> None:
    corners = [point(0.0, 0.0), point(1.0, 0.0), point(1.0, 1.0)]
    drive = Message(limited=True, permitted=True, area=corners, steps=0.0, metres=2.5, seconds=math.inf)
    assert messages.allowance_of(drive) == Allowance(0.0, 2.5, math.inf, ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)), True)
    assert messages.allowance_of(Message(limited=False, permitted=False)) == FREE._replace(permitted=False)
    budget = Message(limited=True, calls=3.0, tokens=0.0, money=0.5)
    assert messages.budget_of(budget) == CallBudget(3.0, 0.0, 0.5)
    assert messages.budget_of(Message(limited=False)) == UNLIMITED
    for value in (-1.0, math.nan):
        with pytest.raises(BadQuestion, match=f"the limit of tokens is {value}: it must be 0 or more"):
            messages.budget_of(Message(limited=True, calls=3.0, tokens=value, money=0.5))


def test_options_have_a_weight_and_a_room_each() -> None:
    option = Message(position=point(1.0, 2.0), heading=0.5, kind="doorway", distance=3.0, room="", value=0.25)
    request = Message(options=[option], weights=[0.75], rooms=["kitchen"])
    assert messages.weighed_of(request) == [
        WeighedOption(Option(1.0, 2.0, 0.5, "doorway", 3.0, "", 0.25), 0.75, "kitchen")]
    assert messages.weighed_of(Message(options=[option], weights=[], rooms=[])) == []
    for rooms in ([], ["kitchen", "hall"]):
        with pytest.raises(BadQuestion, match=f"1 options have 1 weights and {len(rooms)} rooms"):
            messages.weighed_of(Message(options=[option], weights=[0.75], rooms=rooms))


@pytest.mark.parametrize(("said", "score"), [
    ([], 1.0), (["detector_score=0.25"], 0.25), (["detector_score=nan"], 0.0), (["detector_score=7"], 0.0),
    (["detector_score=-1"], 0.0), (["detector_score=high"], 0.0), (["detector_score="], 0.0)])
def test_a_score_that_is_no_share_counts_as_none(said: list[str], score: float) -> None:
    label = Message(instance_id=3, kind="cup", room="kitchen", attributes=["source=detector", "colour=red", *said])
    found = messages.label_table_of(Message(labels=[label]))[3]
    assert found.score == score and found.detected and found.attributes == {"colour": "red"}


def test_a_vector_is_no_attribute() -> None:
    label = Message(instance_id=3, kind="cup", room="", attributes=["detector_vector=eyes gQE=", "source=detector"])
    found = messages.label_table_of(Message(labels=[label]))[3]
    assert found.vector == "eyes gQE=" and found.attributes == {}
    label.attributes = ["detector_vector=eyes " + "gQE=" * 2500]
    assert messages.label_table_of(Message(labels=[label]))[3].vector == ""
