"""Properties that a component declares in the attribute `traits` of its class. docs/extending.md has examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eqa_nodes.core.types.robot import RobotModel


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Properties of any component.

    library: optional module that it imports; extra: the pip extra of eqa-nodes that installs it.
    """

    library: str = ""
    extra: str = ""


@dataclass(frozen=True, kw_only=True)
class PolicyTraits(Traits):
    """Properties of an exploration policy.

    config: the dataclass of its parameters, which become `params.<name>.*` of the explorer; None = it has none.
    calls, steps: mean number of batched model calls and of atomic actions per question, to estimate the cost of a run;
    the built-in policies were measured in the test houses under moderate noise (docs/exploration.md). The defaults are
    those of `best`.
    """

    config: type | None = None
    calls: float = 13.2
    steps: float = 153.0


@dataclass(frozen=True, kw_only=True)
class AnswererTraits(Traits):
    """Properties of an answerer.

    labels: it reads the labels of views (privileged if they are a simulator's). captions: it needs captions of many
    views before it answers, which takes long. asks_model: it needs a model. asks_memory: the memory of objects is asked
    first about the past. calibration, enough: name or file of the calibration of its confidence, and the probability
    at which an answer ends the search; None = the agent's own setting. detected_calibration, detected_enough: the same
    where a detector finds the objects; "" and None = no other.
    """

    labels: bool = False
    captions: bool = False
    asks_model: bool = False
    asks_memory: bool = False
    calibration: str = ""
    enough: float | None = None
    detected_calibration: str = ""
    detected_enough: float | None = None


@dataclass(frozen=True, kw_only=True)
class BackendTraits(Traits):
    """Properties of a model backend. labels: it reads the labels of the views in its pictures, so memory must keep
    them."""

    labels: bool = False


@dataclass(frozen=True, kw_only=True)
class ReaderTraits(Traits):
    """Properties of a reader of a data set.

    robot: default robot: a name of sim_bridge/robots.py, or a robot of its own. splits: whether it has splits. files:
    it reads a folder that the user names. task: its only task (active, em or tasks), "" = active and em; command: the
    command line that then runs it, for messages. judge: judge of its answers if none is named. limits_poses: its
    questions have a limit of poses, so that no other one is needed.
    """

    robot: str | RobotModel = "default"
    splits: bool = True
    files: bool = True
    task: str = ""
    command: str = ""
    judge: str = "offline"
    limits_poses: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgeTraits(Traits):
    """Properties of a judge. asks_model: it needs a model; False = it scores by rules, at once."""

    asks_model: bool = False


@dataclass(frozen=True, kw_only=True)
class SimulatorTraits(Traits):
    """Properties of a simulator. scans: it opens scanned scenes, which are files; any one can replace another."""

    scans: bool = False


@dataclass(frozen=True, kw_only=True)
class DetectorTraits(Traits):
    """Properties of a detector. labels: it reads the simulator's labels (privileged)."""

    labels: bool = False


@dataclass(frozen=True, kw_only=True)
class HistoryTraits(Traits):
    """Properties of a format of episode histories.

    looks_like: description of a path of this format, for messages. topics: it has topics and frames to choose, so that
    `open` takes a BagOptions (or None) in addition to the path.
    """

    looks_like: str = ""
    topics: bool = False
