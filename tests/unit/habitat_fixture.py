"""Pickles of Habitat's agent states as the genuine classes would write them, without Habitat."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

HALF = 0.5 ** 0.5


class Slots:
    """How a class of attrs with slots pickles itself: a tuple with older attrs, a dict with newer."""

    as_dict = False
    names: tuple[str, ...] = ()

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __getstate__(self) -> Any:
        return dict(zip(self.names, self.values, strict=True)) if self.as_dict else self.values


class _Quaternion:
    def __init__(self, *wxyz: float) -> None:
        self.wxyz = wxyz

    def __reduce__(self) -> Any:
        return type(self), self.wxyz


def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put stand-ins where pickles look for the classes that they name; return habitat_sim.agent.agent's."""
    agent: Any = ModuleType("habitat_sim.agent.agent")
    quaternion: Any = ModuleType("quaternion")
    for module, name, base, names in ((agent, "AgentState", Slots, ("position", "rotation", "sensor_states")),
                                      (agent, "SixDOFPose", Slots, ("position", "rotation")),
                                      (quaternion, "quaternion", _Quaternion, ())):
        setattr(module, name, type(name, (base,), {"names": names, "__module__": module.__name__}))
    for name, module in (("habitat_sim", ModuleType("habitat_sim")), ("habitat_sim.agent", ModuleType("agent")),
                         ("habitat_sim.agent.agent", agent), ("quaternion", quaternion)):
        monkeypatch.setitem(sys.modules, name, module)
    agent.quaternion = quaternion.quaternion
    return agent


def state_value(habitat: Any, dtype: str = "<f4") -> dict[str, Any]:
    """What OpenEQA keeps in a file."""
    turn = habitat.quaternion(HALF, 0.0, HALF, 0.0)
    eye = habitat.SixDOFPose(np.array([1, 1.5, 3], dtype), turn)
    state = habitat.AgentState(np.array([1, 0.5, 3], dtype), turn, {"rgb": eye, "depth": eye})
    return {"agent_state": state, "scene_id": "00800-TEEsavR23oF", "resolution": (1080, 1920), "hfov": 90,
            "nested": {"left": "out"}}
