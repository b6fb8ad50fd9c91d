"""Checks images against the camera settings of the graph: bag readers detect formats, live nodes need settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from eqa_nodes.core.camera.config import DISTORTED, PINHOLE, RECTIFIED, CameraConfig
from eqa_nodes.doctor.findings import Finding
from eqa_nodes.recordings.measure import Measured

_PACKED = {"color": "compressed", "depth": "compressed_depth"}  # role -> the setting that says so


def packed(role: str, camera: CameraConfig) -> bool:
    """Return whether the graph subscribes to the compressed topic of a role."""
    return role in _PACKED and bool(getattr(camera, _PACKED[role]))


def judge_transport(role: str, found: str, raw: bool, camera: CameraConfig) -> Finding | None:
    """Judge the images of a topic; None where they are what the graph expects."""
    if raw != packed(role, camera):
        return None
    expected = "compressed" if raw else "raw"
    return Finding(role, "error", found, f"the graph expects {expected} images: set node.camera.{_PACKED[role]}: "
                   f"{str(not raw).lower()}, or republish them (image_transport)")


def as_received(findings: Iterable[Finding], measured: Measured, camera: CameraConfig) -> Iterator[Finding]:
    """Yield the lines about images as they hold for a graph with these settings."""
    for finding in findings:
        judge = _JUDGES.get(finding.name)
        yield finding if judge is None else judge(finding, measured, camera)


def _registered(finding: Finding, measured: Measured, camera: CameraConfig) -> Finding:
    if finding.state == "ok":
        return finding
    if camera.align:
        return Finding(finding.name, "ok", f"{finding.found}: the graph aligns it")
    return finding._replace(remedy=f"{finding.remedy}, or set node.camera.align: true")


def _lens(finding: Finding, measured: Measured, camera: CameraConfig) -> Finding:
    bent = any(any(info.d) for info in measured.cameras.values())
    if finding.state != "ok" or not bent or camera.lens != PINHOLE:
        return finding
    return Finding(finding.name, "warning",
                   "camera_info reports lens distortion, and the graph expects rectified images",
                   f"set node.camera.lens: {DISTORTED}, or {RECTIFIED} where the driver has removed it")


def _sync(finding: Finding, measured: Measured, camera: CameraConfig) -> Finding:
    if finding.state == "ok":
        return finding
    return Finding(finding.name, finding.state, finding.found, "let the driver synchronise the streams and stamp both "
                   "from one clock, or set node.camera.tolerance_s")


_JUDGES: dict[str, Callable[[Finding, Measured, CameraConfig], Finding]] = {
    "registered": _registered, "lens": _lens, "sync": _sync}
