"""Questions over weeks in the life of a house, with the answers that its script proves.

Ten questions are asked about each house, each of another kind; the next house begins with the next kind. The fields are
those of LA-EQA: question, answer, category, scene, and the episodes that an answer needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from eqa_nodes.bench.house import weeks_phrasings as words
from eqa_nodes.bench.house.weeks_facts import LifeFacts, LookAt, ObjectChange
from eqa_nodes.bench.house.weeks_truth import AnswerRule
from sim_bridge.house.dice import Dice
from sim_bridge.house.life import EVENING, MORNING, PERSON, RARE, LifeObject, LifePatrol

PER_HOUSE = 10
_YES, _NO = r"^\W*yes\b", r"^\W*(?:no\b|not any more|nobody|no one|never)"
_SOMEBODY, _NOBODY = r"^\W*yes\b|\b(?:1|one|a) person\b|\bsome(?:body|one)\b", r"\b(?:0|no|nobody|none|zero|no one)\b"
_GONE = r"\b(?:gone|not|no longer|no|missing|isn't)\b"
_GUESS = r"probabl|likely|guess|expect|usual"
_FEW = 3  # fewer looks are no habit


class WeeksQuestion(NamedTuple):
    """A question with its truth. patrols: numbers of the patrols that an answer needs; kinds: of the objects in it."""

    kind: str
    question: str
    answer: str
    rule: AnswerRule
    patrols: tuple[int, ...]
    kinds: tuple[str, ...] = ()


def questions_of(facts: LifeFacts, first: int = 0, count: int = PER_HOUSE) -> list[WeeksQuestion]:
    """Return questions of different kinds about a life, beginning with kind number `first` of KINDS."""
    writer = _Writer(facts)
    order, found = [*KINDS[first % len(KINDS):], *KINDS[:first % len(KINDS)]], list[WeeksQuestion]()
    for kind in order:
        asked = [q for q in _WRITERS[kind](writer) if q.question not in {known.question for known in found}]
        if asked and len(found) < count:
            found.append(writer.dice.pick(asked)._replace(kind=kind))
    return found


class _Writer:
    """Writes questions of each kind; every method yields all that the life offers, one for each thing asked about."""

    def __init__(self, facts: LifeFacts) -> None:
        self.facts, self.dice = facts, Dice(2_000_000 + facts.life.seed)
        self.people = [o for o in facts.sure if o.kind == PERSON]
        self.things = [o for o in facts.sure if o.kind != PERSON]
        self.movable = [o for o in self.things if not o.stateful and o.routine != RARE]
        self.states = [o for o in self.things if o.stateful and len(facts.seen(o)) > _FEW]

    def ask(self, forms: Sequence[str], answer: str, rule: AnswerRule, patrols: Iterable[int], *objects: LifeObject,
            **slots: str) -> WeeksQuestion:
        """Return a question in one of the phrasings."""
        text = self.dice.pick(forms)
        when = slots.get("when", "")
        return WeeksQuestion("", text.format(**slots, When=when[:1].upper() + when[1:]), answer, rule, tuple(patrols),
                             tuple(dict.fromkeys(o.kind for o in objects)))

    # the present ------------------------------------------------------------------------------------------------------

    def now(self) -> Iterator[WeeksQuestion]:
        """Where something is, and in which state."""
        f = self.facts
        for o in self.movable:
            seen, gone = f.seen(o), f.lost(o)
            if gone is not None:
                yield self.ask(words.NOW["where"], f"It is gone; it was {f.place(o, seen[-1].form)} until "
                               f"{f.when(gone.before)}", AnswerRule((_GONE,)), (gone.before, gone.after), o, x=o.name)
            elif seen:
                yield self.ask(words.NOW["where"], f.place(o, seen[-1].form),
                               AnswerRule(f.place_patterns(o, seen[-1].form)), (seen[-1].patrol,), o, x=o.name)
                room = f.life.room_name(o.forms[seen[-1].form].room)
                yield self.ask(words.NOW["there"], "yes", AnswerRule((_YES,)), (seen[-1].patrol,), o, x=o.name,
                               room=room)
        for o in self.states:
            yield self._yes(words.NOW["state"], o, f.seen(o)[-1:], f.seen(o)[-1].form)

    def still(self) -> Iterator[WeeksQuestion]:
        """Whether something is where it was, or as it was."""
        f = self.facts
        for o in self.movable:
            seen, gone = f.seen(o), f.lost(o)
            if seen:
                there = f.place(o, seen[-1].form, whole=False)
                yield self.ask(words.STILL["place"], "no" if gone else "yes", AnswerRule((_NO if gone else _YES,)),
                               (gone.after if gone else seen[-1].patrol,), o, x=o.name, on=there)
        for o in self.states:
            yield self._yes(words.STILL["state"], o, f.seen(o)[-1:], f.seen(o)[-1].form)

    def missing(self) -> Iterator[WeeksQuestion]:
        """What is gone."""
        gone = [o for o in self.movable if self.facts.lost(o) is not None]
        there = [o for o in self.movable if self.facts.lost(o) is None and self.facts.seen(o)]
        if gone:
            patrols = sorted({n for o in gone if (c := self.facts.lost(o)) is not None for n in c})
            yield self.ask(words.MISSING["all"], ", ".join(o.name for o in gone),
                           AnswerRule(tuple(rf"\b{o.name}\b" for o in gone), tuple(rf"\b{o.name}\b" for o in there)),
                           patrols, *gone)

    # habits -----------------------------------------------------------------------------------------------------------

    def habit(self) -> Iterator[WeeksQuestion]:
        """Where something is usually, and in which state."""
        for o in self.movable:
            yield from self._usual_place(o, words.HABIT["where any"], lambda p: True, "")
            for part in (MORNING, EVENING):
                yield from self._usual_place(o, words.HABIT["where"], _of(part), part, part=part)
            for week, days in (("weekdays", range(5)), ("weekends", range(5, 7))):
                yield from self._usual_place(o, words.HABIT["where week"], _on_weekdays(days),
                                             week, week=week)
        for o in self.states:
            for part in (MORNING, EVENING):
                yield from self._usual_state(o, words.HABIT["state"], _of(part), part)
            yield from self._usual_state(o, words.HABIT["state any"], lambda p: True, MORNING)
            yield from self._every(o)

    def _usual_place(self, o: LifeObject, forms: Sequence[str], wanted: Callable[[LifePatrol], bool], scope: str,
                     **slots: str) -> Iterator[WeeksQuestion]:
        f = self.facts
        seen, looked = f.seen(o, wanted), [look for look in f.looks(o, wanted) if look.looked]
        form, k = _most(seen)
        if len(seen) >= _FEW and k > 0.6 * len(looked) and f.lost(o) is None:
            yield self.ask(forms, f"{f.place(o, form)}, {k} of {len(looked)} {scope or 'times'}",
                           AnswerRule(f.place_patterns(o, form), counts=(k, len(seen), len(looked))),
                           (look.patrol for look in looked), o, x=o.name, **slots)

    def _usual_state(self, o: LifeObject, forms: Sequence[str], wanted: Callable[[LifePatrol], bool],
                     part: str) -> Iterator[WeeksQuestion]:
        seen = self.facts.seen(o, wanted)
        form, k = _most(seen)
        if len(seen) >= _FEW and k > 0.65 * len(seen):
            yield self._yes(forms, o, seen, form, part=part)

    def _every(self, o: LifeObject) -> Iterator[WeeksQuestion]:
        for part in (MORNING, EVENING):
            seen = self.facts.seen(o, _of(part))
            form, k = _most(seen)
            if len(seen) >= _FEW and k > 0.65 * len(seen):
                always = k == len(seen)
                rule = AnswerRule((_YES if always else _NO,), counts=(k, len(seen), len(seen)))
                yield self.ask(words.HABIT["every"], "yes" if always else f"no, {k} of {len(seen)}", rule,
                               (look.patrol for look in seen), o, x=o.name, state=o.forms[form].state, part=part)

    def how_often(self) -> Iterator[WeeksQuestion]:
        """How many times something was so."""
        f = self.facts
        for o in self.states:
            form = self.dice.count(0, 1)
            yield self._count(words.HOW_OFTEN["state"], o, f.seen(o), form)
            part = self.dice.pick((MORNING, EVENING))
            yield self._count(words.HOW_OFTEN["state part"], o, f.seen(o, _of(part)), form, part=part)
            day = self.dice.pick([d for d in f.dates(range(len(f.patrols))) if 2 <= (f.now.date() - d).days <= 14])
            seen = f.seen(o, _from(day))
            yield self._count(words.HOW_OFTEN["state since"], o, seen, form, since=self.dice.pick(f.since_words(day)))
        for o in self.movable:
            if len(o.forms) > 1 and (seen := f.seen(o)):
                form, k = _most(seen)
                looked = [look for look in f.looks(o) if look.form != -1 or form in look.empty]
                rule = AnswerRule(counts=(k, min(len(seen), len(looked)), len(f.patrols)), times=k)
                yield self.ask(words.HOW_OFTEN["place"], f"{k} of {len(looked)} times", rule,
                               (look.patrol for look in seen), o, x=o.name, on=f.place(o, form, whole=False))

    def _count(self, forms: Sequence[str], o: LifeObject, seen: Sequence[LookAt], form: int,
               **slots: str) -> WeeksQuestion:
        k = sum(look.form == form for look in seen)
        return self.ask(forms, f"{k} of {len(seen)} times", AnswerRule(counts=(k, len(seen), len(seen)), times=k),
                        (look.patrol for look in seen), o, x=o.name, state=o.forms[form].state, **slots)

    def which_days(self) -> Iterator[WeeksQuestion]:
        """On which days something was so; only few days are asked for."""
        f = self.facts
        for o in self.states:
            for form in (0, 1):
                yield from self._days(words.WHICH_DAYS["state"], o, f.seen(o), form, state=o.forms[form].state)
                for part in (MORNING, EVENING):
                    yield from self._days(words.WHICH_DAYS["state part"], o, f.seen(o, _of(part)), form, part=part,
                                          state=o.forms[form].state)
        for o in self.movable:
            for form in range(len(o.forms)):
                yield from self._days(words.WHICH_DAYS["place"], o, f.seen(o), form, on=f.place(o, form, whole=False))

    def _days(self, forms: Sequence[str], o: LifeObject, seen: Sequence[LookAt], form: int,
              **slots: str) -> Iterator[WeeksQuestion]:
        so = [look.patrol for look in seen if look.form == form]
        days = self.facts.dates(so)
        if 1 <= len(days) <= 6:
            rule = AnswerRule(dates=tuple(day.isoformat() for day in days))
            yield self.ask(forms, ", ".join(f"{day:%-d %B}" for day in days), rule, so, o, x=o.name, **slots)

    def next(self) -> Iterator[WeeksQuestion]:
        """What is likely tomorrow."""
        f = self.facts
        for part in (MORNING, EVENING):
            for o in self.movable:
                seen, looked = f.seen(o, _of(part)), [look for look in f.looks(o, _of(part)) if look.looked]
                form, k = _most(seen)
                if len(seen) >= _FEW and k > 0.6 * len(looked) and f.lost(o) is None and f.seen(o)[-4:] and _steady(
                        seen, form):
                    yield self.ask(words.NEXT["where"], f"probably {f.place(o, form)}",
                                   AnswerRule((*f.place_patterns(o, form), _GUESS)), (look.patrol for look in seen), o,
                                   x=o.name, part=part)
            for o in self.states:
                seen = f.seen(o, _of(part))
                form, k = _most(seen)
                if len(seen) >= _FEW and k > 0.65 * len(seen) and _steady(seen, form):
                    asked = self.dice.count(0, 1)
                    says = r"\byes\b" if asked == form else r"\bno\b|\bnot\b"
                    yield self.ask(words.NEXT["state"], f"probably {'yes' if asked == form else 'no'}",
                                   AnswerRule((says, _GUESS)), (look.patrol for look in seen), o, x=o.name,
                                   state=o.forms[asked].state, part=part)

    # times ------------------------------------------------------------------------------------------------------------

    def since_when(self) -> Iterator[WeeksQuestion]:
        """Between which looks something changed."""
        for forms, o, change, slots in self._changes(words.SINCE_WHEN):
            rule = AnswerRule((self.facts.moment(change.before), self.facts.moment(change.after)))
            yield self.ask(forms, f"between {self.facts.when(change.before)} and {self.facts.when(change.after)}", rule,
                           change, o, x=o.name, **slots)

    def how_long(self) -> Iterator[WeeksQuestion]:
        """How long ago something changed."""
        for forms, o, change, slots in self._changes(words.HOW_LONG):
            low, high = self.facts.hours(change)
            yield self.ask(forms, f"for {low / 24:.1f} to {high / 24:.1f} days", AnswerRule(hours=(low, high)), change,
                           o, x=o.name, **slots)

    def _changes(self, forms: words.Phrasings) -> Iterator[
            tuple[Sequence[str], LifeObject, ObjectChange, dict[str, str]]]:
        f = self.facts
        for o in self.movable:
            if (gone := f.lost(o)) is not None:
                yield forms["gone"], o, gone, {}
            elif (change := f.settled(o)) is not None:
                yield forms["place"], o, change, {"on": f.place(o, f.seen(o)[-1].form, whole=False)}
        for o in self.states:
            if (change := f.settled(o)) is not None:
                yield forms["state"], o, change, {"state": o.forms[f.seen(o)[-1].form].state}

    def then(self) -> Iterator[WeeksQuestion]:
        """What was so at some time."""
        f = self.facts
        for o in self.movable:
            for look in self.dice.shuffled(f.seen(o))[:2]:
                when = self.dice.pick(f.when_words(look.patrol))
                yield self.ask(words.THEN["where"], f.place(o, look.form), AnswerRule(f.place_patterns(o, look.form)),
                               (look.patrol,), o, x=o.name, when=when)
                yield self.ask(words.THEN["place"], "yes", AnswerRule((_YES,)), (look.patrol,), o, x=o.name, when=when,
                               on=f.place(o, look.form, whole=False))
        for o in self.states:
            for look in self.dice.shuffled(f.seen(o))[:2]:
                yield self._yes(words.THEN["state"], o, [look], look.form,
                                when=self.dice.pick(f.when_words(look.patrol)))

    def first_and_last(self) -> Iterator[WeeksQuestion]:
        """When something was first and last seen."""
        f = self.facts
        for o in self.movable:
            for which, number in (("first", 0), ("last", -1)):
                if seen := f.seen(o):
                    patrol = seen[number].patrol
                    yield self.ask(words.FIRST_AND_LAST[which], f.when(patrol), AnswerRule((f.moment(patrol),)),
                                   (patrol,), o, x=o.name)

    def moved(self) -> Iterator[WeeksQuestion]:
        """Whether something moved since a day. The day is such that it does not matter whether it counts itself."""
        f = self.facts
        for o in self.movable:
            if f.lost(o) is not None:
                continue
            for day in self.dice.shuffled(f.dates(range(len(f.patrols))))[:4]:
                before = [look.form for look in f.seen(o, _before(day))][-1:]
                on = [look.form for look in f.seen(o, _on(day))]
                after = f.seen(o, _after(day))
                if not (before and after and on) or set(on) != set(before) or (f.now.date() - day).days < 1:
                    continue
                moved = {look.form for look in after} != set(on)
                yield self.ask(words.MOVED["since"], "yes" if moved else "no", AnswerRule((_YES if moved else _NO,)),
                               (look.patrol for look in after), o, x=o.name, since=self.dice.pick(f.since_words(day)))

    def changed(self) -> Iterator[WeeksQuestion]:
        """What changed since a day, in one room or in all of them."""
        f = self.facts
        for day in self.dice.shuffled([d for d in f.dates(range(len(f.patrols))) if (f.now.date() - d).days >= 1])[:12]:
            lasting, none = list[LifeObject](), list[LifeObject]()
            for o in self.things:
                is_, was = self._at_end(o), self._before(o, day)
                seen = [look for look in f.looks(o, _from(day)) if look.looked]
                if is_ is not None and was is not None and is_ != was:
                    lasting.append(o)
                elif is_ is not None and is_ == was and all(look.form == was for look in seen):
                    none.append(o)
            if lasting:
                rule = AnswerRule(tuple(rf"\b{o.name}\b" for o in lasting), tuple(rf"\b{o.name}\b" for o in none))
                yield self.ask(words.CHANGED["since"], ", ".join(o.name for o in lasting), rule,
                               [look.patrol for o in lasting for look in f.seen(o)[-1:]], *lasting,
                               since=self.dice.pick(f.since_words(day)))

    def _at_end(self, o: LifeObject) -> int | None:
        return -1 if self.facts.lost(o) is not None else self.facts.seen(o)[-1].form if self.facts.seen(o) else None

    def _before(self, o: LifeObject, day: date) -> int | None:
        """Return the form before and on a day, -1 where its place was empty, None where that is not clear."""
        looks = self.facts.looks(o)
        dates = [self.facts.at(look.patrol).date() for look in looks]
        known = [(look.form, d) for look, d in zip(looks, dates, strict=True) if look.looked and d <= day]
        before = [form for form, d in known if d != day][-1:]
        return before[0] if before and {form for form, d in known if d == day} <= set(before) else None

    # people, and what is not known ------------------------------------------------------------------------------------

    def who(self) -> Iterator[WeeksQuestion]:
        """Whether somebody was in a room."""
        f = self.facts
        for o in self.people:
            for look in self.dice.shuffled([look for look in f.looks(o) if look.looked])[:8]:
                forms = [look.form] if look.form >= 0 else list(look.empty)
                room = f.life.room_name(o.forms[forms[0]].room)
                when, there = self.dice.pick(f.when_words(look.patrol)), look.form >= 0
                yield self.ask(words.WHO["room"], "yes" if there else "no", AnswerRule(
                    (_SOMEBODY if there else _NOBODY,)), (look.patrol,), o, room=room, when=when)
                yield self.ask(words.WHO["count"], str(int(there)), AnswerRule(
                    (r"\b(?:1|one)\b" if there else _NOBODY,)), (look.patrol,), o, room=room,
                    when=when)

    def not_known(self) -> Iterator[WeeksQuestion]:
        """What was never seen, not looked at, or seen too seldom; and who did something."""
        f, unknown = self.facts, AnswerRule(declines=True)
        held = {t.kind for t in f.life.house.objects} | {o.kind for o in f.life.objects}
        for name in self.dice.shuffled([name for name in words.UNSEEN if name not in held])[:2]:
            yield self.ask(words.NOT_KNOWN["unseen"], "I have never seen it", unknown, (), x=name)
        for o in self.states[:2]:
            yield self.ask(words.NOT_KNOWN["who"], "I do not know", unknown, (), o, x=o.name,
                           state=o.forms[f.seen(o)[-1].form].state)
        for o in [o for o in self.movable if f.seen(o)][:2]:
            yield self.ask(words.NOT_KNOWN["who moved"], "I do not know", unknown, (), o, x=o.name,
                           on=f.place(o, f.seen(o)[-1].form))
        for o in self.states:
            for look in [look for look in f.looks(o) if not look.looked][:2]:
                yield self.ask(words.NOT_KNOWN["not looked"], "I did not look then", unknown, (), o, x=o.name,
                               state=o.forms[0].state, when=self.dice.pick(f.when_words(look.patrol)))
        for o in self.things:
            if o.stateful and 0 < len(f.seen(o)) < _FEW:
                yield self.ask(words.NOT_KNOWN["few"], "I have looked too seldom", unknown, (), o, x=o.name,
                               state=o.forms[0].state, part=MORNING)

    def _yes(self, forms: Sequence[str], o: LifeObject, seen: Sequence[LookAt], form: int, **slots: str
             ) -> WeeksQuestion:
        """Return a question whether the state is one of the two."""
        asked = self.dice.count(0, 1)
        yes = asked == form
        k = sum(look.form == asked for look in seen)
        rule = AnswerRule((_YES if yes else _NO,), counts=(k, len(seen), len(seen)) if len(seen) > 1 else ())
        return self.ask(forms, "yes" if yes else "no", rule, (look.patrol for look in seen), o, x=o.name,
                        state=o.forms[asked].state, **slots)


def _of(part: str) -> Callable[[LifePatrol], bool]:
    return lambda patrol: patrol.part == part


def _on_weekdays(days: range) -> Callable[[LifePatrol], bool]:
    return lambda patrol: patrol.first.weekday() in days


def _from(day: date) -> Callable[[LifePatrol], bool]:
    return lambda patrol: patrol.first.date() >= day


def _before(day: date) -> Callable[[LifePatrol], bool]:
    return lambda patrol: patrol.first.date() < day


def _on(day: date) -> Callable[[LifePatrol], bool]:
    return lambda patrol: patrol.first.date() == day


def _after(day: date) -> Callable[[LifePatrol], bool]:
    return lambda patrol: patrol.first.date() > day


def _most(seen: Sequence[LookAt]) -> tuple[int, int]:
    """Return the most frequent form and how often it was seen."""
    counts = np.bincount([look.form for look in seen]) if seen else np.zeros(1, int)
    return int(counts.argmax()), int(counts.max())


def _steady(seen: Sequence[LookAt], form: int) -> bool:
    """Return whether the habit also holds for the last looks: an object that was moved for good has a new place."""
    return sum(look.form == form for look in seen[-4:]) >= 2


_WRITERS: dict[str, Callable[[_Writer], Iterator[WeeksQuestion]]] = {
    "now": _Writer.now, "habit": _Writer.habit, "how often": _Writer.how_often, "which days": _Writer.which_days,
    "since when": _Writer.since_when, "how long": _Writer.how_long, "then": _Writer.then,
    "first and last": _Writer.first_and_last, "still": _Writer.still, "moved": _Writer.moved,
    "missing": _Writer.missing, "changed": _Writer.changed, "next": _Writer.next, "who": _Writer.who,
    "not known": _Writer.not_known}
KINDS = tuple(_WRITERS)
