"""A person as an agent: a page on this machine, whose requests the thread of the run executes one by one.

The person's answers are saved, scored and reported like any agent's (docs/human.md).
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from eqa_nodes.console.pictures import map_picture
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.console.web import ConsoleServer, Json, application, listening, page, picture, rules_for
from eqa_nodes.core.answerers.common import match_choice
from eqa_nodes.core.errors import BadFrame, Canceled
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.storage.text import storable
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import MAX_EVIDENCE, Answer, Evidence, Receipt
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.recordings.history_views import HistoryViews, ViewSelection, keyframe_of
from sim_bridge.simulator import EpisodeSetup, Simulator, Step

MOVES = {"forward": Action.MOVE_FORWARD, "left": Action.TURN_LEFT, "right": Action.TURN_RIGHT, "up": Action.LOOK_UP,
         "down": Action.LOOK_DOWN}
_AS_SEEN = ViewSelection("uniform")  # images alone: no labels


class PersonEpisode(Protocol):
    """The episode of one question. views: the views that can be inspected and marked, oldest first."""

    kind: str  # "history" or "drive"

    @property
    def views(self) -> Sequence[Keyframe]:
        """The views so far."""

    def facts(self) -> Mapping[str, object]:
        """Return what the page shows next to the views, as plain JSON."""

    def act(self, asked: Mapping[str, object]) -> None:
        """Execute an action that the page requests. Raises RequestRefused if it is impossible."""

    def evidence(self, views: Sequence[Keyframe]) -> tuple[Evidence, ...]:
        """Return views as evidence."""

    def cost(self) -> Receipt:
        """Return steps and distance driven."""

    def trace(self, marked: Sequence[Keyframe]) -> EpisodeTrace:
        """Return the trace of the episode, with the marked views."""

    def end(self) -> Pose2 | None:
        """Return the robot's pose, None if nothing was driven."""


class HistoryEpisode:
    """The frames that an agent would be shown, with a slider."""

    kind = "history"

    def __init__(self, views: HistoryViews, sample: Sample) -> None:
        self._views, self._sample = views, sample
        self._kept = tuple(item.keyframe for item in views.items(sample.as_question()))

    @property
    def views(self) -> Sequence[Keyframe]:
        """The frames of the history, limited to the number that an agent is shown."""
        return self._kept

    def facts(self) -> Mapping[str, object]:
        """Return nothing: there are only the views."""
        return {}

    def act(self, asked: Mapping[str, object]) -> None:
        """Refuse: a recording cannot be driven."""
        raise RequestRefused("this is a recording: nothing can be driven in it")

    def evidence(self, views: Sequence[Keyframe]) -> tuple[Evidence, ...]:
        """Return views as evidence, with their places in the recording."""
        spots = self._views.kept.spots
        return tuple(Evidence(v.id, v.stamp_ns, v.pose)._replace(**spots[str(v.id)]._asdict()) for v in views)

    def cost(self) -> Receipt:
        """Return an empty receipt: nothing was driven."""
        return Receipt()

    def trace(self, marked: Sequence[Keyframe]) -> EpisodeTrace:
        """Return the path of the history."""
        kept = self._views.kept
        return EpisodeTrace(self._sample.question, list(kept.way), keyframes=list(marked),
                            refused={f"history: {why}": n for why, n in kept.dropped.items()})

    def end(self) -> Pose2 | None:
        """Return None: nothing was driven."""
        return None


class DriveEpisode:
    """A simulated robot driven by a person: atomic actions, counted like an agent's. Raises UnknownScene, BadPose."""

    kind = "drive"

    def __init__(self, simulator: Simulator, sample: Sample, robot: RobotModel, max_steps: int) -> None:
        """max_steps: maximum number of actions, 0 = no limit."""
        self._simulator, self._sample, self._max_steps = simulator, sample, max_steps
        self._mapper = MultiFloorMapper(robot=robot)
        self._poses: list[tuple[int, Pose2]] = []
        self._unmapped = 0
        self._kept: list[Keyframe] = []
        self._take(simulator.reset(EpisodeSetup.of(sample, robot)))

    @property
    def views(self) -> Sequence[Keyframe]:
        """The camera's view after each step."""
        return self._kept

    def facts(self) -> Mapping[str, object]:
        """Return steps, metres, the limit, whether the robot collided, and the URL of the map."""
        return {"steps": self._step.steps, "metres": round(self._step.metres, 2), "max_steps": self._max_steps,
                "collided": self._step.collided, "map": f"/map/{self._step.steps}.svg"}

    def act(self, asked: Mapping[str, object]) -> None:
        """Execute one atomic action. Its step number must be current, so keys repeated too fast are refused."""
        action, step = asked.get("action"), asked.get("step")
        if action not in MOVES:
            raise RequestRefused(f"unknown action {action!r}: known are {', '.join(MOVES)}", 400)
        if step != self._step.steps:
            raise RequestRefused(f"the robot has made {self._step.steps} steps, not {step!r}: look again, then drive")
        if self._max_steps and self._step.steps >= self._max_steps:
            raise RequestRefused(f"all {self._max_steps} steps are used: answer from what was seen")
        self._take(self._simulator.act(MOVES[str(action)]))

    def evidence(self, views: Sequence[Keyframe]) -> tuple[Evidence, ...]:
        """Return views as evidence."""
        return tuple(Evidence(view.id, view.stamp_ns, view.pose) for view in views)

    def cost(self) -> Receipt:
        """Return steps and distance driven."""
        return Receipt(steps=self._step.steps, metres=self._step.metres)

    def trace(self, marked: Sequence[Keyframe]) -> EpisodeTrace:
        """Return path, map and marked views."""
        refused = {"mapper": self._unmapped} if self._unmapped else {}
        return EpisodeTrace(self._sample.question, self._poses, keyframes=list(marked), grid=self._mapper.grid(),
                            refused=refused)

    def end(self) -> Pose2 | None:
        """Return the robot's pose."""
        return self._step.frame.pose

    def _take(self, step: Step) -> None:
        self._step, frame = step, step.frame
        self._poses.append((frame.stamp_ns, frame.pose))
        self._kept.append(keyframe_of(frame, step.steps + 1, {}, _AS_SEEN))
        try:
            self._mapper.integrate(frame)
        except BadFrame:
            self._unmapped += 1  # shown with the trace, as the mapper node counts it


HOST = "127.0.0.1"
_WAIT_S = 30.0  # timeout of a request to the run
_TICK_S = 0.2  # period of checks by the run, so that Ctrl-C ends it at once
_MAX_ANSWER_CHARS = 500
_FAREWELL_S = 3.0  # time for the page to learn that it was the last question


class ImageFile(NamedTuple):
    """An image file for the page."""

    mime: str
    data: bytes


PageReply = Mapping[str, object] | ImageFile


class PersonRequest(NamedTuple):
    """A request of the page. path: parts of the URL without the token; body: of a POST, empty for a GET."""

    path: tuple[str, ...]
    body: Mapping[str, object]


@dataclass
class Desk:
    """Passes requests from the page's threads to the thread that runs the episodes."""

    _requests: queue.Queue[tuple[PersonRequest, Future[PageReply]]] = field(default_factory=queue.Queue)

    def ask(self, request: PersonRequest) -> PageReply:
        """Send a request to the run and wait for the reply (any thread). Raises RequestRefused."""
        future: Future[PageReply] = Future()
        self._requests.put((request, future))
        try:
            return future.result(_WAIT_S)
        except FutureTimeout:
            future.cancel()
            raise RequestRefused("the run is still preparing the question: please wait", 503) from None

    def serve(self, do: Callable[[PersonRequest], PageReply], ready: Callable[[], bool],
              limit_s: float | None = None) -> bool:
        """Execute requests until `ready` returns True, or for limit_s (the run's thread). Return the last `ready`."""
        ticks = 0
        while not ready() and (limit_s is None or ticks * _TICK_S < limit_s):
            try:
                request, future = self._requests.get(timeout=_TICK_S)
            except queue.Empty:
                ticks += 1
                continue
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(do(request))
            except Exception as error:  # a failed request must not end the run: the page shows it
                future.set_exception(error)
        return ready()


class Said(NamedTuple):
    """A person's answer. marked: numbers of views, from 0."""

    text: str
    confidence: float
    abstained: bool
    marked: tuple[int, ...]


def say_farewell(desk: Desk, done: int, total: int) -> None:
    """Tell the page that a run has ended; waits up to _FAREWELL_S for a request of the page."""
    finished: list[bool] = []

    def over(request: PersonRequest) -> PageReply:
        finished.append(True)
        return {"over": True, "done": done, "total": total}

    desk.serve(over, lambda: bool(finished), _FAREWELL_S)


class PersonRunner:
    """Asks a person one question after the other. Implements EpisodeRunner."""

    def __init__(self, desk: Desk, open_episode: Callable[[Sample], PersonEpisode], total: int = 0) -> None:
        """total: number of questions of the run, for the page."""
        self._desk, self._open_episode, self._total = desk, open_episode, total
        self.done = 0  # questions answered so far, including earlier sessions; for the page

    def run(self, sample: Sample) -> EpisodeResult:
        """Wait for the person's answer. The receipt's seconds run from the question to the answer."""
        sitting = _Sitting(sample, self._open_episode(sample), self.done, self._total)
        began = time.monotonic()
        self._desk.serve(sitting.do, lambda: sitting.said is not None)
        if sitting.said is None:
            raise Canceled("the page was closed before there was an answer")
        return _result(sitting, sitting.said, time.monotonic() - began)

    def blind(self, sample: Sample) -> Answer:
        """Abstain: a person who has seen the views cannot also answer without them."""
        return Answer(abstained=True, message="a person is not asked blind")

    def farewell(self) -> None:
        """Tell the page that this was the last question."""
        say_farewell(self._desk, self.done, self._total)

    def close(self) -> None:
        """Nothing to release: the caller owns the page's server."""


class _Sitting:
    """One question on the page."""

    def __init__(self, sample: Sample, episode: PersonEpisode, done: int, total: int) -> None:
        self.sample, self.episode = sample, episode
        self._done, self._total = done, total
        self.said: Said | None = None

    def do(self, request: PersonRequest) -> PageReply:
        """Execute a request of the page. Raises RequestRefused."""
        name, *rest = request.path
        if name == "state" and not rest:
            return self._state()
        if name == "view" and len(rest) == 1:
            return view_picture(self.episode, rest[0])
        if name == "map" and len(rest) == 1:
            return ImageFile("image/svg+xml", map_picture(self.episode.trace(())))
        if name not in ("act", "answer") or rest:
            raise RequestRefused(f"there is nothing at {'/'.join(request.path)!r}", 404)
        if request.body.get("id") != self.sample.id:
            raise RequestRefused("this page shows an old question: reload it")
        if name == "act":
            self.episode.act(request.body)
        else:
            self.said = read_answer(request.body, self.sample, len(self.episode.views))
        return self._state()

    def _state(self) -> Mapping[str, object]:
        return {"id": self.sample.id, "question": self.sample.question, "choices": list(self.sample.choices),
                "kind": self.episode.kind, "views": len(self.episode.views), "done": self._done, "total": self._total,
                "answered": self.said is not None, **self.episode.facts()}


def read_answer(body: Mapping[str, object], sample: Sample, views: int) -> Said:
    """Parse an answer from the page. Raises RequestRefused for an invalid one."""
    text, abstained, confidence, marked = (body.get(name) for name in ("text", "abstain", "confidence", "marked"))
    if not isinstance(abstained, bool) or not isinstance(text, str) or len(text) > _MAX_ANSWER_CHARS:
        raise RequestRefused(f"an answer is a text of at most {_MAX_ANSWER_CHARS} characters", 400)
    if not storable(text):
        raise RequestRefused("the answer contains an invalid character (NUL or a lone surrogate): type it again", 400)
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        raise RequestRefused(f"confidence is a number from 0 to 1, not {confidence!r}", 400)
    if not isinstance(marked, list) or not all(type(i) is int and 0 <= i < views for i in marked):
        raise RequestRefused(f"marked views are numbers from 0 to {views - 1}, not {marked!r:.60}", 400)
    numbers = tuple(dict.fromkeys(marked))
    if abstained:
        return Said("", 0.0, True, numbers)
    text = " ".join(text.split())
    if not text:
        raise RequestRefused("write an answer, or say that you cannot tell", 400)
    if sample.choices:
        option = match_choice(text, sample.choices)
        if option is None:
            raise RequestRefused(f"{text!r} is not one of the options", 400)
        text = sample.choices[option]
    return Said(text, float(confidence), False, numbers)


def _result(sitting: _Sitting, said: Said, seconds: float) -> EpisodeResult:
    """Return an answer with its evidence: the marked views, or the last view if none is marked."""
    episode = sitting.episode
    views = [episode.views[i] for i in said.marked] or list(episode.views[-1:])
    evidence = () if said.abstained else episode.evidence(views[:MAX_EVIDENCE])
    answer = Answer(said.text, said.confidence, said.abstained, evidence, replace(episode.cost(), seconds=seconds))
    trace = episode.trace(views)
    trace.answer = answer
    return EpisodeResult(sitting.sample.id, answer, episode.end(), trace)


def view_picture(episode: PersonEpisode, number: str) -> ImageFile:
    """Return a view. number: its file name with a number from 0, "7.jpg". Raises RequestRefused if unknown."""
    name = number.removesuffix(".jpg")
    if name not in map(str, range(len(episode.views))):
        raise RequestRefused(f"there is no view {number!r}: there are {len(episode.views)}", 404)
    return ImageFile("image/jpeg", episode.views[int(name)].jpeg)


class PersonPage:
    """The URLs of the page. The thread that runs the episodes answers all except the page's own files."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.rules = rules_for(HOST, ask_token=True)

    def app(self) -> Starlette:
        """Return the ASGI application."""
        return application(self.rules, {"/": lambda _: page("person.html"), "/{path:path}": self._asked},
                           {"/{path:path}": self._asked})

    def close(self) -> None:
        """Do nothing: no connection is kept open."""

    def _asked(self, request: Request, body: Mapping[str, Any] | None = None) -> Response:
        reply = self._desk.ask(PersonRequest(tuple(request.path_params["path"].split("/")), body or {}))
        return picture(reply.mime, reply.data) if isinstance(reply, ImageFile) else Json(reply)


class PersonServer(ConsoleServer):
    """The running server; call `close` at the end. Raises ConfigError if the port is in use."""

    def __init__(self, desk: Desk, port: int = 0) -> None:
        """port: TCP port, 0 = any free one."""
        super().__init__(PersonPage(desk), HOST, listening(HOST, port))
