"""Agents that carry out tasks: random, scripted, and models that see images or the frames of a video."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from eqa_nodes.bench.embodied.loop import MAX_STEPS, Pick, TaskAgent, Turn, texts_of
from eqa_nodes.bench.embodied.tasks import Task, TaskOption
from eqa_nodes.core.errors import ConfigError, ModelError, unknown
from eqa_nodes.core.memory.keyframes import jpeg_of
from eqa_nodes.core.model import WRONG_FORM, Backend, Message, NothingRead, ask_form, generate_with, json_object
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig

JPEG_QUALITY = 90
MAX_IMAGES = 24  # maximum of the history that a model is shown, besides the current view
MAX_TOKENS = 1024
BETWEEN = 4  # frames of a video that are rendered between the views before and after a move
JSON, CHOICE = "json", "choice"
REPLIES = (CHOICE, JSON)
_CHOICE = re.compile(r"choice\W{0,8}?(-?\d{1,9})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?<!\d)\d{1,9}(?!\d)")
_THOUGHT = re.compile(r"thought:\s*(.*?)\s*\n\W*choice", re.IGNORECASE | re.DOTALL)


class RandomAgent:
    """Picks options uniformly at random (the paper's random agent), depending on the seed and the task."""

    def begin(self, task: Task, seed: int) -> None:
        """Begin a task."""
        self._rng = np.random.default_rng([seed, task.index])

    def act(self, turn: Turn) -> Pick:
        """Pick one of the options."""
        return Pick(int(self._rng.integers(len(turn.options))))


class ScriptedAgent:
    """Picks options by text from a script per task index, or from the task's own expert plan.

    If the option is not on the menu or the script has ended, it picks nothing.
    """

    def __init__(self, scripts: Mapping[int, Sequence[str]] | None = None) -> None:
        self._scripts = scripts

    def begin(self, task: Task, seed: int) -> None:
        """Begin a task. Raises ConfigError for a task without a script."""
        script = task.expert if self._scripts is None else self._scripts.get(task.index, ())
        if not script:
            raise ConfigError(f"task {task.index} has no script: the oracle needs tasks that say how they are done")
        self._left = list(script)

    def act(self, turn: Turn) -> Pick:
        """Pick the next option of the script; an answer may be written without its menu's quotes."""
        wanted = self._left.pop(0) if self._left else ""
        for text in (wanted, _answer(wanted)):
            if text in turn.options:
                return Pick(turn.options.index(text), wanted)
        return Pick(None, wanted, error="the script has ended" if not wanted else f"{wanted!r} is not on the menu")


def _answer(text: str) -> str:
    """Return an answer as the menu shows it."""
    return TaskOption("Answer", text).shown


@dataclass(frozen=True)
class ModelAgentSettings:
    """How a model is asked.

    max_images: maximum of earlier views that it is shown, besides the current one. reply: form of its replies, CHOICE
    ("Choice: [3]") or JSON. again: whether an unusable reply is asked for once more. max_steps: limit that the prompt
    of CHOICE names.
    """

    max_images: int = MAX_IMAGES
    reply: str = JSON
    again: bool = True
    max_steps: int = MAX_STEPS


class ModelAgent:
    """Asks a model at each step."""

    between = 0

    def __init__(self, backend: Backend, settings: ModelAgentSettings = ModelAgentSettings()) -> None:
        if settings.reply not in REPLIES:
            raise ConfigError(unknown("form of replies", settings.reply, REPLIES))
        self.backend, self._settings = backend, settings
        self._messages = {JSON: self._json_messages, CHOICE: self._choice_messages}[settings.reply]

    def begin(self, task: Task, seed: int) -> None:
        """Begin a task."""
        self._seed, self._images = seed, list[bytes]()

    def act(self, turn: Turn) -> Pick:
        """Ask the model. Raises ModelError (BudgetSpent) when it fails."""
        self._images.append(jpeg_of(turn.image, JPEG_QUALITY))
        messages, form = self._messages(turn), self._settings.reply

        def read(text: str) -> Pick:
            pick = _read(text, form, turn.options)
            if pick.option is not None and not 0 <= pick.option < len(turn.options):
                raise ValueError(f"the option must be a number from 1 to {len(turn.options)}, not {pick.option + 1}")
            return pick

        if not self._settings.again:
            text = generate_with(self.backend, messages, MAX_TOKENS, self._seed).text
            try:
                return _read(text, form, turn.options)
            except ValueError as error:
                return Pick(None, text, error=str(error))
        asked_for = "the JSON object that was asked for" if form == JSON else 'the line "Choice: [number]"'
        try:
            return ask_form(self.backend, messages, read, asked_for, MAX_TOKENS, self._seed)
        except ModelError as error:
            if not str(error).startswith(WRONG_FORM):
                raise
            return Pick(None, error=f"no option match: {error}")

    def _json_messages(self, turn: Turn) -> list[Message]:
        steps = [f"{i}. {json.dumps(action or '(nothing)')} -> {feedback}"
                 for i, (action, feedback) in enumerate(turn.history, start=1)]
        before = self._before(turn)
        parts: list[str | bytes] = [f"The task: {json.dumps(turn.task, ensure_ascii=False)}",
                                    "What was done so far:\n" + ("\n".join(steps) or "nothing yet")]
        if before:
            parts += [f"{self._named}, oldest first:", *before]
        parts += ["What is seen now:", self._images[-1], "The options:\n" + "\n".join(texts_of(turn)),
                  f"{turn.steps_left} steps are left."]
        return [Message("system", (_prompt("task.txt"),)), Message("user", tuple(parts))]

    def _choice_messages(self, turn: Turn) -> list[Message]:
        """Return one message in the order of EmbodiedEval's: task, actions, earlier views, current view, options."""
        steps = "".join(f"\n  {action or '(nothing)'} -> {feedback}" for action, feedback in turn.history)
        options = "\n".join(f"{number}. {text}" for number, text in enumerate(turn.options, start=1))
        end = _prompt("task_choice_end.txt").replace("{STEPS}", str(self._settings.max_steps)).replace(
            "{LEFT}", str(turn.steps_left)).replace("{OPTIONS}", options)
        begin = _prompt("task_choice.txt").replace("{SEEN}", self._seen).replace(
            "{TASK}", json.dumps(turn.task, ensure_ascii=False))
        before = self._before(turn)
        parts: list[str | bytes] = [f"{begin}\n\nActions so far (action -> feedback):{steps or ' none'}"]
        if before:
            parts += [f"{self._named}, oldest first:", *before]
        return [Message("user", (*parts, "The current view:", self._images[-1], end))]

    _named = "What was seen before the last steps"
    _seen = "what you saw before each of the last steps, your current view,"

    def _before(self, turn: Turn) -> list[bytes]:
        """Return the earlier views, the oldest first."""
        return self._images[:-1][-self._settings.max_images:] if self._settings.max_images else []


class VideoAgent(ModelAgent):
    """Shows the model the way so far as a video: frames evenly spaced over it, also between two points."""

    between = BETWEEN
    _named = "The frames of a video of the way so far"
    _seen = "the frames of a video of your way so far, which ends with your current view,"

    def _before(self, turn: Turn) -> list[bytes]:
        way = turn.way[:-1]  # the current view is shown after it
        shown = min(self._settings.max_images, len(way))
        places = np.linspace(0, len(way) - 1, shown).round().astype(int) if shown else []
        return [jpeg_of(way[place], JPEG_QUALITY) for place in places]


def _prompt(name: str) -> str:
    return resources.files("eqa_nodes.prompts").joinpath(name).read_text(encoding="utf-8").rstrip("\n")


def _read(text: str, form: str, options: Sequence[str]) -> Pick:
    """Return the option that a reply names, perhaps one that is not on the menu. Raises ValueError if it names none.

    A reply in the form CHOICE without "Choice" names its last number, as in EmbodiedEval.
    """
    if form == CHOICE:
        numbers = _CHOICE.findall(text)[:1] or _NUMBER.findall(text)[-1:]
        if not numbers:
            raise NothingRead('the reply has no "Choice: [number]"')
        thought = _THOUGHT.search(text)
        return Pick(int(numbers[0]) - 1, text, thought[1] if thought else "")
    reply = json_object(text)
    number = _number(reply.get("option"), options)
    if number is None:
        raise ValueError(f'"option" must be a number from 1 to {len(options)}, not {reply.get("option")!r:.40}')
    return Pick(number - 1, json.dumps(reply, ensure_ascii=False), str(reply.get("thought", "")))


def _number(said: object, options: Sequence[str]) -> int | None:
    """Parse the number of an option in the ways models write it: 3, 3.0, "3", "[3]", "[3] turn left", or its text."""
    if isinstance(said, float) and said.is_integer():
        return int(said)
    if not isinstance(said, str):
        return said if type(said) is int else None
    plain = said.strip().casefold()
    named = {text: number for number, text in reversed(list(enumerate(options, start=1)))
             if text.casefold() in (plain, _answer(plain).casefold())}
    if len(named) == 1:  # options with the same text are one
        return named.popitem()[1]
    match = re.fullmatch(r"\s*\[?([0-9]{1,4})\]?[.):]?\s*(.*)", said, re.S)
    number = int(match[1]) if match else 0
    shown = options[number - 1:number]
    rest = match[2].strip() if match else ""
    return number if match and (not rest or any(text in (rest, _answer(rest)) for text in shown)) else None


AGENTS: dict[str, Callable[[ModelConfig, ModelAgentSettings], TaskAgent]] = {
    "random": lambda model, settings: RandomAgent(), "oracle": lambda model, settings: ScriptedAgent(),
    "model": lambda model, settings: ModelAgent(open_model(model), settings),
    "video": lambda model, settings: VideoAgent(open_model(model), settings)}
MODELS = ("model", "video")  # agents that ask a model


def make_agent(name: str, model: ModelConfig = ModelConfig(),
               settings: ModelAgentSettings = ModelAgentSettings()) -> TaskAgent:
    """Return an agent: random, oracle (follows the task's expert plan), model, video. Raises ConfigError."""
    if name not in AGENTS:
        raise ConfigError(unknown("agent of tasks", name, AGENTS))
    return AGENTS[name](model, settings)
