"""Creates exploration policies from their names and parameters."""

from __future__ import annotations

import re
from dataclasses import make_dataclass
from functools import cache
from typing import Any

from eqa_nodes.core.components import POLICIES
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.protocols import Policy
from eqa_nodes.core.settings import constant, group
from eqa_nodes.core.types.robot import RobotModel


def parameter_name(policy: str) -> str:
    """Return the name of a policy's parameters: "wall_follower" for "wall-follower", "Walls" for "package:Walls"."""
    return re.sub(r"\W", "_", policy.rpartition(":")[2])


def policy_parameters(policy: str = "") -> Any:
    """Return the default parameters of all listed policies, with an attribute for each policy that has parameters.

    Those of the built-in policies are constants, fixed by papers or measurements. policy: a further one, named
    "module:Class". A package's policy that cannot be imported has no parameters here: its error is raised when that
    policy is chosen.
    """
    others = (name for name in POLICIES if name not in POLICIES.builtin)
    return _parameters((*POLICIES.builtin, *others), policy if policy not in POLICIES else "")()


@cache
def _parameters(listed: tuple[str, ...], more: str) -> type:
    configs = {name: config for name in (*listed, more) if name and (config := _config(name, name == more))}
    return make_dataclass("PolicyParameters", [
        (parameter_name(name), config, constant(config()) if name in POLICIES.builtin else group(config))
        for name, config in configs.items()], frozen=True)


def _config(name: str, chosen: bool) -> type | None:
    try:
        return POLICIES.traits(name).config
    except ConfigError:
        if chosen or name in POLICIES.builtin:
            raise
        return None


def make_policy(name: str, params: Any = None, robot: RobotModel = RobotModel()) -> Policy:
    """Return the policy of this name for a robot.

    params: result of policy_parameters, None = defaults. Raises ConfigError for an unknown name, or a policy that
    cannot be imported.
    """
    made: Policy = POLICIES.make(name, getattr(params, parameter_name(name), None), robot)
    return made
