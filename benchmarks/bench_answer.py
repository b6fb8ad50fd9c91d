"""An answer out of memory, asked through the graph: nobody drives and no model is asked."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eqa_nodes.config.graph import merged, of_robot
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.runner import RunningGraph

SCENE, TURNS, ASKED, WARM_UP = "house:3", 12, 20, 4
WANTED_MS = 300
FORMS = {"of the past": "When did you last see the {}?",
         "of views, by rules over labels": "Is there a {} in the house?"}


def rows() -> list[dict[str, object]]:
    """Return one row a form of question, beside one recall through the same graph."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"memory": {"labels": True, "folder": f"{folder}/memory"}, "recorder": {"folder": f"{folder}/bags"}}
        with RunningGraph(Path(folder), merged(None, of_robot(RobotModel()), own), isolate=True) as graph, \
                GraphClient(graph.environment) as client:
            client.reset(SCENE, "answer", None, 0)
            for _ in range(TURNS):
                client.services["act"].call(60.0, action=int(Action.TURN_LEFT))
            return _rows(client)


def _rows(client: GraphClient) -> list[dict[str, object]]:
    recall = client.services["recall"]
    views = recall.call(60.0, in_order=True).keyframes
    thing = Counter(s.label.kind for view in views for s in view.sightings).most_common(1)[0][0]
    once, _ = _times_ms(lambda: recall.call(60.0, text=thing, limit=8))
    result: list[dict[str, object]] = []
    for form, words in FORMS.items():
        median, worst = _times_ms(lambda words=words: _answered(client, words.format(thing)))  # type: ignore[misc]
        result.append({"name": f"answer from memory, {form}", "median_ms": round(median, 1),
                       "baseline": f"one recall, {once:.1f} ms", "ratio": round(median / once, 2),
                       "note": f"through the graph, a process a node; worst of {ASKED} {worst:.0f} ms, {len(views)} "
                               f"views (wanted: {WANTED_MS} ms)"})
    return result


def _answered(client: GraphClient, text: str) -> None:
    answer = client.ask(Question(text, may_explore=False))
    if answer.abstained or answer.error:
        raise RuntimeError(f"{text!r} was not answered: {answer.message}")


def _times_ms(work: Callable[[], Any]) -> tuple[float, float]:
    """Return median and worst of ASKED."""
    times = []
    for _ in range(WARM_UP + ASKED):
        begin = time.perf_counter()
        work()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times[WARM_UP:]), max(times[WARM_UP:])
