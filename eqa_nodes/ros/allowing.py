"""Sends the remaining budget of a drive or a model call ahead of it; goals and requests have no field for it.

Both services are of a type that ROS itself has (rcl_interfaces/srv/SetParametersAtomically): names with values, and a
reply that says why they were refused. A goal is identified by its id, a request to the answerer by its question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rclpy.parameter import Parameter, parameter_value_to_python

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ledger import BOTTOMLESS, CallBudget, budget_left
from eqa_nodes.core.mapping.area import check_area
from eqa_nodes.core.types.floor import FREE, Allowance
from eqa_nodes.ros.node import EqaNode

_KEPT = 100  # most allowances that wait for their goal; the oldest are dropped
_DRIVE, _SPEND = ("steps", "metres", "seconds"), ("calls", "tokens", "money")


def drive_parameters(goal_id: Any, allowance: Allowance) -> list[Any]:
    """Return the allowance of a goal as parameter messages."""
    corners = {"area": [float(v) for corner in allowance.area for v in corner]} if allowance.area else {}
    permitted = {"permitted": True} if allowance.permitted else {}
    return _messages({"id": bytes(goal_id.uuid).hex(), **_finite(allowance, _DRIVE), **corners, **permitted})


def spending_parameters(question_id: str, question: str) -> list[Any]:
    """Return the budget that applies to this call as parameter messages; [] where there is no limit."""
    purse = budget_left()
    return [] if purse == BOTTOMLESS else _messages({"id": _key(question_id, question), **_finite(purse, _SPEND)})


class Allowances:
    """Serves one of the two services for a node, and keeps each allowance until the node asks for it, once."""

    def __init__(self, node: EqaNode, key: str) -> None:
        self._allowances: dict[str, Mapping[str, Any]] = {}
        self._names = (*_DRIVE, "area", "permitted") if key == "allow_drive" else _SPEND
        node.serve(key, self._on_allow)

    def of_goal(self, handle: Any) -> Allowance:
        """Return what a goal may use; FREE where no allowance was sent for it."""
        values = dict(self._allowances.pop(bytes(handle.goal_id.uuid).hex(), {}))
        area = values.pop("area", ())
        return FREE._replace(**values, area=tuple(zip(area[::2], area[1::2])))

    def of_request(self, request: Any) -> CallBudget:
        """Return what the answer to a request may cost; BOTTOMLESS where no allowance was sent for it."""
        return BOTTOMLESS._replace(**self._allowances.pop(_key(request.question.id, request.question.text), {}))

    def _on_allow(self, request: Any, response: Any) -> Any:
        values = {p.name: parameter_value_to_python(p.value) for p in request.parameters}
        identity = values.pop("id", "")
        if not isinstance(identity, str) or not identity:
            raise ConfigError("an allowance without the id of what it is for")
        for name, value in values.items():
            self._check(name, value)
        while len(self._allowances) >= _KEPT:
            self._allowances.pop(next(iter(self._allowances)))
        self._allowances[identity] = values
        response.result.successful = True
        return response

    def _check(self, name: str, value: Any) -> None:
        """Raise ConfigError, or BadQuestion for an area, for a value that is not a valid limit."""
        if name not in self._names:
            raise ConfigError(unknown("limit", name, self._names))
        if name == "area":
            if not isinstance(value, Sequence) or len(value) % 2:
                raise ConfigError(f"the area is {value!r:.80}: expected x and y of each corner in one list")
            check_area(tuple(zip(value[::2], value[1::2])))
        elif name == "permitted":
            if not isinstance(value, bool):
                raise ConfigError(f"permitted is {value!r:.80}: expected true or false")
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise ConfigError(f"{name} is {value!r:.80}: expected a number, 0 or more")


def _finite(values: Any, names: Sequence[str]) -> dict[str, float]:
    return {name: float(getattr(values, name)) for name in names if getattr(values, name) < math.inf}


def _messages(values: Mapping[str, Any]) -> list[Any]:
    return [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]


def _key(question_id: str, question: str) -> str:
    return f"{question_id}\n{question}"
