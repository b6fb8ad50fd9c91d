"""What a command needs before anything starts: the scene, ROS, and a model that answers to its name."""

from __future__ import annotations

from pathlib import Path

from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.config.run import PROCESS, RunConfig
from eqa_nodes.core.components import ANSWERERS, BACKENDS
from eqa_nodes.core.storage.paths import check_file
from eqa_nodes.models.cassette import recorded_calls
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.roles import role_configs
from sim_bridge.registry import check_simulator, is_scan, open_simulator


def check_chain(config: RunConfig, scene: str) -> None:
    """Raise EqaError for what would end an episode of this configuration before its first step."""
    check_scene(config, scene)  # first: it takes least, and a slip in its name is the most frequent mistake
    if config.through != PROCESS:
        from eqa_nodes.ros.environment import ensure_ros

        ensure_ros()
    check_answerer(config)


def check_scene(config: RunConfig, scene: str) -> None:
    """Raise EqaError for a scene that is not there, or lacks the labels that are to be read.

    Only the files of a scan are looked at: to load one takes long.
    """
    if is_scan(scene):
        from eqa_nodes.runners.scene_files import ScenePreflight

        if (error := ScenePreflight(config.settings.memory.reads_simulator).state(scene).error) is not None:
            raise error
        return
    check_simulator(scene)
    open_simulator(scene).close()


def check_answerer(config: RunConfig) -> None:
    """Raise EqaError where the answerer of a run cannot ask its model."""
    check_asks(config.settings.answerer)


def check_asks(own: AnswererSettings) -> None:
    """Raise EqaError where the answerer of a node's settings cannot ask its model, or that of a role."""
    if ANSWERERS.traits(own.answerer).asks_model:
        check_model(own.model)
        for role in role_configs(own.model, own.model_for).values():
            if role.model is not None:
                check_model(role.model)


def check_model(config: ModelConfig) -> None:
    """Raise EqaError for a model that could not be asked; one on this machine is not loaded for it.

    A cassette that holds replies may need no model: then nobody is asked.
    """
    if config.cassette:
        path = Path(config.cassette)
        if config.cassette_mode != "replay":
            check_file(path)
        if config.cassette_mode == "replay" or (config.cassette_mode == "auto" and recorded_calls(path)):
            return
    check = getattr(BACKENDS[config.backend], "check", None)
    if check is not None:
        check(config)
