"""Checks images against the camera settings of the graph: bag readers detect formats, live nodes need settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.camera.config import DISTORTED, PINHOLE, RECTIFIED, CameraConfig
from eqa_nodes.core.camera.image_geometry import calibration_of, distortion_of, same_view
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.findings import Finding
from eqa_nodes.recordings.bags.measure import Measured
from eqa_nodes.recordings.bags.reader import Bag
from eqa_nodes.recordings.bags.roles import rectified
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import OfferedQos

_PACKED = {"color": "compressed", "depth": "compressed_depth"}  # role -> its setting
_FEWEST = 3  # minimum number of images for which all count
_FEW = 0.05  # harmless share of images without a pose or a partner


def packed(role: str, camera: CameraConfig) -> bool:
    """Return whether the graph subscribes to the compressed topic of a role."""
    return role in _PACKED and bool(getattr(camera, _PACKED[role]))


def judge_transport(role: str, found: str, raw: bool, camera: CameraConfig) -> Finding | None:
    """Judge the images of a topic; None if they are what the graph expects."""
    if raw != packed(role, camera):
        return None
    expected = "compressed" if raw else "raw"
    return Finding(role, "error", found, f"the graph expects {expected} images: set node.camera.{_PACKED[role]}: "
                   f"{str(not raw).lower()}, or republish them (image_transport)")


def judge_images(bag: Bag, m: Measured, camera: CameraConfig) -> Iterator[Finding]:
    """Judge whether received images, camera_info and transforms form frames in a graph with these settings.

    For bags the reader does this check, without settings.
    """
    infos, color, depth = list(m.cameras.values()), m.samples["color"], m.samples["depth"]
    if infos:
        yield from _intrinsics(infos, color.sizes)
        yield _lens(bag, infos, camera)
    if color.sizes and depth.sizes:
        yield _registered(m, camera)
        yield _sync(m.stamps_ns["color"], m.stamps_ns["depth"], camera.tolerance_s)
    if m.where is not None and (total := m.resolved + m.unresolved.total()):
        share = m.resolved / total
        yield Finding("transforms", "ok" if share >= 1 - _FEW else "warning" if m.resolved else "error",
                      f"{share:.1%} of the images have a pose in {m.where.fixed!r}", next(iter(m.unresolved), ""))


def _intrinsics(infos: Sequence[Any], sizes: Collection[tuple[int, int]]) -> Iterator[Finding]:
    if sizes:
        infos = [next((c for w, h in sizes if (c := calibration_of(each, (h, w))) is not each), each) for each in infos]
    found = f"{infos[0].width}x{infos[0].height}, fx {infos[0].k[0]:.1f}, fy {infos[0].k[4]:.1f}"
    try:
        for each in infos:
            messages.intrinsics_of(each)
    except BadFrame as error:
        yield Finding("intrinsics", "error", str(error), "calibrate the camera, or load its calibration in the driver")
        return
    if sizes and any((each.width, each.height) not in sizes for each in infos):
        seen = ", ".join(f"{w}x{h}" for w, h in sizes)
        yield Finding("intrinsics", "error", f"{found}, but the images are {seen}",
                      "use the camera_info of the colour camera: --remap camera_info:=/its/topic")
    elif len(infos) == 1:  # several are reported in another line
        yield Finding("intrinsics", "ok", f"{found}, constant")


def _lens(bag: Bag, infos: Sequence[Any], camera: CameraConfig) -> Finding:
    try:
        lenses = [distortion_of(info, rectified(bag.topics)) for info in infos]
    except BadFrame as error:
        return Finding("lens", "error", str(error), "rectify images (image_proc) and name their topics")
    if any(any(info.d) for info in infos) and camera.lens == PINHOLE:
        return Finding("lens", "warning", "camera_info reports lens distortion, and the graph expects rectified images",
                       f"set node.camera.lens: {DISTORTED}, or {RECTIFIED} if the driver has removed it")
    bent = any(not lens.nothing for lens in lenses)
    return Finding("lens", "ok", f"{infos[0].distortion_model or 'a model'} is rectified on reading" if bent else
                   "images need no rectification")


def _registered(m: Measured, camera: CameraConfig) -> Finding:
    color, depth = (", ".join(f"{w}x{h}" for w, h in m.samples[role].sizes) for role in ("color", "depth"))
    scaled = f"; depth of {depth} is scaled to colour of {color}" if depth != color else ""
    if not all(same_view(d, c) for c in m.samples["color"].sizes for d in m.samples["depth"].sizes):
        found = f"depth is {depth}, colour {color}: they do not show the same view"
    elif m.unregistered:
        frames = [next(iter(m.samples[role].frames)) for role in ("depth", "color")]
        found = (f"depth is seen from {frames[0]!r}, colour from {frames[1]!r}: more than 1 cm apart in "
                 f"{m.unregistered} images")
    else:
        return Finding("registered", "ok", f"depth and colour have the same viewpoint{scaled}")
    if camera.align:
        return Finding("registered", "ok", f"{found}: the graph aligns it")
    return Finding("registered", "error", found, "use the depth that is registered to the colour camera "
                   "(aligned_depth_to_color, depth_registered), or set node.camera.align: true")


def _sync(color_ns: list[int], depth_ns: list[int], tolerance_s: float) -> Finding:
    """Judge the time between each colour image and the nearest depth image.

    The partners of the first and the last colour image may lie outside the recorded interval; if only that image lacks
    one, it is not counted.
    """
    color, depth = np.sort(np.array(color_ns, np.int64)), np.sort(np.array(depth_ns, np.int64))
    first, last = depth[0] - tolerance_s * 1e9, depth[-1] + tolerance_s * 1e9
    if len(color) > _FEWEST and color[0] < first <= color[1]:
        color = color[1:]
    if len(color) > _FEWEST and color[-2] <= last < color[-1]:
        color = color[:-1]
    after = np.searchsorted(depth, color).clip(1, max(len(depth) - 1, 1))
    nearest = np.minimum(abs(depth[after.clip(max=len(depth) - 1)] - color), abs(depth[after - 1] - color)) / 1e9
    share = float((nearest <= tolerance_s).mean())
    found = (f"{share:.1%} of the colour images have depth within {tolerance_s * 1e3:.0f} ms; median "
             f"{np.median(nearest) * 1e3:.1f} ms, at most {nearest.max() * 1e3:.1f} ms")
    if share >= 1 - _FEW:
        return Finding("sync", "ok", found)
    return Finding("sync", "warning" if share >= 0.5 else "error", found, "let the driver synchronise the streams and "
                   "stamp both from one clock, or set node.camera.tolerance_s")


_STATIC = "/tf_static"


class Endpoint(NamedTuple):
    """A publisher or a subscription of a topic: the name of its node, and the offered or requested QoS."""

    node: str
    offer: OfferedQos


class TopicEndpoints(NamedTuple):
    """All publishers and subscriptions of a topic, of one message type."""

    publishers: Sequence[Endpoint]
    subscriptions: Sequence[Endpoint]


def judge_qos(topics: Mapping[str, TopicEndpoints], graph: Collection[str]) -> Iterator[Finding]:
    """Name each subscriber that is incompatible with a publisher. graph: topics that the graph subscribes to."""
    found = [finding for topic, ends in sorted(topics.items()) for finding in _deaf(topic, ends, topic in graph)]
    found += [Finding("qos", "warning", f"{_STATIC}: {one.node} offers {one.offer}: nodes that start later never "
                                        "receive it",
                      "publish static transforms as tf2's StaticTransformBroadcaster does: transient local")
              for one in topics.get(_STATIC, TopicEndpoints((), ())).publishers if not one.offer.latched]
    yield from found or [Finding("qos", "ok", f"on {len(topics)} topics every subscription is compatible with every "
                                              "publisher")]


def _deaf(topic: str, ends: TopicEndpoints, graph: bool) -> Iterator[Finding]:
    asked: dict[str, list[OfferedQos]] = {}
    for end in ends.subscriptions:
        asked.setdefault(end.node, []).append(end.offer)
    for publisher in ends.publishers:
        for node, requests in asked.items():
            if not any(publisher.offer.meets(request) for request in requests):  # one compatible subscription is enough
                yield _named(topic, publisher, node, requests[0], graph)


def _named(topic: str, publisher: Endpoint, node: str, asked: OfferedQos, graph: bool) -> Finding:
    less = [word for word, missing in (("best effort", asked.reliable > publisher.offer.reliable),
                                       ("volatile", asked.latched > publisher.offer.latched)) if missing]
    more = {"best effort": "reliable", "volatile": "transient local"}
    return Finding(
        "qos", "error" if graph else "warning",
        f"{topic}: {node} asks for {asked}, {publisher.node} offers {publisher.offer}: it receives nothing",
        f"let {publisher.node} publish {' and '.join(more[word] for word in less)}, or {node} subscribe "
        f"{' and '.join(less)}")
