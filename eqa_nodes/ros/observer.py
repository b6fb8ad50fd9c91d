"""Base of the nodes that take in observations: episodes, frames in order, and the acknowledgement of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from eqa_nodes import messages
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.types import Frame, Label
from eqa_nodes.graph import LABELS, TOPICS
from eqa_nodes.ros import convert
from eqa_nodes.ros.frames import PENDING, FrameAssembler
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.tf_buffer import TfBuffer


class EpisodeNode(EqaNode):
    """Knows the running episode: reset by service, or by the latched topic when the node started late.

    Observations are taken in only within an episode, and never from before its first stamp.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.episode: Any = None
        self.starts_ns = 0
        self.last_ns = -1
        self._taken = self.create_publisher(convert.Header, TOPICS["taken"].name, qos("event"))
        self.serve(f"reset_{name}", self._reset)
        self._subscribe("episode", self._late)

    def begin(self, episode: Any, late: bool) -> None:
        """Begin an episode (eqa_interfaces/Episode); late: it is running already. An empty id ends the last one."""
        raise NotImplementedError

    def not_before(self, episode: Any) -> int:
        """Return the first stamp in ns that an episode may begin with; an earlier one is told so and not begun."""
        return 0

    def again(self) -> None:
        """Publish once more what was derived from the last observation (it was asked for again)."""

    def taken(self, stamp_ns: int) -> None:
        """Say that this observation has been taken in, or refused for good."""
        self._taken.publish(convert.header(stamp_ns, self.get_name()))

    def _reset(self, request: Any, response: Any) -> Any:
        response.episode = request.episode
        first_ns = self.not_before(request.episode)
        if messages.stamp_of(request.episode) < first_ns:
            response.episode.header = convert.header(first_ns)
        else:
            self._begin(request.episode, late=False)
        return response

    def _late(self, episode: Any) -> None:
        if self.episode is None:
            try:
                self._begin(episode, late=True)
            except EqaError as error:
                self.count(str(error))

    def _begin(self, episode: Any, late: bool) -> None:
        self.starts_ns, self.last_ns = messages.ns_of(episode.header.stamp), -1
        self.begin(episode, late)
        self.episode = episode if episode.episode_id else None


class ObserverNode(EpisodeNode):
    """Takes in frames one by one: `take` gets each observation of the episode once, in order."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        labels, source = getattr(self.config, "labels", False), getattr(self.config, "labels_from", "simulator")
        detected = labels and source == "detector"  # then every observation has a table of its own
        self.tf = TfBuffer()
        parts = self.spec.frames + ("labels",) * labels + ("label_table",) * detected
        self.frames = FrameAssembler(parts, self.tf, self._frame, getattr(self.config, "pending", PENDING))
        self.frames.rejected = self._rejected
        topics = dict(zip(LABELS["simulator"], LABELS[source], strict=True))
        for part in parts:
            self.hear(topics.get(part, part), partial(self._put, part))
        if labels and not detected:
            self.hear("label_table", self.frames.put_table)
        self._subscribe("tf", lambda message: self._transforms(message, static=False))
        self._subscribe("tf_static", lambda message: self._transforms(message, static=True))

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        """Take in one observation. An EqaError refuses it; it is counted."""
        raise NotImplementedError

    def _put(self, part: str, message: Any) -> None:
        stamp = messages.ns_of(message.header.stamp)
        if self.episode is None or stamp < self.starts_ns:
            return
        if stamp == self.last_ns:
            if part == "depth":
                self._repeat(stamp)
            return
        if stamp < self.last_ns:
            self.count("observation from the past")
            return
        self.frames.put(part, message)

    def _repeat(self, stamp_ns: int) -> None:
        try:
            self.again()
        except EqaError as error:
            self.count(str(error))
        self.taken(stamp_ns)

    def _transforms(self, message: Any, static: bool) -> None:
        for reason in self.frames.put_transforms(message, static):
            self.count(reason)

    def _frame(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        self.last_ns = frame.stamp_ns
        try:
            self.take(frame, labels)
        except EqaError as error:
            self.count(str(error))
        self.taken(frame.stamp_ns)

    def _rejected(self, stamp_ns: int, reason: str) -> None:
        self.count(reason)
        self.taken(stamp_ns)
