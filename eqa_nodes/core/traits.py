"""What a component states about itself, as the attribute `traits` of its class. docs/extending.md has examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eqa_nodes.core.types.robot import RobotModel


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Of every component.

    library: a module that it imports and that may be absent; extra: the pip extra of eqa-nodes that installs it.
    """

    library: str = ""
    extra: str = ""


@dataclass(frozen=True, kw_only=True)
class PolicyTraits(Traits):
    """Of an exploration policy.

    config: the dataclass of its parameters, which become `params.<name>.*` of the explorer; None = it has none.
    calls, steps: batches that a model is asked and atomic actions of a question, on average, from which the cost of a
    run is estimated; the built-in policies were measured in the test houses under moderate noise (docs/exploration.md).
    The defaults are those of `best`.
    """

    config: type | None = None
    calls: float = 13.2
    steps: float = 153.0


@dataclass(frozen=True, kw_only=True)
class AnswererTraits(Traits):
    """Of an answerer.

    labels: it reads what labels say of views (privileged where a simulator labels). captions: it has many views
    described before it answers, which takes long. asks_model: it needs a model. asks_memory: questions about the past
    are put to the memory of objects first. calibration, enough: the name or file of the calibration of its confidence,
    and the probability from which an answer ends the search; None = the agent's own settings.
    """

    labels: bool = False
    captions: bool = False
    asks_model: bool = False
    asks_memory: bool = False
    calibration: str = ""
    enough: float | None = None


@dataclass(frozen=True, kw_only=True)
class BackendTraits(Traits):
    """Of a model backend. labels: it reads the labels of the views behind its pictures, which memory has to keep."""

    labels: bool = False


@dataclass(frozen=True, kw_only=True)
class ReaderTraits(Traits):
    """Of a reader of a data set.

    robot: what drives unless the user names a robot: a name of sim_bridge/robots.py, or a robot of its own. splits:
    False = it has none. files: it reads a folder that the user names. task: the only one it is for (active, em or
    tasks), "" = active and em; command: the command line that runs it then, for messages. limits_poses: its questions
    have a limit of poses, so that no other one is needed.
    """

    robot: str | RobotModel = "default"
    splits: bool = True
    files: bool = True
    task: str = ""
    command: str = ""
    limits_poses: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgeTraits(Traits):
    """Of a judge. asks_model: it needs a model; False = it marks by rules, at once."""

    asks_model: bool = False


@dataclass(frozen=True, kw_only=True)
class SimulatorTraits(Traits):
    """Of a simulator. scans: it opens scanned scenes, which are files; any of those can stand in for another."""

    scans: bool = False


@dataclass(frozen=True, kw_only=True)
class DetectorTraits(Traits):
    """Of a detector. labels: it reads the simulator's labels (privileged)."""

    labels: bool = False


@dataclass(frozen=True, kw_only=True)
class HistoryTraits(Traits):
    """Of a format of episode histories.

    looks_like: what a path of this format is, for messages. topics: it has topics and frames to choose, so that
    `open` takes a BagOptions (or None) beside the path.
    """

    looks_like: str = ""
    topics: bool = False
