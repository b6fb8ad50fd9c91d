"""A small invented run, for tests of scores and report: a flat, two questions answered, one abstained, two failed."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.bench.metrics.scores import Row, read_scores
from eqa_nodes.bench.running.runner import EpisodeResult, run_benchmark
from eqa_nodes.bench.running.scripted import ScriptedRunner
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.errors import NavigationError
from eqa_nodes.core.types.floor import Candidate, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Evidence, Receipt
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision
from eqa_nodes.core.types.views import Keyframe, Label, Sighting

RESOLUTION_M = 0.1
WALLS = ((0, 0, 9, 0), (0, 6, 9, 6), (0, 0, 0, 6), (9, 0, 9, 6), (4, 0, 4, 2.2), (4, 3.4, 4, 6), (4, 4, 6, 4),
         (7.2, 4, 9, 4))
WAY = ((1.0, 1.0), (2.8, 1.3), (3.4, 2.8), (5.0, 2.8), (6.6, 2.2), (6.6, 3.9), (7.2, 4.9))
VIEWS = ("hallway", "living room", "living room", "kitchen", "kitchen", "study", "study", "study")


def jpeg(seed: int, name: str) -> bytes:
    """Return a painted view of a room, 640 x 480."""
    hue = (seed * 53) % 256
    image = Image.new("RGB", (640, 480), (226, 222 - hue % 40, 210))
    draw = ImageDraw.Draw(image)
    draw.polygon([(0, 480), (180, 300), (470, 300), (640, 480)], fill=(150 + hue % 60, 120, 95))
    draw.rectangle([180, 90, 470, 300], fill=(205, 214, 200 + hue % 40))
    draw.rectangle([250, 120, 330, 200], fill=(170, 205, 240), outline=(250, 250, 250), width=6)
    draw.rectangle([360, 240, 520, 350], fill=(120, 60 + hue % 120, 70), outline=(60, 40, 40))
    draw.text((20, 20), name, fill=(60, 60, 60))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def grid() -> GridMap:
    """Return the robot's map of the flat: the far room is not seen, one corner seen but not explored."""
    cells = np.full((70, 100), -1, np.int8)
    cells[5:65, 5:95] = 0
    for x0, y0, x1, y1 in WALLS:
        rows = slice(round(y0 / RESOLUTION_M) + 5, round(y1 / RESOLUTION_M) + 7)
        cells[rows, round(x0 / RESOLUTION_M) + 5:round(x1 / RESOLUTION_M) + 7] = 100
    cells[47:64, 7:44] = -1
    cells[20:26, 20:32] = 100
    explored = (cells == 0) & (np.arange(100)[None, :] < 82)
    return GridMap(9_000_000_000, RESOLUTION_M, (-0.5, -0.5), cells, explored)


def path() -> list[tuple[int, Pose2]]:
    """Return stamped poses along WAY, 0.25 m apart."""
    poses, stamp = [], 0
    for (ax, ay), (bx, by) in pairwise(WAY):
        n = math.ceil(math.dist((ax, ay), (bx, by)) / 0.25)
        for k in range(n):
            poses.append((stamp, Pose2(ax + (bx - ax) * k / n, ay + (by - ay) * k / n, math.atan2(by - ay, bx - ax))))
            stamp += 500_000_000
    return poses


def trace(question: str, answer: Answer | None) -> EpisodeTrace:
    """Return a whole episode."""
    poses = path()
    at = [poses[round(k * (len(poses) - 1) / (len(VIEWS) - 1))] for k in range(len(VIEWS))]
    desk = Sighting(Label(5, "desk", "study", {"color": "green"}), 17_600, (360, 240, 520, 350), (7.5, 5.5, 0.4),
                    (1.2, 0.6, 0.8))
    keyframes = [Keyframe(k, stamp, pose.transform(), jpeg(k, name), (desk,), region=name)
                 for k, ((stamp, pose), name) in enumerate(zip(at, VIEWS, strict=True))]
    goals = [Pose2(*WAY[2], 0.8), Pose2(*WAY[4], 0.0), Pose2(*WAY[6], 1.2)]
    reasons = ["largest frontier nearby (2.1 m wide, 2.4 m away)", "a kitchen may have a cup: door seen to the east",
               "a desk is in view"]
    frontiers = [(Frontier(3.9, 2.8, 0.0, 1.2),), (Frontier(8.6, 2.0, 0.0, 1.1), Frontier(6.6, 4.0, 1.57, 1.2)),
                 (Frontier(8.3, 1.2, 0.0, 1.5), Frontier(2.0, 4.6, 1.57, 1.4))]
    decisions = [TraceDecision(*poses[10 * k], goal, reason, (Candidate(goal.x, goal.y, 1.0, "f"),), fs)
                 for k, (goal, reason, fs) in enumerate(zip(goals, reasons, frontiers, strict=True))]
    return EpisodeTrace(question, poses, decisions, keyframes, grid=grid(), answer=answer)


def samples() -> list[Sample]:
    """Return five questions."""
    start, target = Pose2(1.0, 1.0, 0.0), (7.4, 5.2)
    rows = [("Where is the blue cup?", "on the desk in the study", "object localization"),
            ("How many chairs are around the table?", "four", "spatial understanding"),
            ("Is the lamp in the bedroom on?", "yes", "object state recognition"),
            ("What color is the sofa?", "dark green", "attribute recognition"),
            ("What is <b>under</b> the stairs?", "a bike", "object recognition")]
    return [Sample(f"q-{n}", question, answer, ("in the study on the desk",) if n == 1 else (), category, "house:7",
                   start, target, 30, 8.0) for n, (question, answer, category) in enumerate(rows, 1)]


def answers() -> dict[str, EpisodeResult | Exception]:
    """Return what the scripted robot does."""
    end = path()[-1][1]
    proof = (Evidence(6, trace("", None).keyframes[6].stamp_ns, end, "cup, desk"),)
    receipt = Receipt(40, 10.0, 12.5, 3, 1200, 40, ("LabelAnswerer",))
    cup = Answer("on the desk", 0.82, evidence=proof, receipt=receipt)
    chairs = Answer("There are 4 chairs", 0.9, evidence=proof, receipt=receipt)
    unsure = Answer(abstained=True, message="no lamp was found", confidence=0.1, receipt=receipt)
    seen = replace(trace("Where is the blue cup?", cup), view=jpeg(9, "study"))  # the others keep no last view
    return {"q-1": EpisodeResult("q-1", cup, end, seen),
            "q-2": EpisodeResult("q-2", chairs, end, trace("How many chairs?", chairs)),
            "q-3": EpisodeResult("q-3", unsure, end, trace("Is the lamp on?", unsure)),
            "q-4": NavigationError("5 drives in a row did not move the robot"),
            "q-5": ZeroDivisionError("division by zero")}


def scripted() -> ScriptedRunner:
    """Return a runner that plays the run."""
    return ScriptedRunner(answers(), {"q-1": Answer("in the kitchen"), "q-2": Answer("four"), "q-3": Answer("yes")})


def make_run(out: Path) -> Path:
    """Play pass 1 into a directory and return it."""
    run_benchmark(samples(), scripted(), out, dataset="house", config={"policy": "frontier"})
    return out


def plain(n: int) -> tuple[list[Sample], ScriptedRunner]:
    """Return n questions, and a runner that answers each with a cup."""
    asked = [Sample(f"q{i}", "What is it?", "a cup", start=Pose2(0, 0, 0), target=(1.0, 0.0), reference_steps=4,
                    reference_metres=1.0) for i in range(n)]
    return asked, ScriptedRunner({s.id: EpisodeResult(s.id, Answer("a cup", 0.9)) for s in asked})


@dataclass
class FakeFacts:
    """Distances by a rule, and one grounding mark for every view."""

    distance: Callable[[tuple[float, ...], tuple[float, ...]], float]
    delta: float | None = None

    def geodesic(self, scene: str, a: tuple[float, ...], b: tuple[float, ...]) -> float:
        return self.distance(a, b)

    def grounding(self, scene: str, targets: Sequence[int], pose: Pose2) -> float | None:
        return self.delta


def overall(out: Path) -> Row:
    """Return the first row of a run's scores."""
    return read_scores(out).rows[0]
