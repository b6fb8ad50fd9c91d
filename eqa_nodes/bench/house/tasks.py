"""Tasks in the built-in houses: navigation, questions about attributes and space, handling of objects.

Each task is generated from the scene graph, planned on its navigation graph, and executed once; tasks that the plan
does not solve are dropped. There are no social interactions, because the houses are empty.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice

from eqa_nodes.bench.embodied.agents import ScriptedAgent
from eqa_nodes.bench.embodied.loop import run_task
from eqa_nodes.bench.embodied.tasks import ANSWER, INTERACTION, Predicate, Task, TaskOption
from eqa_nodes.bench.embodied.world import CAMERA, SimulatedWorld
from eqa_nodes.bench.house.graph import Planner, TaskPlan, graph_of
from sim_bridge.house.handling import liftable, opens, surfaces_of, switches
from sim_bridge.house.questions import QuestionCandidate, candidates, lexicon, perception, places
from sim_bridge.house.questions.facts import HouseFacts
from sim_bridge.house.scene import HouseObject
from sim_bridge.house.world import world

MOST_STEPS = 20  # maximum of a plan; an agent has 24
ANSWERS = 8  # options of a question, as in the paper
DISTRACTORS = 4  # interactions offered besides the needed ones
TRIES = 5  # maximum number of objects or questions of a kind tried per house
_VERBS = {"pick": "pick up {}", "place": "put what you hold on {}", "open": "open {}", "close": "close {}",
          "switch_on": "turn on {}", "switch_off": "turn off {}"}
_COUNTS = tuple(str(n) for n in range(1, ANSWERS + 1))


def house_tasks(seeds: Iterable[int], n: int) -> Iterator[Task]:
    """Yield n tasks, fewer if the houses run out, at most one of each kind per house; numbered from 0."""
    found = (task for seed in seeds for task in tasks_of(seed))
    return (replace(task, index=index) for index, task in enumerate(islice(found, n)))


def tasks_of(seed: int) -> Iterator[Task]:
    """Yield the tasks of one house: at most one of each kind."""
    writer = _Writer(seed)
    for kind in (writer.attribute, writer.spatial, writer.navigation, writer.handling):
        task = next(kind(), None)
        if task is not None:
            yield task


class _Writer:
    """The tasks of one house."""

    def __init__(self, seed: int) -> None:
        self._seed, self._place = seed, world(seed)
        self._facts = HouseFacts(self._place.house)
        self._asked = candidates(self._place.house)

    def attribute(self) -> Iterator[Task]:
        """Yield questions about a colour or a number."""
        for asked in self._some(self._asked[perception.ATTRIBUTE]):
            if " or " in asked.question:
                continue  # only two of the eight options would remain
            if asked.answer in lexicon.WRONG_COLOURS:
                near = {asked.answer, *asked.alternatives, *lexicon.NEAR_COLOURS.get(asked.answer, ())}
                near |= {c for c, also in lexicon.NEAR_COLOURS.items() if asked.answer in also}
                yield from self._question("AttrQA", asked, [c for c in lexicon.WRONG_COLOURS if c not in near])
            elif asked.answer in _COUNTS:
                yield from self._question("AttrQA", asked, [c for c in _COUNTS if c != asked.answer])

    def spatial(self) -> Iterator[Task]:
        """Yield questions about a place, with the places of other objects as wrong answers."""
        every = dict.fromkeys(place for obj in self._facts.objects if (place := self._facts.place(obj)))
        for asked in self._some(self._asked[places.LOCALIZATION]):
            right = {asked.answer, *asked.alternatives}
            wrong = [place for place in every if place not in right and not asked.answer.endswith(place)
                     and _hangs(place) == _hangs(asked.answer)]
            if asked.answer in every:  # a place, not the name of a room, so the others have the same form
                yield from self._question("SpatialQA", asked, wrong)

    def navigation(self) -> Iterator[Task]:
        """Yield tasks to go somewhere, and to go somewhere and come back."""
        for obj, name in self._named(lambda t: t.relation == "floor" and t.size[2] > 0.4 and not _door(t)):
            task = self._blank("Navigation", f"Go close to {name} and look at it.", (obj,))
            planner = Planner(self._place, task)
            plan = planner.to(planner.graph.start, planner.near(obj), MOST_STEPS)
            if plan is not None and plan.texts:
                there = (Predicate("agent_near", object=obj.id), Predicate("looking_at", object=obj.id))
                yield from self._there_and_back(task, planner, plan, name) if self._coin("back", obj.id) else \
                    self._proved(replace(task, predicates=there), plan.texts)

    def _there_and_back(self, task: Task, planner: Planner, plan: TaskPlan, name: str) -> Iterator[Task]:
        start = planner.graph.start.point
        back = planner.to(plan.at, lambda at: at.point == start, MOST_STEPS - len(plan.texts))
        if back is not None and back.texts:
            passed = (Predicate("agent_pass", point=plan.at.point), Predicate("agent_at", point=start))
            task = replace(task, text=f"Go to the place in front of {name}, then come back to where you are now.",
                           predicates=passed)
            yield from self._proved(task, (*plan.texts, *back.texts))

    def handling(self) -> Iterator[Task]:
        """Yield tasks to switch, open, close, pick up or put down."""
        kinds: list[Callable[[], Iterator[Task]]] = [self._switching, self._opening, self._lifting, self._moving]
        first = zlib.crc32(f"handling {self._seed}".encode()) % len(kinds)
        for kind in (*kinds[first:], *kinds[:first]):
            yield from kind()

    def _switching(self) -> Iterator[Task]:
        for obj, name in self._named(lambda t: switches(t.kind) is not None and t.position[2] < 1.6):
            on = obj.state == (switches(obj.kind) or ("", ""))[0]
            verb, goal = ("switch_off", "switched_off") if on else ("switch_on", "switched_on")
            yield from self._handled(f"Turn {'off' if on else 'on'} {name}.", (Predicate(goal, object=obj.id),),
                                     [(verb, obj, name)])

    def _opening(self) -> Iterator[Task]:
        for obj, name in self._named(lambda t: opens(t.kind) and not _door(t) and t.position[2] < 1.6):
            verb, goal = ("open", "open") if obj.state == "closed" else ("close", "closed")
            yield from self._handled(f"{verb.capitalize()} {name}.", (Predicate(goal, object=obj.id),),
                                     [(verb, obj, name)])

    def _lifting(self) -> Iterator[Task]:
        for obj, name in self._named(liftable):
            yield from self._handled(f"Pick up {name}.", (Predicate("grab", object=obj.id),), [("pick", obj, name)])

    def _moving(self) -> Iterator[Task]:
        supports = list(self._named(
            lambda t: t.relation == "floor" and any(s.relation == "on" for s in surfaces_of(t))))
        for obj, name in self._named(liftable):
            for support, where in supports[:2]:
                if support.id not in (obj.support, obj.id):
                    goals = (Predicate("grab_once", object=obj.id),
                             Predicate("on", object=obj.id, support=support.id))
                    yield from self._handled(f"Put {name} on {where}.", goals,
                                             [("pick", obj, name), ("place", support, where)])

    def _handled(self, text: str, goals: tuple[Predicate, ...],
                 work: list[tuple[str, HouseObject, str]]) -> Iterator[Task]:
        needed = [TaskOption(INTERACTION, _VERBS[verb].format(name), verb, obj.id) for verb, obj, name in work]
        task = self._blank("ObjectInteraction", text, tuple(obj for _, obj, _ in work))
        task = replace(task, predicates=goals, options=self._mixed(text, needed, self._others(needed)))
        planner, script = Planner(self._place, task), list[str]()
        at = planner.graph.start
        for option, (_, obj, _) in zip(needed, work, strict=True):
            plan = planner.to(at, planner.reach(obj, self._place.house), MOST_STEPS - len(script) - 1)
            if plan is None:
                return
            script += [*plan.texts, option.text]
            at = plan.at
        yield from self._proved(task, script)

    def _others(self, needed: Sequence[TaskOption]) -> list[TaskOption]:
        """Return interactions that are possible in this house but not needed."""
        found = []
        for obj, name in self._named(lambda t: liftable(t) or opens(t.kind) or switches(t.kind) is not None, 40):
            verb = "pick" if liftable(obj) else "open" if opens(obj.kind) else "switch_on"
            if obj.id not in [option.object for option in needed] and not _door(obj):
                found.append(TaskOption(INTERACTION, _VERBS[verb].format(name), verb, obj.id))
        return found[:DISTRACTORS]

    def _question(self, kind: str, asked: QuestionCandidate, wrong: Sequence[str]) -> Iterator[Task]:
        wrong = sorted(wrong, key=lambda text: zlib.crc32(f"{asked.question} {text}".encode()))[:ANSWERS - 1]
        if len(wrong) < ANSWERS - 1:
            return
        answers = [TaskOption(ANSWER, text) for text in (asked.answer, *wrong)]
        task = replace(self._blank(kind, asked.question), options=self._mixed(asked.question, answers[:1], answers[1:]),
                       predicates=(Predicate("choose", right_answer_content=asked.answer),))
        planner = Planner(self._place, task)
        plan = planner.to(planner.graph.start, planner.shows(asked.targets, asked.need), MOST_STEPS - 1)
        if plan is not None:
            yield from self._proved(task, (*plan.texts, asked.answer))

    def _blank(self, kind: str, text: str, approached: tuple[HouseObject, ...] = ()) -> Task:
        start = self._place.house.start
        task = Task(0, kind, f"house:{self._seed}", text, start, (), (), (), ())
        return graph_of(self._place, start, approached).of(task)

    def _proved(self, task: Task, script: Sequence[str]) -> Iterator[Task]:
        """Yield the task with its plan if the plan solves it."""
        task = replace(task, expert=tuple(script), expert_steps=len(script))
        with closing(SimulatedWorld(replace(CAMERA, color=False))) as simulated:
            outcome = run_task(task, simulated, ScriptedAgent(), max_steps=len(script))
        if all(outcome.predicates) and len(outcome.steps) == len(script):
            yield task

    def _named(self, fits: Callable[[HouseObject], bool], most: int = TRIES) -> Iterator[tuple[HouseObject, str]]:
        """Yield objects that a person can name, in an order drawn by the house's seed."""
        found = [(t, name) for t in self._facts.objects if fits(t) and (name := self._facts.name(t)) is not None]
        yield from sorted(found, key=lambda pair: self._draw("thing", pair[0].id))[:most]

    def _some(self, asked: Sequence[QuestionCandidate]) -> list[QuestionCandidate]:
        return sorted(asked, key=lambda c: self._draw("question", c.question))[:TRIES]

    def _mixed(self, text: str, needed: Sequence[TaskOption], others: Sequence[TaskOption]) -> tuple[TaskOption, ...]:
        unique = {option.text: option for option in (*others, *needed)}
        return tuple(sorted(unique.values(), key=lambda option: self._draw(text, option.text)))

    def _coin(self, *key: object) -> bool:
        return self._draw(*key) % 2 == 0

    def _draw(self, *key: object) -> int:
        return zlib.crc32(repr((self._seed, key)).encode())


def _hangs(place: str) -> bool:
    return place.startswith(("on the wall", "on the ceiling"))


def _door(obj: HouseObject) -> bool:
    return obj.kind in lexicon.OPENINGS


