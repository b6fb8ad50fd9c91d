"""The navigator's drive ends with the episode that it was wanted in."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from typing import Any

import pytest

from eqa_nodes.core.errors import NavigationError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.nodes.navigator import NavigatorNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.remote import Service

_ACT = interface("eqa_interfaces/srv/Act")


def test_a_drive_of_an_episode_that_is_over_ends(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wanted the drive died; meanwhile another episode has begun, and the robot has taken no step in it."""
    node = ros.add(NavigatorNode)
    steps = iter((7, 8, 1))
    monkeypatch.setattr(Service, "call", lambda service, deadline_s, action: _ACT.Response(
        steps=next(steps), pose=convert.pose_msg(Pose2(1.0, 2.0, 0.0).transform())))
    node._request(_ACT.Request.STATUS)
    assert node._step(Action.MOVE_FORWARD).pose == Pose2(1.0, 2.0, 0.0)
    with pytest.raises(NavigationError, match="another episode has begun"):
        node._step(Action.MOVE_FORWARD)
