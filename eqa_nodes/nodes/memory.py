"""Stores keyframes and objects of frames on disk; recalls them by text, time and place; recollects; forgets."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from eqa_nodes.config.nodes import MemorySettings
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.embedding import make_embedder
from eqa_nodes.core.memory.forgetting import ForgetSelection, within
from eqa_nodes.core.memory.times import WALL_NS
from eqa_nodes.core.observing import EpisodicMemory
from eqa_nodes.core.types.questions import Recalled, RecallQuery
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception import open_texts
from eqa_nodes.ros import convert
from eqa_nodes.ros.diagnostics import StatusReport
from eqa_nodes.ros.observer import ObserverNode
from eqa_nodes.ros.process import run_node
from eqa_nodes.ros.rates import OK, FlowStatus
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS


class MemoryNode(ObserverNode[MemorySettings]):
    """Owns the memory file; acknowledges an observation only when its keyframe is durable."""

    row = "memory"

    def configure(self) -> None:
        super().configure()
        self.store: MemoryStore | None = None
        self.texts = open_texts(self.config.text)
        self.memory: EpisodicMemory | None = None  # of the episode, over the store
        self._believed_ns = -1  # the stamp of the newest processed frame
        self.serve("recall", self._recall)
        self.serve("recollect", self._recollect)
        self.serve("keep_view", self._keep)
        self.serve("forget", self._forget)
        self.diagnostics.add("relocalisation", self._relocalisation)
        self.out("keyframes")  # subscribers discover the topic before the first view
        self.out("watch_events")

    def prepare(self) -> None:
        if (embedder := make_embedder(self.config.memory.embedder)) is not None:
            embedder.embed(["ready"])  # loads its vectors

    def release(self) -> None:
        if self.store is not None:
            self.store.close()

    def begin(self, episode: Any, late: bool) -> None:
        self._believed_ns = -1
        if self.store is not None and not self._keeps(episode):
            self.store.close()
            self.store = self.memory = None
        self._open(episode.episode_id)
        self.memory = None
        if self.store is not None:
            self.memory = EpisodicMemory(self.store, tell=self._tell)
            self.memory.stored = lambda keyframe: self.send("keyframes", convert.keyframe_msg(keyframe))
            later = self.store.set_now(self._clock_ns())
            if later:
                self.count(f"memory {self.store.path} holds {later} views that are stamped after now, and are not "
                           "believed: if a clock was wrong, eqa memory forget FILE --when 'the future'")
            if late or self._keeps(episode):
                self._publish_events()
        if self.store is None or (late and self._goes_on(self.store, episode.episode_id)):
            return
        self.store.reset(episode.episode_id, late or self._keeps(episode), episode.map_name)
        if episode.known_map:
            self.store.align(episode.map_name or episode.episode_id, episode.known_map,
                             messages.pose_of(episode.known_from_map))

    def reconfigured(self, old: MemorySettings, new: MemorySettings) -> None:
        if self.store is not None:
            self.store.configure(new.memory)

    def not_before(self, episode: Any) -> int:
        """Return the first stamp after all stored ones if memory is kept and the clock is a simulator's, else 0.

        A simulator's clock restarts with each process, but "last seen" needs increasing stamps. Wall time is kept.
        """
        if not self._keeps(episode) or messages.stamp_of(episode) >= WALL_NS:
            return 0
        self._open(episode.episode_id)
        return self.store.newest_ns + 1 if self.store is not None and len(self.store) else 0

    def _keeps(self, episode: Any) -> bool:
        """Return whether earlier memories are kept: always if one file is configured for all episodes."""
        return bool(episode.keep_memory or self.config.file)

    def set_back(self, stamp_ns: int) -> None:
        self._interrupt()

    def relocated(self) -> str:
        self._interrupt()
        return "a new session of memory begins"

    def _interrupt(self) -> None:
        """Begin another session of the episode in the same map: later views belong to another walk."""
        self._believed_ns = -1
        if self.memory is not None:
            self.memory.relocaliser.begin()
        if self.store is not None:
            self.store.reset(self.episode.episode_id, True, self.episode.map_name)

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        memory = self._remembering()
        memory.take(frame, labels)
        self._believed_ns = frame.stamp_ns
        self._publish_events()

    def _publish_events(self) -> None:
        """Publish the events of watches that are not marked as published, and mark each one.

        An event is published once, but if the node dies before it is marked: then it is published again.
        """
        assert self.store is not None
        for event in self.store.events_to_publish():
            if not self.send("watch_events", convert.watch_event_msg(event)):
                break  # it is tried again after the next look
            self.store.mark_published(event.id)

    def _open(self, episode_id: str) -> None:
        if episode_id and self.store is None:
            self.store = MemoryStore(self.config.path_of(episode_id), self.config.memory, texts=self.texts)

    def _recall(self, request: Any, response: Any) -> Any:
        memory = self._remembering()
        items = [Recalled(k, 0.0, "") for k in memory.since(request.since_keyframe)] if request.in_order else (
            memory.recall(_query(request)))
        response.keyframes = [convert.keyframe_msg(item.keyframe) for item in items]
        response.scores = [float(item.score) for item in items]
        response.reasons = [item.why for item in items]
        return response

    def _recollect(self, request: Any, response: Any) -> Any:
        recollection = self._remembering().recollect(request.question)
        if recollection is not None:
            response.found, response.text, response.confidence = True, recollection.text, recollection.confidence
            response.verify = recollection.verify
            response.evidence = [convert.evidence_msg(e) for e in recollection.evidence]
        return response

    def _keep(self, request: Any, response: Any) -> Any:
        self._remembering().keep()
        self._publish_events()
        response.success = True
        return response

    def _forget(self, request: Any, response: Any) -> Any:
        near = (request.near.x, request.near.y, request.radius) if request.use_near else None
        selection = ForgetSelection(request.region, request.kind, near, messages.ns_of(request.after),
                                    messages.ns_of(request.before), request.everything)
        memory = self._remembering()
        memory.relocaliser.drop()
        forgotten = memory.store.forget(within(selection, request.when, memory.store.now_ns))
        response.keyframes, response.objects = forgotten
        if response.keyframes:
            self.recreate_publisher("keyframes")  # otherwise late subscribers would receive forgotten views
        self.recreate_publisher("watch_events")
        return response

    @staticmethod
    def _goes_on(store: MemoryStore, episode_id: str) -> bool:
        """Return whether the file's last session is of this episode: then this node was restarted during it."""
        sessions = store.sessions()
        return bool(sessions) and sessions[-1][0] == episode_id

    def _tell(self, text: str) -> None:
        """Log that the map was recognised."""
        self.get_logger().info(text)

    def _relocalisation(self) -> StatusReport:
        """Report the result of the last comparison with the known maps."""
        last = "" if self.memory is None else self.memory.relocaliser.last
        on = self.config.memory.relocalise
        return StatusReport(FlowStatus(OK, last or ("no map was compared yet" if on else "off")), {})

    def _clock_ns(self) -> int:
        """Return the time of the graph's clock in ns, 0 if unknown.

        Simulated time is read from /clock, which may lag behind stamps made with it. If /clock is published but this
        node does not use it, stamps are not of the computer's clock and the time is unknown.
        """
        if self.get_parameter("use_sim_time").value:
            now_ns = self.get_clock().now().nanoseconds
            return max(now_ns, self.starts_ns, self._believed_ns) if now_ns else 0
        return 0 if self.count_publishers(TOPICS["clock"].name) else time.time_ns()

    def _remembering(self) -> EpisodicMemory:
        """Return the episode's memory with its current time set. Raises StorageError if no episode has begun."""
        if self.memory is None:
            raise StorageError("the memory has no episode: it has just been started, perhaps again after it "
                               "ended; begin an episode (reset_episode)")
        self.memory.store.set_now(self._clock_ns())
        return self.memory


def _query(request: Any) -> RecallQuery:
    near = (request.near.x, request.near.y, request.radius) if request.use_near else None
    return RecallQuery(request.text, request.limit, messages.ns_of(request.after), messages.ns_of(request.before), near)


def main() -> int:
    """Run the node."""
    return run_node(MemoryNode)
