"""Tasks in the built-in houses: questions about attributes and space, going somewhere, chores, and dealing with people.

Each task is generated from the scene graph, planned on its navigation graph, and executed once; tasks that the plan
does not solve are dropped. The start is chosen so that the plan has about the drawn number of steps.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise

from eqa_nodes.bench.embodied.agents import ScriptedAgent
from eqa_nodes.bench.embodied.loop import MAX_STEPS, run_task
from eqa_nodes.bench.embodied.tasks import ANSWER, INTERACTION, Predicate, Task, TaskOption
from eqa_nodes.bench.embodied.world import SimulatedWorld
from eqa_nodes.bench.house.asking import ANSWERS, AskedQuestion, Asker
from eqa_nodes.bench.house.graph import GLANCE, HouseView, Planner, Stage, graph_of
from eqa_nodes.bench.house.phrasings import Wording
from eqa_nodes.bench.house.solver import Solver, WorkStep
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.actions import ACTIONS, OBJECT, PUT, TAKE, ActionRule
from sim_bridge.house.handling import belongs, liftable, surfaces_of
from sim_bridge.house.people.residents import TALK_M, Resident, Residents
from sim_bridge.house.questions import lexicon
from sim_bridge.house.questions.facts import HouseFacts
from sim_bridge.house.scene import HouseObject
from sim_bridge.house.world import chores_world

ATTRIBUTE, SPATIAL, NAVIGATION, OBJECTS, SOCIAL = FAMILIES = (
    "AttrQA", "SpatialQA", "Navigation", "ObjectInteraction", "SocialInteraction")
PEOPLE = 2  # residents of each house
MODE_STEPS = 6  # most likely number of steps that is drawn; detours make plans a little longer, 10.7 on average
DISTRACTORS = 8  # interactions offered besides the needed ones
TRIES = 5  # maximum number of candidates of a kind tried per house
_PERSON_SIZE_M = (0.5, 0.5, 1.6)
_STATES = {"open": "open", "closed": "closed", "on": "switched_on", "off": "switched_off"}  # state -> its predicate


def house_tasks(seeds: Iterable[int], n: int) -> Iterator[Task]:
    """Yield n tasks, fewer if the houses run out, as many of each family; at most one of each per house."""
    most, wording, made, answers = math.ceil(n / len(FAMILIES)), Wording(), Counter[str](), Counter[str]()

    def of_all() -> Iterator[Task]:
        for seed in seeds:
            left = [family for family in FAMILIES if made[family] < most]
            if not left:
                return
            for task in tasks_of(seed, wording, left, answers):
                made[task.kind] += 1
                yield task

    return (replace(task, index=index) for index, task in enumerate(islice(of_all(), n)))


def tasks_of(seed: int, wording: Wording | None = None, families: Sequence[str] = FAMILIES,
             answers: Counter[str] | None = None) -> Iterator[Task]:
    """Yield the tasks of one house: at most one of each family. answers: how often each answer was right so far."""
    with closing(_Writer(seed, wording or Wording(), Counter() if answers is None else answers)) as writer:
        for family in families:
            task = next(writer.of(family), None)
            if task is not None:
                yield task


class _Writer:
    """The tasks of one house."""

    def __init__(self, seed: int, wording: Wording, answers: Counter[str]) -> None:
        self._seed, self._scene = seed, f"house:{seed}+{PEOPLE}+chores"
        self._place, self._wording, self._answers = chores_world(seed), wording, answers
        self._facts = HouseFacts(self._place.house)
        self._residents = Residents(self._place, PEOPLE, RobotModel().radius_m)
        self._view = HouseView(self._place, self._residents)
        self._asker = Asker(self._place, self._facts, self._draw)
        self._solver = Solver(self._facts)
        self._simulated = SimulatedWorld(GLANCE)  # what is seen in few pixels is seen in many

    def close(self) -> None:
        """Release the simulator."""
        self._simulated.close()

    def of(self, family: str) -> Iterator[Task]:
        """Yield tasks of a family, those of the kinds that were used least first."""
        kinds: dict[str, Callable[[], Iterator[Task]]]
        if family in (ATTRIBUTE, SPATIAL):
            asked = self._asker.attributes if family == ATTRIBUTE else self._asker.spaces
            kinds = {kind: partial(self._questions, family, found) for kind, found in asked.items()}
        elif family == NAVIGATION:
            kinds = {"reach": self._reach, "return": self._return, "via": self._via}
        elif family == OBJECTS:
            kinds = {"do": self._chores}
        else:
            kinds = {"greet": self._greet, "ask": self._ask, "hand_over": self._hand_over, "follow": self._follow,
                     "wake": self._wake, "point": self._point}
        order = sorted(kinds, key=lambda kind: (self._wording.count(family, kind), self._draw(kind)))
        return chain.from_iterable(kinds[kind]() for kind in order)

    # questions -------------------------------------------------------------------------------------------------------

    def _questions(self, family: str, asked: Callable[[], Iterator[AskedQuestion]]) -> Iterator[Task]:
        """Yield questions, those with answers that were right least often first."""
        found = sorted(asked(), key=lambda q: (self._answers[f"{q.kind} {q.answer}"], self._draw(str(q.words))))
        for q in found[:TRIES]:
            text = self._wording.text(family, q.kind, **q.words)
            options = [TaskOption(ANSWER, answer) for answer in (q.answer, *q.wrong)]
            task = replace(self._blank(family, text), options=self._mixed(text, options),
                           predicates=(Predicate("choose", right_answer_content=q.answer),))
            planner = Planner(self._view, task)
            stages = [Stage(planner.shows(q.targets, min(q.need, len(q.targets))), options[0].shown)]
            for proved in self._started(task, planner, stages, q.kind):
                self._answers[f"{q.kind} {q.answer}"] += 1
                yield proved

    # going -----------------------------------------------------------------------------------------------------------

    def _goals(self) -> list[tuple[HouseObject, str]]:
        return self._named("goal", lambda t: t.relation == "floor" and t.size[2] > 0.4 and not _door(t))

    def _reach(self) -> Iterator[Task]:
        for obj, name in self._goals()[:TRIES]:
            task = self._blank(NAVIGATION, self._wording.text(NAVIGATION, "reach", name=name), (obj,))
            planner = Planner(self._view, task)
            yield from self._started(replace(task, predicates=_there(obj)), planner, [Stage(planner.near(obj))],
                                     "reach")

    def _return(self) -> Iterator[Task]:
        for obj, name in self._goals()[:TRIES]:
            task = self._blank(NAVIGATION, self._wording.text(NAVIGATION, "return", name=name), (obj,))
            planner = Planner(self._view, task)
            there = [Stage(planner.near(obj))]
            begin = planner.begin(there, self._steps("return", obj.id) // 2, self._draw)
            turn = planner.plan(begin, there) if begin is not None else None
            if begin is None or turn is None or turn.at.point == begin.point:
                continue
            goals = (Predicate("agent_pass", point=turn.at.point), Predicate("agent_at", point=begin.point))
            stages = [Stage(planner.at(turn.at.point)), Stage(planner.at(begin.point))]
            plan = planner.plan(begin, stages)
            if plan is not None:
                yield from self._proved(replace(task, start=planner.graph.pose(begin), predicates=goals), plan.texts,
                                        "return")

    def _via(self) -> Iterator[Task]:
        goals = self._goals()
        for (first, name), (obj, other) in pairwise(goals):
            text = self._wording.text(NAVIGATION, "via", name=name, other=other)
            task = self._blank(NAVIGATION, text, (first, obj))
            planner = Planner(self._view, task)
            close = planner.reach(first)
            if not close:
                continue
            point = min(close).point
            passed = (Predicate("agent_pass", point=point), *_there(obj))
            yield from self._started(replace(task, predicates=passed), planner,
                                     [Stage(planner.at(point)), Stage(planner.near(obj))], "via")

    # chores ----------------------------------------------------------------------------------------------------------

    def _chores(self) -> Iterator[Task]:
        """Yield tasks that end with one action, those with actions that were used least first."""
        possible = [(rule, obj, name, work) for rule in ACTIONS.values() if not rule.social
                    for obj, name in self._named(rule.name, partial(_suits, rule))
                    if (work := self._work(rule, obj))]
        kinds = Counter(rule.name for rule, *_ in possible)
        first = sorted(possible, key=lambda found: (self._answers[f"do {found[0].name}"], kinds[found[0].name],
                                                    self._draw(f"{found[0].name} {found[1].id}")))
        for rule, obj, name, work in first[:2 * TRIES]:
            holds = next((step.object for step in reversed(work[:-1]) if step.rule.hand == TAKE), obj)
            do = rule.text.format(object=name).replace("what you hold", self._name(holds))
            text = self._wording.text(OBJECTS, "do", do=do)
            for task in self._worked(OBJECTS, text, work, self._goal_of(rule, obj, work), "do"):
                self._answers[f"do {rule.name}"] += 1
                yield task

    def _work(self, rule: ActionRule, obj: HouseObject) -> list[WorkStep]:
        """Return the actions of a task that ends with this one, empty if it makes no task."""
        if rule.hand == PUT:
            movable = self._named(f"move {obj.id}", lambda t: liftable(t) and t.support != obj.id and t is not obj)
            on = any(surface.relation == "on" for surface in surfaces_of(obj)) and obj.relation == "floor"
            picked = self._solver.work(ACTIONS["pick"], movable[0][0]) if movable and on else None
            return [*picked, WorkStep(rule, obj)] if picked is not None and len(picked) == 1 else []
        work = self._solver.work(rule, obj) or []
        return work if len({(step.rule.name, step.object.id) for step in work}) == len(work) else []

    def _goal_of(self, rule: ActionRule, obj: HouseObject, work: Sequence[WorkStep]) -> tuple[Predicate, ...]:
        if rule.hand == PUT:
            thing = work[0].object.id
            return Predicate("grab_once", object=thing), Predicate("on", object=thing, support=obj.id)
        if rule.hand == TAKE:
            return (Predicate("grab", object=obj.id),)
        if rule.becomes in _STATES and len(work) == 1:
            return (Predicate(_STATES[rule.becomes], object=obj.id),)
        return (Predicate("special_action_success", action_text=self._option(work[-1]).text),)

    def _worked(self, family: str, text: str, work: Sequence[WorkStep], goals: tuple[Predicate, ...], kind: str,
                after: Callable[[Planner], list[Stage]] = lambda planner: [], people: Sequence[Resident] = (),
                answers: Sequence[TaskOption] = ()) -> Iterator[Task]:
        """Yield a task whose actions have to be done in order; after: stages that follow them."""
        needed = [self._option(step) for step in work]
        approached = {t.id: t for step in work for t in (step.object, step.beside) if t is not None}
        task = self._blank(family, text, tuple(approached.values()))
        options = self._mixed(text, [*needed, *self._others(needed, people)])
        planner, stages, held = Planner(self._view, task), list[Stage](), 0
        for step, option in zip(work, needed, strict=True):
            if step.object.id == held and step.rule.held == (OBJECT,):
                goals_here = planner.beside(step.beside) if step.beside is not None else frozenset()
            else:
                reach_m = TALK_M if step.rule.social else 1.2
                goals_here = planner.reach(step.object, step.beside, reach_m)
            stages.append(Stage(goals_here, option.text))
            held = step.object.id if step.rule.hand == TAKE else 0 if step.rule.hand else held
        stages += after(planner)
        yield from self._started(replace(task, predicates=goals, options=(*options, *answers)), planner, stages, kind)

    def _option(self, step: WorkStep) -> TaskOption:
        return TaskOption(INTERACTION, self._said(step.rule, step.object), step.rule.name, step.object.id)

    def _said(self, rule: ActionRule, obj: HouseObject) -> str:
        """Return the text of an action on an object or a person."""
        person = self._residents.by_id(obj.id)
        if person is None:
            return rule.text.format(object=self._name(obj))
        return rule.text.format(object=person.name, known=self._kind(person.known))

    def _others(self, needed: Sequence[TaskOption], people: Sequence[Resident]) -> list[TaskOption]:
        """Return interactions that are possible in this house but not needed."""
        found = [self._option(WorkStep(rule, _body(p))) for p in people for rule in ACTIONS.values() if rule.social]
        for obj, _ in self._named("thing", lambda t: not _door(t)):
            rules = [rule for rule in ACTIONS.values() if not rule.social and rule.hand != PUT and belongs(obj, rule)]
            if rules and len(found) < 3 * DISTRACTORS:
                found.append(self._option(WorkStep(rules[self._draw(f"other {obj.id}") % len(rules)], obj)))
        texts = {option.text for option in needed}
        found = [option for option in found if option.text not in texts]
        return sorted(found, key=lambda option: self._draw(f"{needed[0].text} {option.text}"))[:DISTRACTORS]

    # people ----------------------------------------------------------------------------------------------------------

    def _people(self, kind: str, asleep: bool = False) -> list[tuple[Resident, str]]:
        """Return people with what they are called in a text, in an order drawn by the house's seed."""
        found = sorted((p for p in self._residents.people if p.asleep == asleep),
                       key=lambda p: self._draw(f"{kind} {p.name}"))
        return [(p, f"{p.name}, the {p.role},") for p in found]

    def _social(self, kind: str, person: Resident, text: str, work: Sequence[WorkStep],
                goals: tuple[Predicate, ...] = (), after: Callable[[Planner], list[Stage]] = lambda planner: [],
                answers: Sequence[TaskOption] = ()) -> Iterator[Task]:
        """Yield a task that is done when the last action is, and the further goals are reached."""
        said = Predicate("special_action_success", action_text=self._option(work[-1]).text)
        yield from self._worked(SOCIAL, _clean(text), work, (said, *goals), kind, after, self._residents.people,
                                answers)

    def _greet(self) -> Iterator[Task]:
        for p, who in self._people("greet"):
            yield from self._social("greet", p, self._wording.text(SOCIAL, "greet", who=who),
                                    [WorkStep(ACTIONS["greet"], _body(p))])

    def _wake(self) -> Iterator[Task]:
        for p, who in self._people("wake", asleep=True):
            yield from self._social("wake", p, self._wording.text(SOCIAL, "wake", who=who),
                                    [WorkStep(ACTIONS["wake"], _body(p))])

    def _ask(self) -> Iterator[Task]:
        places = sorted({place for t in self._facts.objects if (place := self._facts.place(t))})
        for p, who in self._people("ask"):
            wrong = sorted((place for place in places if place != p.place and not place.endswith(p.place)
                            and not p.place.endswith(place)), key=lambda place: self._draw(f"ask {place}"))
            if not p.known or len(wrong) < ANSWERS - 1:
                continue
            answers = [TaskOption(ANSWER, place) for place in (p.place, *wrong[:ANSWERS - 1])]
            text = self._wording.text(SOCIAL, "ask", who=who, known=self._kind(p.known))
            yield from self._social("ask", p, text, [WorkStep(ACTIONS["ask"], _body(p))],
                                    (Predicate("choose", right_answer_content=p.place),),
                                    partial(_anywhere, answers[0].shown),
                                    self._mixed(text, answers))

    def _hand_over(self) -> Iterator[Task]:
        for p, who in self._people("hand over"):
            wanted = next((t for t in self._facts.objects if t.id == p.wanted), None)
            work = self._solver.work(ACTIONS["pick"], wanted) if wanted is not None else None
            if work is not None and wanted is not None:
                text = self._wording.text(SOCIAL, "hand_over", who=who, wanted=self._kind(p.wanted))
                yield from self._social("hand_over", p, text, [*work, WorkStep(ACTIONS["hand_over"], _body(p))],
                                        (Predicate("grab_once", object=wanted.id),))

    def _follow(self) -> Iterator[Task]:
        for p, who in self._people("follow"):
            for obj, name in self._goals()[:TRIES]:
                goals = (Predicate("agent_near", object=obj.id), Predicate("agent_near", object=p.id))
                text = self._wording.text(SOCIAL, "follow", who=who, name=name)
                yield from self._social("follow", p, text, [WorkStep(ACTIONS["ask_to_follow"], _body(p))], goals,
                                        partial(_close_to, obj))

    def _point(self) -> Iterator[Task]:
        for p, who in self._people("point"):
            known = next((t for t in self._facts.objects if t.id == p.known), None)
            if known is not None:
                text = self._wording.text(SOCIAL, "point", who=who, known=self._kind(p.known))
                yield from self._social("point", p, text, [WorkStep(ACTIONS["ask_to_point"], _body(p))],
                                        (Predicate("agent_near", object=known.id),),
                                        partial(_close_to, known))

    # common ----------------------------------------------------------------------------------------------------------

    def _blank(self, family: str, text: str, approached: tuple[HouseObject, ...] = ()) -> Task:
        start = self._place.house.start
        task = Task(0, family, self._scene, text, start, (), (), (), ())
        return graph_of(self._view, start, approached).of(task)

    def _started(self, task: Task, planner: Planner, stages: Sequence[Stage], kind: str) -> Iterator[Task]:
        """Yield the task from the start at which its plan has about the drawn number of steps, if it can be done."""
        begin = planner.begin(stages, self._steps(kind, task.text), self._draw)
        plan = planner.plan(begin, stages) if begin is not None else None
        if begin is not None and plan is not None:
            yield from self._proved(replace(task, start=planner.graph.pose(begin)), plan.texts, kind)

    def _proved(self, task: Task, script: Sequence[str], kind: str) -> Iterator[Task]:
        """Yield the task with its plan if the plan has a length that an agent may need, and solves it."""
        if not 0 < len(script) <= MAX_STEPS:
            return
        task = replace(task, expert=tuple(script), expert_steps=len(script))
        outcome = run_task(task, self._simulated, ScriptedAgent(), max_steps=len(script))
        if outcome.done and len(outcome.steps) == len(script):
            self._wording.used(task.kind, kind)
            yield task

    def _steps(self, *key: object) -> int:
        """Draw the wanted number of steps: 1 to MAX_STEPS, triangular with its peak at MODE_STEPS."""
        low, high, u = 1.0, float(MAX_STEPS), self._draw(("steps", *key)) / 2 ** 32
        share = (MODE_STEPS - low) / (high - low)
        if u < share:
            return int(low + math.sqrt(u * (high - low) * (MODE_STEPS - low)))
        return int(high - math.sqrt((1 - u) * (high - low) * (high - MODE_STEPS)))

    def _named(self, why: str, fits: Callable[[HouseObject], bool]) -> list[tuple[HouseObject, str]]:
        """Return objects that a person can name, in an order drawn by the house's seed."""
        found = [(t, name) for t in self._facts.objects if fits(t) and (name := self._facts.name(t)) is not None]
        return sorted(found, key=lambda pair: self._draw((why, pair[0].id)))

    def _name(self, obj: HouseObject) -> str:
        return self._facts.name(obj) or f"the {obj.kind}"

    def _kind(self, instance: int) -> str:
        return next((t.kind for t in self._facts.objects if t.id == instance), "thing")

    def _mixed(self, text: str, options: Sequence[TaskOption]) -> tuple[TaskOption, ...]:
        unique = {option.text: option for option in options}
        return tuple(sorted(unique.values(), key=lambda option: self._draw((text, option.text))))

    def _draw(self, key: object) -> int:
        return zlib.crc32(repr((self._seed, key)).encode())


def _there(obj: HouseObject) -> tuple[Predicate, Predicate]:
    return Predicate("agent_near", object=obj.id), Predicate("looking_at", object=obj.id)


def _body(person: Resident) -> HouseObject:
    """Return a person as something to go to and look at."""
    return HouseObject(person.id, "person", 0, (person.pose.x, person.pose.y, 0.0), person.pose.yaw, _PERSON_SIZE_M)


def _anywhere(option: str, planner: Planner) -> list[Stage]:
    return [Stage(planner.everywhere(), option)]


def _close_to(obj: HouseObject, planner: Planner) -> list[Stage]:
    return [Stage(planner.near(obj, look=False))]


def _suits(rule: ActionRule, obj: HouseObject) -> bool:
    return belongs(obj, rule) and not _door(obj)


def _clean(text: str) -> str:
    """Return a text without the comma of "Anna, the aunt," before another sign."""
    return text.replace(",.", ".").replace(",:", ":").replace(",,", ",").replace(",?", "?").replace(",;", ";")


def _door(obj: HouseObject) -> bool:
    return obj.kind in lexicon.OPENINGS
