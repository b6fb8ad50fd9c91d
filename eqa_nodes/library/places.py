"""The places of the library: a simulated scene, a recording, a memory file, and the robot of a running graph."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from eqa_nodes.config.run import PROCESS, RunConfig, sees
from eqa_nodes.core.agent.person import Replies
from eqa_nodes.core.answerers.common import answer_of, check_question
from eqa_nodes.core.errors import BadQuestion, EqaError, StorageError
from eqa_nodes.core.language.conversation import Conversation
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.memory import MemoryStore, open_file
from eqa_nodes.core.memory.recollect import past_question
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import NO_REPLY, Inquiry
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Limits, MemoryObject, Question, RecallQuery
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Frame
from eqa_nodes.library.shown import Asked, View
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.runners.function import Environment
from eqa_nodes.runners.history import HistorySource, file_source
from eqa_nodes.runners.opening import check_answerer, check_chain, open_history_runner, open_runner
from eqa_nodes.runners.sources import cache_folder
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import EpisodeSetup

if TYPE_CHECKING:
    from eqa_nodes.console.robot import RosRobot

LIMITS = Limits(steps=300)
C = TypeVar("C", bound="_Closing")


class Place(Protocol):
    """A place in which a question can be asked."""

    def ask(self, question: str) -> Asked:
        """Ask and wait for the answer. Raises EqaError if it cannot be asked; an episode's error is in the answer.

        "It", "there" and "the other one" refer to the last question asked in this place.
        """


@dataclass(frozen=True)
class Scene:
    """A simulated place with an agent. Each question is its own episode from the start pose, without ROS."""

    name: str
    config: RunConfig = field(repr=False)
    start: Pose2 | None = None
    seed: int = 0
    conversation: Conversation = field(default_factory=Conversation, repr=False, compare=False)

    def ask(self, question: str, reply: Reply | None = None) -> Asked:
        """Let the robot explore until it can answer. Raises EqaError.

        reply: called with each inquiry of the robot (drive="confirm", ask_back=True of the scene); returns the number
        of an option or 0.
        """
        question = self.conversation.question(check_question(question))
        replies = Replies()
        heard = replying(reply, replies.reply)

        def listen(progress: Progress) -> None:
            if progress.inquiry is not None:
                heard(progress.inquiry)

        with TemporaryDirectory(prefix="eqa-") as folder, closing(open_runner(
                replace(self.config, folder=Path(folder)), listen, replies=replies if reply else None)) as runner:
            result = runner.run(self._sample(question))
        self.conversation.answered(question, result.answer.text)
        return Asked(question, result.answer, result.trace or EpisodeTrace(question, answer=result.answer))

    @contextmanager
    def drive(self) -> Iterator[Environment]:
        """Yield the robot at the start pose, to be driven by the caller: `observation` is its view, `act` moves it.

        Raises EqaError.
        """
        body = self.config.robot_body
        with closing(SimulatorPool()) as pool:
            simulator = pool.get(self.name)
            first = simulator.reset(EpisodeSetup.of(self._sample(""), body,
                                                      self.config.settings.bridge.clock_start_ns))
            yield Environment(first, simulator.act, body, self.config.question_limits)

    def _sample(self, question: str) -> Sample:
        return Sample("question", question, "", scene=self.name, start=self.start, seed=self.seed)


@dataclass(frozen=True)
class History:
    """A recording: a bag, an OpenEQA or ScanNet folder, ...; iterating yields its frames in order."""

    path: Path
    config: RunConfig = field(repr=False)
    bag: BagOptions | None = None
    conversation: Conversation = field(default_factory=Conversation, repr=False, compare=False)

    def ask(self, question: str) -> Asked:
        """Answer from the recording. Raises EqaError."""
        question = self.conversation.question(check_question(question))
        source = self._source()
        with closing(open_history_runner(self.config, lambda sample: source, cache_folder(None))) as runner:
            result = runner.run(Sample("question", question, ""))
        self.conversation.answered(question, result.answer.text)
        return Asked(question, result.answer, result.trace or EpisodeTrace(question, answer=result.answer))

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._source().open())

    def __len__(self) -> int:
        return len(self._source().open())

    def _source(self) -> HistorySource:
        return file_source(self.path, options=self.bag)


class _Closing:
    """Base class of resources that are closed at the end of a `with` block."""

    def close(self) -> None:
        """Release the resource; a second call does nothing."""
        raise NotImplementedError

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Memory(_Closing):
    """A memory file, read-only; the robot may write it at the same time. Use it with `with`, or call `close`."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError for a file that is missing or not a memory file."""
        self._store, self._conversation = open_file(path), Conversation()

    def ask(self, question: str) -> Asked:
        """Answer a question about what was seen: "Where is the mug usually?", "What changed since yesterday?"

        Raises BadQuestion for other questions, and if no memory fits.
        """
        question = self._conversation.question(check_question(question))
        store = self._at_this_time()
        said = store.ask(question)
        if said is None:
            raise BadQuestion(past_question(question, store.now_ns).times.fault or "memory itself answers where "
                              "things are, were and usually are, and how they are, were and changed; ask a scene, a "
                              "history or the robot")
        views = [view for e in said.evidence if (view := store.keyframe(e.keyframe_id)) is not None]
        answer = replace(answer_of(said, views), understood=understand(question).said)
        self._conversation.answered(question, answer.text)
        return Asked(question, answer, EpisodeTrace(question, keyframes=views, answer=answer))

    def recall(self, text: str = "", limit: int = 5) -> list[View]:
        """Return remembered views that fit a text, best first; "" = spread over time."""
        return [View(item.keyframe, item.why) for item in self._at_this_time().recall(RecallQuery(text, limit=limit))]

    def objects(self, text: str = "", limit: int = 0) -> list[MemoryObject]:
        """Return remembered objects: all, or those that match a text. limit: maximum number, 0 = no limit."""
        return self._store.objects(text, limit)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._store.close()

    def _at_this_time(self) -> MemoryStore:
        """Return the store with its current time set, as a file may stay open for days."""
        self._store.set_now(time.time_ns())
        return self._store


class Robot(_Closing):
    """The robot of a running graph in a ROS domain. Use it with `with`, or call `close`."""

    def __init__(self, namespace: str = "", remap: Mapping[str, str] = MappingProxyType({}),
                 limits: Limits = LIMITS) -> None:
        """namespace: namespace of the graph's nodes; remap: key of a topic or service -> its name. Raises EqaError."""
        from eqa_nodes.ros.environment import ensure_ros

        ensure_ros()
        from eqa_nodes.console.robot import RosRobot

        domain = {"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}
        self._robot: RosRobot = RosRobot(domain, lambda: None, namespace=namespace, remap=remap)
        self._limits, self._conversation = limits, Conversation()

    def ask(self, question: str, drive: bool = True, show: bool = False, reply: Reply | None = None) -> Asked:
        """Ask and wait. drive: the robot may drive to find the answer; show: it then drives to the evidence.

        reply: called with each inquiry of the robot, such as whether it may drive; returns the number of an option
        or 0. Raises EqaError; an interrupt cancels this question.
        """
        self._robot.inquired = replying(reply, self._robot.reply)
        question = self._conversation.question(check_question(question))
        asked = Question(question, limits=self._limits, may_explore=drive, show=show)
        answer = self._robot.ask(asked, lambda progress: None, threading.Event())
        self._conversation.answered(question, answer.text)
        trace = replace(self._robot.live.trace(question), grid=self._robot.grid(), answer=answer)
        known = {view.id for view in trace.keyframes}
        for evidence in answer.evidence:
            if evidence.keyframe_id not in known:
                with suppress(StorageError):  # memory no longer has that view: Asked notes this
                    trace.keyframes.append(self._robot.view(evidence))
        return Asked(question, answer, trace)

    def recall(self, text: str = "", limit: int = 5) -> list[View]:
        """Return remembered views that fit a text, best first; "" = spread over time. Raises EqaError."""
        return [View(item.keyframe, item.why) for item in self._robot.recall(text, limit)]

    def camera(self) -> bytes:
        """Return the camera's current image, a JPEG file. Raises EqaError before the first image."""
        return self._robot.camera()

    def stop(self) -> None:
        """End all questions and the drive. Raises NodeLost if the agent does not answer."""
        self._robot.stop()

    def close(self) -> None:
        """Leave the graph; a second call does nothing."""
        self._robot.close()


def scene(name: str, *, agent: str = "", answerer: str = "", policy: str = "", model: ModelConfig = ModelConfig(),
          limits: Limits = LIMITS, start: Pose2 | None = None, seed: int = 0,
          detector: DetectorConfig = DetectorConfig(), labels: bool = False, **more: Any) -> Scene:
    """Return a simulated place: house:7, mesh:FILE, habitat:SCENE, ... Raises ConfigError, UnknownScene.

    agent, answerer, policy, model, detector, labels: as the options of `eqa ask`; start: pose in the map frame, None =
    the scene's own; more: further fields of RunConfig (eqa_nodes/config/run.py), such as robot, image or params.
    """
    config = RunConfig(agent=agent, answerer=answerer, policy=policy, model=model, limits=limits, through=PROCESS,
                       scene=name, detector=detector, sees=sees(name, labels, detector.name), **more)
    check_chain(config, name)
    return Scene(name, config, start, seed)


def history(path: Path | str, *, agent: str = "", answerer: str = "", model: ModelConfig = ModelConfig(),
            bag: BagOptions | None = None, **more: Any) -> History:
    """Return a recording of any format of docs/histories.md. Raises ConfigError.

    agent, answerer, model: as the options of `eqa ask --history`; bag: options to find the topics of a bag, such as
    BagOptions({"depth": "/cam/depth"}, namespace="r1"); more: further fields of RunConfig.
    """
    config = RunConfig(agent=agent, answerer=answerer, model=model, **more)
    check_answerer(config)
    return History(Path(path), config, bag)


def memory(path: Path | str) -> Memory:
    """Open a memory file for reading. Raises StorageError."""
    return Memory(Path(path))


def robot(namespace: str = "", remap: Mapping[str, str] = MappingProxyType({}), limits: Limits = LIMITS) -> Robot:
    """Join the graph that runs in this ROS_DOMAIN_ID. Raises EqaError if ROS is missing."""
    return Robot(namespace, remap, limits)


def ask(place: Place, question: str) -> Asked:
    """Ask a question in a scene, about a recording or a memory file, or of a robot. Raises EqaError."""
    return place.ask(question)


Reply = Callable[[Inquiry], int]  # the number of an option, from 1; 0 = no reply


def replying(reply: Reply | None, hand_in: Callable[[str, int], None]) -> Callable[[Inquiry], None]:
    """Return a callback for inquiries that replies to each open one in its own thread. A late reply warns."""
    def asked(inquiry: Inquiry) -> None:
        if reply is None or (option := reply(inquiry)) == NO_REPLY:
            return
        try:
            hand_in(inquiry.id, option)
        except EqaError as error:
            warnings.warn(f"the reply to {inquiry.text!r} did not count: {error}", stacklevel=2)

    def heard(inquiry: Inquiry) -> None:
        if inquiry.open:
            threading.Thread(target=asked, args=(inquiry,), name="reply", daemon=True).start()

    return heard
