"""Takes the replies of persons for the agent: the service `reply`, of a type that ROS itself has.

A request names the inquiry by its `id` and the `option` by its number, as the topic `inquiry` has them.
"""

from __future__ import annotations

from typing import Any

from rclpy.parameter import Parameter, parameter_value_to_python

from eqa_nodes.core.agent.person import Replies
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.ros.node import EqaNode


class ReplyServer(Replies):
    """Serves `reply` for a node. Implements Person."""

    def __init__(self, node: EqaNode) -> None:
        super().__init__()
        node.serve("reply", self._on_reply)

    def _on_reply(self, request: Any, response: Any) -> Any:
        values = {p.name: parameter_value_to_python(p.value) for p in request.parameters}
        identity, option = values.get("id"), values.get("option")
        if not isinstance(identity, str) or isinstance(option, bool) or not isinstance(option, int):
            raise ConfigError("a reply has the parameters id, a string, and option, a whole number")
        self.reply(identity, option)
        response.result.successful = True
        return response


def reply_parameters(identity: str, option: int) -> list[Any]:
    """Return a reply as parameter messages."""
    return [Parameter("id", value=identity).to_parameter_msg(), Parameter("option", value=option).to_parameter_msg()]
