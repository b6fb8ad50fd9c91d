"""Names of the entities of a recording, and how a viewer lays them out.

Entities below MAP are in the map frame; their parts map, base_link and camera are the frames of REP 105.
"""

from __future__ import annotations

from typing import Any

from eqa_nodes.viewing.library import rerun
from eqa_nodes.viewing.rrd_file import STEP

MAP = "map"
BASE = f"{MAP}/base_link"
CAMERA = f"{BASE}/camera"
COLOR, DEPTH = f"{CAMERA}/color", f"{CAMERA}/depth"
PATH = f"{MAP}/path"
SURFACE = f"{MAP}/surface"
OCCUPANCY = f"{MAP}/occupancy"
FRONTIERS = f"{MAP}/frontiers"
OBJECTS = f"{MAP}/objects"
CANDIDATES, GOAL = f"{MAP}/decision/candidates", f"{MAP}/decision/goal"
SEEN_FROM = f"{MAP}/evidence"
QUESTION, DECISION, MODEL_CALL, EVIDENCE = "question", "decision", "model_call", "evidence"
LOG = "log"


def layout(middle: tuple[float, float, float], span_m: float) -> Any:
    """Return the blueprint: the place in 3D and from above, camera and depth, texts, and the panel of times.

    middle: of the path, metres, map frame; span_m: its longer side from above.
    """
    rerun()
    import rerun.blueprint as rrb

    x, y, z = middle
    far_m = max(span_m, 4.0) + 6.0  # what was seen reaches beyond the path
    above = rrb.EyeControls3D(position=(x, y - 0.01, z + 1.2 * far_m), look_target=middle, eye_up=(0.0, 1.0, 0.0))
    aslant = rrb.EyeControls3D(position=(x - 0.3 * far_m, y - 0.7 * far_m, z + 0.8 * far_m), look_target=middle,
                               eye_up=(0.0, 0.0, 1.0))
    places = rrb.Vertical(
        rrb.Spatial3DView(origin=MAP, name="Place", eye_controls=aslant, contents=["$origin/**", f"- {DEPTH}"]),
        rrb.Spatial3DView(origin=MAP, name="Map from above", eye_controls=above, contents=[
            "$origin/**", f"- {SURFACE}", f"- {DEPTH}", f"- {COLOR}"]))
    pictures = rrb.Vertical(
        rrb.Spatial2DView(origin=CAMERA, name="Camera", contents=[COLOR]),
        rrb.Spatial2DView(origin=CAMERA, name="Depth", contents=[DEPTH]),
        rrb.Spatial2DView(origin=EVIDENCE, name="Evidence"))
    texts = rrb.Vertical(
        rrb.TextDocumentView(origin=QUESTION, name="Question and answer"),
        rrb.Tabs(rrb.TextDocumentView(origin=DECISION, name="Decision"),
                 rrb.TextDocumentView(origin=MODEL_CALL, name="Model call")),
        rrb.TextLogView(origin=LOG, name="Log"))
    return rrb.Blueprint(rrb.Horizontal(places, pictures, texts, column_shares=[5, 3, 4]),
                         rrb.BlueprintPanel(state="collapsed"), rrb.SelectionPanel(state="collapsed"),
                         rrb.TimePanel(state="expanded", timeline=STEP), auto_views=False, auto_layout=False)
