"""The memory node begins episodes after all that it keeps, also while the robot goes on seeing."""

from __future__ import annotations

from tests.ros import need_ros

need_ros()

from collections.abc import Callable
from pathlib import Path
from typing import Any

from eqa_interfaces.msg import Episode

from eqa_nodes import messages
from eqa_nodes.core.types.views import Frame
from eqa_nodes.nodes.memory import MemoryNode
from eqa_nodes.nodes.replay import ReplayNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.observation import Observations
from eqa_nodes.ros.remote import Remotes
from tests.unit.history_fixture import walk
from tests.waiting import WAIT_S, holds

UNWAIT_S = 0.5


class Robot:
    """Shows views to a memory that stays, and begins its episodes."""

    def __init__(self, ros: Any, folder: Path) -> None:
        self.memory = ros.add(MemoryNode, folder=str(folder))
        self._observations = Observations(ros.add(ReplayNode))
        self._reset = Remotes(ros.plain("agent")).service("reset_memory")

    def begin(self, name: str, stamp_ns: int) -> int:
        """Ask for an episode that keeps what is remembered; return the stamp that memory says it may begin with."""
        asked = Episode(header=convert.header(stamp_ns), episode_id=name, keep_memory=True)
        return messages.stamp_of(self._reset.call(WAIT_S, episode=asked).episode)

    def show(self, frame: Frame, seconds: float, done: Callable[[], bool] = lambda: False) -> bool:
        """Show a view again and again. Returns whether it was done within this time."""
        def shown() -> bool:
            self._observations.publish(frame, {})
            return done()

        return holds(shown, seconds)


def test_an_episode_that_must_begin_later_is_not_put_off_by_what_comes_meanwhile(ros: Any, tmp_path: Path) -> None:
    robot = Robot(ros, tmp_path)
    first, second, third = walk(3)
    assert robot.begin("monday", 0) == 0
    assert robot.show(first, WAIT_S, lambda: robot.memory.last_ns == first.stamp_ns)
    later = robot.begin("tuesday", first.stamp_ns - 1)
    assert later == first.stamp_ns + 1
    robot.show(second, UNWAIT_S)  # nobody has told the camera to wait
    assert robot.begin("tuesday", later) == later
    assert robot.show(third, WAIT_S, lambda: robot.memory.last_ns == third.stamp_ns)
