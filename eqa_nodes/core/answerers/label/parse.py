"""Parses a plain English question by a table of phrasings: its form, and the objects it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from eqa_nodes.core.answerers.label.measure_phrasings import MEASURES, SIDES
from eqa_nodes.core.answerers.label.rewrites import plainly
from eqa_nodes.core.language.english import COLOURS, number, singular
from eqa_nodes.core.language.politeness import in_normal_form
from eqa_nodes.core.language.quantities import lengths
from eqa_nodes.core.language.query import Query, Thing
from eqa_nodes.core.language.rooms import is_room, named_after_room, room_name
from eqa_nodes.core.language.states import STATES
from eqa_nodes.core.language.targets import Compared, Target, compared
from eqa_nodes.core.language.uses import OFFERS, purpose_of
from eqa_nodes.core.storage.text import printable

_COLOUR = rf"(?:(?:light|dark) )?(?:{'|'.join((*COLOURS, 'grey'))})"
_BE = "(?:is|are|was|were)"
_ON = r"(?P<relation>on top of|on|in|inside|under|underneath|beneath|below)"
_SAME_RELATION = {"on top of": "on", "inside": "in", "underneath": "under", "beneath": "under", "below": "under"}


# Tried in order on the plain form of the question; groups t, u, v are noun phrases, a and b options, the others fields.
_FACING = r"(?:(?: ,)? (?:when|if|as) (?:you|i) (?:face|look at).*)?"
_CAN_I = r"(?:can|could|should|do|would) (?:i|you|we|one)"
_THERE = r"(?: in (?P<room>.+))?"
_WASTE = r"is (?P<purpose>electricity|energy|power|water) being wasted"
_SAYS = "(?:say|read|show|display|tell|state)"
_WRITING = "(?:label|title|text|writing|inscription|words?|name)"
_PHRASINGS = (*MEASURES, *((form, re.compile(pattern)) for form, pattern in (
    ("text", rf"what (?:does|do) (?:{_WRITING} (?:on|of) )?(?P<t>.+?) {_SAYS}"),
    ("text", rf"(?:what|which) (?:time|month) (?:does|do) (?P<t>.+?) {_SAYS}"),
    ("text", r"what (?P<t>(?!is |are |does |do ).+?) (?:says|reads|shows|displays)"),
    ("text", r"what time is it (?:on|by|according to) (?P<t>.+)"),
    ("text", rf"what (?:is|are) {_WRITING} (?:on|of) (?P<t>.+)"),
    ("text", r"what (?:is|does it) (?:written|printed|say) on (?P<t>.+)"),
    ("seats", r"how many (?:people|persons|guests) can (?:sit|eat|dine) (?:at|around) (?P<t>.+)"),
    ("more", r"how many more (?P<t>chairs?|seats?) do i need in (?P<room>.+) for (?P<number>\w+) (?:people|guests)"),
    ("enough", r"are there enough (?P<t>chairs?|seats?) for (?P<number>\w+) (?:people|guests) (?:in|at) (?P<room>.+)"),
    ("bath", r"can (?:i|you|one) take bath in (?P<room>.+?)(?: ,)? or only (?:take )?shower"),
    ("fits_two", r"can (?:two|2) (?:people|persons|adults) sleep in (?P<t>.+)"),
    ("slept", r"has any(?:one|body) slept in (?P<t>.+?)(?: since .+)?"),
    ("slept", r"could some(?:one|body) have slept in (?P<t>.+)"),
    ("wasted", rf"{_WASTE} (?:by|at) (?P<t>.+)"),
    ("wasted_in", rf"{_WASTE} in (?P<room>.+)"),
    ("wasting", r"what is wasting (?P<purpose>electricity|energy|power|water) in (?P<room>.+)"),
    ("stays_cold", r"will (?:food|milk|drinks) in (?P<t>.+) (?:stay|keep) (?:cold|fresh)"),
    ("set", r"is (?P<t>.+) set for (?:meal|breakfast|lunch|dinner|supper)"),
    ("offered", r"is there (?:any|some)thing to (?P<purpose>read|drink|eat)(?: from)? on (?P<t>.+)"),
    ("filled", r"is there (?:any|some) (?P<purpose>\w+) left in (?P<t>.+)"),
    ("anything", rf"is there anything {_ON} (?P<t>.+)"),
    ("rooms", (r"(?:how many|which|what) (?P<t>rooms?|bedrooms?|bathrooms?|restrooms?)(?: (?:is|are) there)?"
               r"(?: in house)?")),
    ("count_state", rf"how many (?P<t>.+?) {_BE} (?:there )?(?:switched |turned |still )*(?P<a>{STATES}){_THERE}"),
    ("count_at", rf"how many (?P<t>.+?) (?:{_BE} |can i see |do i have )?(?:there )?{_ON} (?P<u>.+)"),
    ("count", rf"how many (?P<t>.+?)(?: {_BE}(?: there)?| do i have| can i see)?"),
    ("look_of", (r"(?:what|which) colou?r is thing in (?P<room>.+?) (?:that i can use to|(?:in|on|at) which i can) "
                 r"(?P<purpose>.+)")),
    ("colour", rf"(?:what|which) (?:colou?r|shade) {_BE} (?P<t>.+)"),
    ("colour", rf"what {_BE} colou?rs? of (?P<t>.+)"),
    ("colour", rf"{_BE} (?P<t>.+?) (?P<a>{_COLOUR})(?: ,)? or (?P<b>{_COLOUR})"),
    ("colour?", rf"{_BE} (?P<t>.+?) (?P<a>{_COLOUR})"),
    ("material", rf"what (?:material )?{_BE} (?P<t>.+) made (?:out of|of|from)"),
    ("material", rf"(?:what|which) material {_BE} (?P<t>.+)|what {_BE} material of (?P<u>.+)"),
    ("side?", (rf"{_BE} (?P<t>.+) (?:to|on) (?P<a>left|right)(?: side)? or (?:to |on )?(?P<b>left|right)(?: side)? of "
               rf"(?P<u>.+?){_FACING}")),
    ("side1", rf"{_BE} (?P<t>.+?) (?:(?:to|on) )?(?P<a>left|right)(?: side)? of (?P<u>.+?){_FACING}"),
    ("state", (rf"{_BE} (?P<t>.+?) (?:switched |turned )?(?P<a>{STATES})(?: ,)? or "
               rf"(?:switched |turned |still )*(?P<b>{STATES}){_THERE}")),
    ("state", rf"(?:in )?what state {_BE} (?P<t>.+?)(?: in)?"),
    ("state?", (rf"{_BE} (?:not )?(?P<t>.+?) (?P<not>not )?(?:switched |turned |still )*(?P<a>{STATES}){_THERE}|"
                rf"did i leave (?P<u>.+) (?P<b>{STATES})")),
    ("did", r"did i (?P<a>turn on|turn off|switch on|switch off|close|shut|open|make) (?P<t>.+)"),
    ("did", r"did i (?:turn|switch) (?P<t>.+) (?P<a>on|off)"),
    ("next?", rf"{_BE} (?P<t>(?!there ).+) (?:next to|beside|close to|by|near) (?P<u>.+)"),
    ("which_on", (r"which (?:one )?is (?P<a>on|off|open|closed) in (?P<room>.+?) , (?P<t>.+?) , (?P<u>.+?) , "
                  r"both or neither")),
    ("which_state", rf"(?:what|which) (?P<t>.+?) {_BE} (?:switched |turned |still |left )*(?P<a>{STATES}){_THERE}"),
    ("closer", (r"(?:which|what) (?:one )?is (?:closer|nearer|closest|nearest) to (?P<t>.+?) , "
                r"(?P<u>.+?)(?: ,)? or (?P<v>.+)")),
    ("coloured", rf"what {_BE} (?P<colour>{_COLOUR}) (?:thing|object|item) {_ON} (?P<t>.+)"),
    ("above", r"what (?:is )?(?:hangs |hanging |there )?(?:on wall )?(?:above|over) (?P<t>.+)"),
    ("on_wall", r"what (?:is )?(?:hangs |hanging |there )?on walls? (?:in|of) (?P<room>.+)"),
    ("between", rf"what {_BE} (?:standing |placed )?(?:in )?between (?P<t>.+?) and (?P<u>.+)"),
    ("beside", rf"what {_BE} (?:standing )?(?:(?:to|on) )?(?P<a>left|right)(?: side)? of (?P<t>.+?){_FACING}"),
    ("near", rf"what {_BE} (?:standing )?(?:next to|beside|near) (?P<t>.+)"),
    ("carried", (rf"what (?:(?:items|objects|things) )?(?:{_BE} |did i (?:leave|put) )"
                 rf"(?:there |standing |lying |kept |located )?{_ON} (?P<t>.+)")),
    ("sit_for", rf"where {_CAN_I} sit(?: down)? to watch (?P<t>tv|television)"),
    ("found", rf"where {_CAN_I} find (?:something|anything) to (?P<purpose>(?!read$|eat$|drink$).+)"),
    ("place", rf"where {_CAN_I} (?P<purpose>.+)"),
    ("which_room", r"i (?:want|need|would like) to (?P<purpose>.+?) , (?:which|what) room should i (?:go to|use)"),
    ("tool", rf"what {_CAN_I} use to (?P<purpose>.+)"),
    ("room", rf"(?:in )?(?:which|what) room (?:{_BE}|has) (?P<t>.+?)(?:(?: located)? in)?"),
    ("where", rf"where (?:{_BE}|did i (?:leave|put)|have i (?:left|put)) (?P<t>.+?)(?: located)?"),
    ("where", r"i am looking for (?P<t>.+?) , where .+"),
    ("sign", r"do (?:i|we) have (?:\w+ )?(?P<purpose>pet|child|baby)"),
    ("sign", r"does (?:\w+ )?(?P<purpose>pet|child|baby|toddler) live here"),
    ("exists", r"(?:is|are) there (?P<not>no |not )?(?:any |some |already )?(?P<t>.+)|do i have (?:any )?(?P<u>.+)"),
    ("list", (rf"(?:what|which) (?P<t>.+?) {_BE} (?:there )?in (?P<room>.+)|"
              rf"(?:what|which) (?P<u>.+?) {_BE} there")),
    ("at", rf"{_BE} (?:not )?(?P<t>.+? (?:on top of|on|in|inside|under|underneath|beneath|below|at) .+)"),
    ("hint", r"what (?:kind of )?(?P<purpose>pet|instrument|sport|hobby).*"),
)))


@lru_cache(maxsize=1024)
def parse(question: str) -> Query:
    """Return what a question asks; the form is "" when no phrasing fits."""
    asked = compared(question)
    if asked is not None and asked.form not in ("closer", "each"):
        return Query("compare", tuple(map(_described, asked.targets)), compared=asked)
    if asked is not None and asked.form == "each" and all(target.where for target in asked.targets):
        parts = [_parsed(_question_about(asked, target)) for target in asked.targets]
        if all(part.form for part in parts):
            return _several(parts[:_AT_ONCE])._replace(compared=asked)
    return _one_or_several(question)._replace(compared=asked)


def _described(target: Target) -> Thing:
    named = reference(target.kind) if target.what else Thing("")
    return named._replace(room=target.room or named.room)


def _question_about(asked: Compared, target: Target) -> str:
    """Return the question for one of the targets of a question that asks the same of each."""
    if asked.aspect == "made":
        return f"what is {target.name} made of"
    return f"where is {target.name}" if asked.aspect == "where" else f"what {asked.aspect} is {target.name}"


def _one_or_several(question: str) -> Query:
    whole = _parsed(question)
    if whole.form:
        return whole
    parts = [part for text in _QUESTIONS.split(question) if (part := _parsed(text)).form]
    if len(parts) > 1:
        return _several(parts[:_AT_ONCE])
    return parts[0] if parts else whole


def _parsed(question: str) -> Query:
    """Return what one question asks, in other words or as it was typed."""
    as_typed = in_normal_form(question)
    for plain in dict.fromkeys((plainly(as_typed), as_typed)):
        for form, pattern in _PHRASINGS:
            if (found := pattern.fullmatch(plain)) is None:
                continue
            groups = {name: text for name, text in found.groupdict().items() if text}
            asked = _asked(form, groups, plain) if _makes_sense(form, groups) else None
            if asked is not None and all(map(_can_be_found, asked.subjects)):
                return asked
    return Query("")


def _can_be_found(ref: Thing) -> bool:
    """Return whether a name is one of a thing; labels do not tell on which floor a thing is."""
    support = ref.support.kind if ref.support else ""
    return not (ref.kind in _PRONOUNS or "," in ref.kind + support or ref.kind.rpartition(" ")[2] in _STOREYS)


def _makes_sense(form: str, groups: dict[str, str]) -> bool:
    if form == "filled":
        return not is_room(groups["t"])
    if form == "size_of":
        return not is_room(groups["t"])
    if form in ("fits", "passes") and not lengths(groups["a"]):
        return groups["a"] not in _PRONOUNS and "there" not in groups["a"].split()
    return form not in _IN_ROOM or "room" not in groups or is_room(groups["room"])


def _several(parts: Sequence[Query]) -> Query:
    return Query("several", tuple(dict.fromkeys(t for part in parts for t in part.subjects)), parts=tuple(parts))


_IN_ROOM = frozenset(("state", "state?", "count_state", "which_state", "list"))  # a room may end the question
_FOR_EACH = frozenset(("state", "state?", "colour", "material", "where", "room"))  # "Where are my hat and my shoes?"
_PRONOUNS = frozenset(("it", "they", "them", "that", "this", "one", "he", "she", "i", "you", "we", "there", "my",
                       "your", "our", "his", "her", "their", "what", "which"))
_QUESTIONS = re.compile(r"[?!;\n]+|\.(?=\s)|\s+(?:and|,)\s+(?=(?:where|what|which|how|is|are|do|does|did)\s)", re.I)
_AT_ONCE = 4  # questions in one line
_STOREYS = frozenset(("upstairs", "downstairs"))
_QUANTIFIER = re.compile(r"(any|at least one|one of|all|every|each|both|no|none of)\b")
_QUANTIFIERS = {"at least one": "any", "one of": "any", "every": "all", "each": "all", "both": "all", "none of": "no"}
# One of each kind of question that the rules understand, as people may type it.
UNDERSTOOD = ("Where is my phone?", "Is the lamp in the bedroom on?", "What colour is the sofa?", "Is there a piano?",
              "How many chairs are in the kitchen?", "What is on the table?", "Which room is the desk in?",
              "What is next to the bed?", "What is the sofa made of?", "What can I use to boil water?",
              "What does the sign say?", "How wide is the sofa?", "How far is the sofa from the TV?",
              "Would a 60 cm wide fridge fit between the sink and the door?")


def not_understood(question: str) -> str:
    """Return that no rule understands a question, and such questions as the rules understand."""
    short = " ".join(printable(question).split())
    short = short if len(short) <= 60 else short[:60] + "..."
    return (f"no rule understands {short!r}; the rules understand questions like {' '.join(UNDERSTOOD)} "
            "A vision-language model (answerer vlm) takes any question")


def _asked(form: str, groups: dict[str, str], plain: str) -> Query:
    relation = groups.get("relation", "")
    relation = _SAME_RELATION.get(relation, relation)
    named = _QUANTIFIER.match(groups.get("t", ""))
    quantifier = _QUANTIFIERS.get(named[1], named[1]) if named else "the" if plain.startswith("are ") else ""
    refs = tuple(reference(groups[name]) for name in ("t", "u", "v") if name in groups)
    both = [text.strip() for text in groups.get("t", "").split(" and ")]
    if form in _FOR_EACH and len(both) > 1 and not {"u", "between", "from"} & {*groups, *groups["t"].split()}:
        return _several([_asked(form, {**groups, "t": text}, plain) for text in both])
    purpose, room = groups.get("purpose", ""), room_name(groups.get("room", ""))
    if form == "count_at" and relation == "in" and is_room(groups["u"]):
        form, refs, room = "count", refs[:1], room_name(groups["u"])
    if form == "tool" and is_room(purpose.rpartition(" in ")[2]):
        purpose, _, room = purpose.rpartition(" in ")
    room = room or next((ref.room for ref in refs if ref.room), "")
    if form != "where" and len(refs) > 1:  # "the sofa ... the lamp in the study": both are there
        refs = tuple(ref if ref.room else ref._replace(room=room) for ref in refs)
    if refs:
        refs = (refs[0]._replace(room=refs[0].room or (room if form not in ("at", "where") else ""),
                                 quantifier=quantifier), *refs[1:])
    options = tuple(groups[name] for name in ("a", "b") if name in groups)
    query = _query(form, refs or (Thing("", room),), options, relation, purpose, plain)
    return query._replace(number=number(groups.get("number", "")) or 0, denied="not" in groups)


_STATE_OF = {"wasted": "on", "stays_cold": "closed", "slept": "unmade", "filled": "full"}
_DONE = {"turn on": "on", "switch on": "on", "turn off": "off", "switch off": "off", "close": "closed",
         "shut": "closed", "open": "open", "make": "made"}
_USES = {"tool": "tool", "place": "place", "which_room": "room", "found": "where"}
_HELD = {"above": "above", "near": "next to"}


def _query(form: str, things: tuple[Thing, ...], options: tuple[str, ...], relation: str, purpose: str,
           plain: str) -> Query:
    """Return the query of an old form of question."""
    first, rest = things[0], things[1:]
    if form in _STATE_OF or form in ("state?", "did"):
        state = _STATE_OF.get(form) or _DONE.get(options[0], options[0])
        return Query("is", (first,), (Thing(state=state),))
    if form in ("colour", "state") and options:
        return Query("choice", (first,), tuple(
            Thing(colour=option) if form == "colour" else Thing(state=option) for option in options))
    if form == "colour?":
        return Query("is", (first,), (Thing(colour=options[0]),))
    if form == "at":
        said = Thing("", first.room, "", first.relation, first.support)
        return Query("is", (first._replace(room="", relation="", support=None),), (said,))
    if form == "next?":
        return Query("is", (first,), (Thing("", relation="next to", support=rest[0]),))
    if form in ("count_state", "which_state"):
        return Query("count" if form == "count_state" else "which", (first._replace(state=options[0]),))
    if form == "which_on":
        asked = Thing("", first.room, state=options[0])
        return Query("choice", (asked,), things)
    if form == "count_at":
        return Query("count", (first._replace(relation=relation, support=rest[0]),))
    if form in ("offered", "set"):
        kinds = OFFERS[purpose] if form == "offered" else ("plate", "cutlery")
        return Query("exists", (Thing("", relation="on", support=first, kinds=kinds, use=purpose or "eat with"),))
    if form in ("carried", "anything", "coloured"):
        form = "exists" if form == "anything" else "list"
        if is_room(first.kind):
            return Query(form, (Thing("", first.kind),))
        colour = re.match(rf"what {_BE} ({_COLOUR})", plain) if form == "list" else None
        return Query(form, (Thing("", colour=colour[1] if colour else "", relation=relation, support=first),))
    if form == "on_wall":
        return Query("list", (Thing("", first.room, relation="on", support=Thing("wall")),))
    if form in ("above", "near", "beside", "between"):
        relation = f"{options[0]} of" if form == "beside" else _HELD.get(form, form)
        return Query("list", (Thing("", relation=relation, support=first, other_support=rest[0] if rest else None),))
    if form in ("look_of", *_USES):
        made_for, _ = purpose_of(purpose)
        thing = Thing("", first.room, use=purpose, kinds=made_for.kinds if made_for else ())
        return Query("colour", (thing,)) if form == "look_of" else Query("use", (thing,), aspect=_USES[form])
    if form == "rooms":
        return Query("rooms", (first,), aspect="count" if plain.startswith("how many") else "")
    if form in ("wasted_in", "wasting"):
        return Query(form, (first,), aspect="water" if purpose == "water" else "energy")
    if form in ("hint", "sign"):
        return Query(form, aspect=purpose)
    if form in ("side?", "side1"):
        return Query("side", things, aspect=options[0] if form == "side1" else "")
    if form == "size_of":
        side = SIDES.get(options[0], options[0])
        return Query("size", (first,), aspect=side if side in ("wide", "high", "long", "deep", "thick") else "big")
    if form in ("fits", "passes"):
        named = lengths(options[0])
        return Query(form, things if named else (*things, reference(options[0])), metres=named[0] if named else 0.0)
    return Query(form, things)


def reference(text: str) -> Thing:
    """Return a noun phrase in its parts."""
    text = re.sub(r"^(?:(?:my|your|our|his|her|their|this|that|these|those|all|any|some|other|every|each|both|one of|"
                  r"none of|no|at least one|single|old|of) )+", "", text.strip(" ,"))
    text = re.sub(r" (?:left|remaining)(?= in | on |$)", "", text)
    if found := re.fullmatch(r"(.*door|.*doorway) (?:between|from) (.+) (?:and|to) (.+)", text):
        return Thing("door", room_name(found[2]), other_room=room_name(found[3]))
    head, _, tail = text.rpartition(" in ")
    room = ""
    if head and is_room(tail):
        text, room = head, room_name(tail)
    relation, support = "", None
    if found := re.fullmatch(r"(.+?) (?:(?:standing|lying|hanging) )?(on|in|under|above|next to|at) (.+)", text):
        text, relation, support = found[1], found[2], Thing(_noun(found[3]))
    found = re.fullmatch(r"(.+) door", text)
    if found and is_room(found[1]):
        return Thing("door", room=room_name(found[1]))
    if not room:
        text, room = named_after_room(text)
    colour = re.match(rf"({_COLOUR}) (?=\w)", text)
    if colour:
        text = text[colour.end():]
    return Thing(_noun(text), room, colour[1] if colour else "", relation, support)


def _noun(text: str) -> str:
    return singular(text.strip())
