"""A person as an agent of tasks: the page shows the view and the options of each step, and the person chooses one."""

from __future__ import annotations

from eqa_nodes.bench.embodied.loop import Pick, Turn
from eqa_nodes.bench.embodied.tasks import Task
from eqa_nodes.console.person import Desk, ImageFile, PageReply, PersonRequest, say_farewell
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.memory.keyframes import jpeg_of

JPEG_QUALITY = 90


class PersonTaskAgent:
    """Lets a person choose the options of tasks on the page. Implements TaskAgent."""

    def __init__(self, desk: Desk, total: int = 0) -> None:
        """total: number of tasks of the run, for the page."""
        self._desk, self._total = desk, total
        self.done = 0  # tasks carried out so far, including earlier sessions; for the page

    def begin(self, task: Task, seed: int) -> None:
        """Begin a task."""
        self._id, self._views = f"{task.index:04d}", list[bytes]()

    def act(self, turn: Turn) -> Pick:
        """Wait until the person has chosen one of the options."""
        self._views.append(jpeg_of(turn.image, JPEG_QUALITY))
        chosen: list[int] = []

        def do(request: PersonRequest) -> PageReply:
            name, *rest = request.path
            if name == "view" and len(rest) == 1:
                return self._view(rest[0])
            if name == "act" and not rest:
                chosen.append(self._choice(request, turn))
            elif name != "state" or rest:
                raise RequestRefused(f"there is nothing at {'/'.join(request.path)!r}", 404)
            return self._state(turn)

        self._desk.serve(do, lambda: bool(chosen))
        return Pick(chosen[0], turn.options[chosen[0]])

    def farewell(self) -> None:
        """Tell the page that this was the last task."""
        say_farewell(self._desk, self.done, self._total)

    def _choice(self, request: PersonRequest, turn: Turn) -> int:
        """Return the chosen option, from 0. Raises RequestRefused for an old step or another number."""
        step, number = request.body.get("step"), request.body.get("option")
        if request.body.get("id") != self._id or step != len(turn.history):
            raise RequestRefused("this page shows an old step: look again, then choose")
        if type(number) is not int or not 1 <= number <= len(turn.options):
            raise RequestRefused(f"an option is a number from 1 to {len(turn.options)}, not {number!r:.40}", 400)
        return number - 1

    def _state(self, turn: Turn) -> PageReply:
        last = turn.history[-1] if turn.history else ("", "")
        return {"id": self._id, "question": turn.task, "choices": [], "kind": "task", "views": len(self._views),
                "done": self.done, "total": self._total, "answered": False, "options": list(turn.options),
                "steps": len(turn.history), "max_steps": len(turn.history) + turn.steps_left,
                "last": list(last)}

    def _view(self, number: str) -> ImageFile:
        """Return a view by its file name, numbered from 0: "7.jpg". Raises RequestRefused if there is none."""
        name = number.removesuffix(".jpg")
        if name not in map(str, range(len(self._views))):
            raise RequestRefused(f"there is no view {number!r}: there are {len(self._views)}", 404)
        return ImageFile("image/jpeg", self._views[int(name)])
