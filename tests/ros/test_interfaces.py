"""Types are looked up by names that have the form of one, since a peer or a bag may have made a name up."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: make setup, or source a ROS distribution")

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.ros.interfaces import interface


@pytest.mark.parametrize("name", ["../../etc/msg/passwd", "os/path/join", "std_msgs/msg/../../x", "/msg/", "a/msg/b/c",
                                  "std_msgs/msg/String\n", ""])
def test_a_name_that_is_no_type_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is not the name"):
        interface(name)
