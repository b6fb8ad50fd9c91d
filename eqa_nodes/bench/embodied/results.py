"""The result files of one task, in the form that EmbodiedEval's evaluator writes and its metrics.py reads."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from eqa_nodes.bench.embodied.files import record_of
from eqa_nodes.bench.embodied.loop import ERRORS, FAILED, StepLog, TaskOutcome
from eqa_nodes.bench.embodied.tasks import Task
from eqa_nodes.core.storage.codec import write_bytes, write_json
from eqa_nodes.core.types.views import Frame

IDLE = "idle"  # option 0 of every menu: options count from 1


def write_result(results: Path, task: Task, outcome: TaskOutcome, images: bool = False) -> Path:
    """Write the files of one task, and return their folder. Raises OSError.

    task.json holds the task, NNNNa.json each step, traj.json all steps in order, result.json how it ended, and NNNN.png
    each view if `images` is set.
    """
    folder = results / f"traj{task.index:04d}"
    write_json(folder / "task.json", {"task": task.text, "scene": {"task_instance": _instance(task)}})
    steps = list(step_records(outcome))
    for number, step in enumerate(steps):
        write_json(folder / f"{number:04d}a.json", step)
    write_json(folder / "traj.json", steps)
    for number, frame in enumerate(outcome.frames if images else ()):
        write_bytes(folder / f"{number:04d}.png", _png(frame))
    ended = "success" if outcome.done else "failed"
    write_json(folder / "result.json", {"result": ended, "steps_taken": len(outcome.steps)})
    return folder


def step_records(outcome: TaskOutcome) -> Iterator[dict[str, Any]]:
    """Yield the record of each step.

    action_choice counts from 1 (0 is IDLE); -1: the reply has no number, -2: it is out of range. feedback is empty for
    moves, answers and unusable replies; of an interaction it is "failed", or "success" and what was said after it.
    reason: why an interaction or a move failed.
    """
    for log in outcome.steps:
        error = ERRORS.get(log.action_choice, "")
        yield {"step": log.step, "options": [IDLE, *log.options], "action_choice": log.action_choice,
               "action": None if error else log.action, "response": log.response, "thought": log.thought,
               "feedback": _feedback(log), "predicates_done": list(log.predicates_done),
               "done_after_action": log.done_after_action, "info_after_action": {"reason": _reason(log)},
               **({"action_error": error} if error else {})}


def _feedback(log: StepLog) -> str:
    if not log.interaction:
        return ""
    return FAILED if log.feedback.startswith(FAILED) else log.feedback


def _reason(log: StepLog) -> str:
    return log.unusable or (log.feedback.partition(": ")[2] if log.feedback.startswith(FAILED) else "")


def _instance(task: Task) -> dict[str, Any]:
    """Return the task's file with answers as the menu shows them."""
    record = record_of(task)
    for option, written in zip(task.options, record["options"], strict=True):
        written["option_text"] = option.shown
    for predicate in record["predicates"]:
        if "right_answer_content" in predicate:
            predicate["right_answer_content"] = f'answer "{predicate["right_answer_content"]}"'
    return record


def _png(frame: Frame) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(frame.rgb).save(buffer, "PNG")
    return buffer.getvalue()
