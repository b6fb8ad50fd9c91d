"""The formats of episode histories by name. docs/extending.md shows how a package adds one of its own.

A format is a class with two static methods: `fits(path) -> bool` looks whether a path is one of it, `open(path)`
returns the history. A format whose traits say `topics` is opened with a BagOptions or None as second argument.
"""

from __future__ import annotations

from eqa_nodes.core.registry import Registry
from eqa_nodes.core.traits import HistoryTraits

_HERE = "eqa_nodes.recordings"
HISTORIES = Registry("format of episode histories", "eqa_nodes.histories", {
    "7scenes": f"{_HERE}.seven_scenes:SevenScenesFormat",
    "bag": f"{_HERE}.history:BagFormat",
    "coda": f"{_HERE}.coda:CodaFormat",
    "images": f"{_HERE}.pictures:ImagesFormat",
    "openeqa": f"{_HERE}.openeqa_folder:OpenEqaFormat",
    "polycam": f"{_HERE}.polycam:PolycamFormat",
    "record3d": f"{_HERE}.record3d:Record3dFormat",
    "redwood": f"{_HERE}.rgbd_folder:RedwoodFormat",
    "rtabmap": f"{_HERE}.rtabmap:RtabmapFormat",
    "scannet": f"{_HERE}.scannet:ScanNetFormat",
    "sens": f"{_HERE}.scannet:SensFormat",
    "stray": f"{_HERE}.stray_scanner:StrayFormat",
    "tum": f"{_HERE}.tum:TumFormat",
    "video": f"{_HERE}.video_file:VideoFormat",
}, HistoryTraits())
