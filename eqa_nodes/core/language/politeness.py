"""Extracts the question from polite words around it: "Hey, could you please tell me whether the TV is on?"

All texts here are in normal form (core/language/english.py): lower case, no articles, commas and full stops as " , ".
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from eqa_nodes.core.language.english import normalise, singular
from eqa_nodes.core.language.naming import known_names
from eqa_nodes.core.language.rooms import is_room, room_words
from eqa_nodes.core.language.states import STATES

_GREETING = re.compile(
    r"(?:(?:(?:hey|hi|hello)(?: there)?|hallo|hullo|yo|ok|okay|so|well|um|uh|er|erm|hmm|oh|and|but|also|excuse me|"
    r"sorry|pardon|please|kindly|(?:dear |my )?robot|buddy|mate|good (?:morning|afternoon|evening|day)|"
    r"(?:thing|what|all) (?:that )?(?:i|we) (?:want|wanted|need|would like|would love) to know is|"
    r"(?:quick |another |one )?question|by way|btw|just (?=tell|check|say)|now|then)(?: ,|(?= ))[ ,]*)+(?=\w)")
_ASKS = "(?:if|whether|where|what|which|how|who|is|are|do|does|did|has|have|can|there|any)"
_YOU = (r"(?:(?:can|could|would|will|might|may) (?:you|anyone|somebody|someone|i|we)(?: (?:please|kindly|maybe|"
        r"possibly|perhaps|quickly|also))*|please|kindly|i (?:want|need|would like) you to|i would like to|may i)")
_DOING = (r"(?:(?:tell|show|remind|inform)(?: (?:me|us))?|let (?:me|us) know|check(?: for me)?|see|look|find out|"
          r"say|ask(?: you)?|(?:go )?(?:and )?(?:see|check|look)|look up|work out|figure out|help me find out|"
          r"answer|know)(?: please| for me| quickly)*")
_MIND = (r"(?:would you (?:mind|be able to|be so kind as to|be so kind and)|do you mind|be so kind and) "
         r"(?:telling|tell|checking|check|looking|look|saying|say)(?: me| us)?")
_WONDER = (r"(?:i|we) (?:(?:was|am|were|have been) )?(?:just )?(?:wonder|wondering|curious|"
           r"would (?:like|love) to know|want to know|wanted to know|wanted to ask|want to ask|need to know|forget|"
           r"forgot|have forgotten|(?:do|can|could) not (?:know|remember|recall|tell|see)|have no (?:idea|clue)|"
           r"am not sure|not sure|have question)")
_KNOW = (r"(?:do|would|did) you (?:happen to |still |by any chance )?(?:know|remember|recall|see|think|believe)|"
         r"(?:do you have |have you |have you got |got )?any (?:idea|clue|chance)|not sure|no idea|wondering")
_WRAPPED = re.compile(rf"(?:(?:{_YOU} )?{_DOING}|{_MIND}|{_WONDER}|{_KNOW})(?: ,| about| of)* (?P<rest>{_ASKS} .+)")
_TELL = re.compile(rf"(?:(?:{_YOU} )?(?:tell|give|name) (?:me|us)|{_WONDER}) "
                   r"(?P<rest>(?:colou?r|material|number|state|location|place) .+)")
_FAREWELL = re.compile(
    r"(?:[ ,]+(?:please|thanks|thank you(?: (?:very|so) much)?|cheers|right now|at (?:this |that )?moment|now|"
    r"currently|at present|by any chance|for me|anywhere|somewhere|at all|or not|do you know|you know|"
    r"any idea(?: where to look)?|if you know|"
    r"(?:can|could) you (?:tell me|check|see)|i wonder|robot|buddy|my friend|mate|around here|in here|"
    r"these days|properly|again|already|yet|anymore|any more|today|tonight|really|actually|exactly|precisely|"
    r"if i may ask|if possible|asap|quickly|still))+")
_TAG = re.compile(r" , (?:right|correct|yes|no|(?:is|are|do|does|did|was|were|have|has) (?:not )?"
                  r"(?:it|they|i|there|we|you)(?: not)?)")
_STATEMENT = re.compile(r"(?P<t>(?!(?:(?:in|on|of|at) (?:what|which)|where|what|which|how|who|when|why|is|are|do|does|"
                        r"did|has|have|can|could|if|whether|i|was|were|will|would|should|there) ).+?) "
                        r"(?P<be>is|are) (?P<rest>.+)")
_BEGINS = "(?:where|what|which|how|who|is|are|was|were|do|does|did|has|have|can|could|will|would|any)"
_ROOM_FIRST = re.compile(rf"(?:(?:over )?in|inside) (?P<room>[\w ]+?) , (?P<rest>{_BEGINS} .+)")
# What is spoken of, and a question about "it": "the kettle and the toaster, where are they?"
_TOPIC = re.compile(
    r"(?:(?:i (?:am )?|we (?:are )?)?(?:need|want|looking for|thinking of)|(?:what|how) about|about|regarding|"
    r"as for)? ?"
    rf"(?P<t>(?!{_BEGINS} |i |we |you |if |whether )\w[\w ]*(?: , [\w ]+)?) , (?P<rest>{_BEGINS}\b.*)")
_IT = re.compile(r"\b(?:it|they|them|those|these|one)\b")
_HOW_MANY = re.compile(r"how many(?= (?:of them )?(?:are|do|have|can)\b)(?: of them)?")
_VERBLESS = re.compile(rf"(?P<t>(?!{_BEGINS} |(?:i|we|you|turn|switch|put|leave|keep|make|get|set|bring|if|whether) )"
                       rf"\w[\w ]*?)(?P<state>(?: (?:still|turned|switched))* (?:{STATES})(?: or (?:{STATES}))?)"
                       r"(?P<room>(?: in [\w ]+)?)")
# After "whether", "where", "what ...": the order of words of a clause -> that of a question.
_CLAUSES = tuple((re.compile(clause), question) for clause, question in (
    (r"(?:if|whether) there (?P<be>is|are|was|were) (?P<t>.+)", r"\g<be> there \g<t>"),
    (r"(?:if|whether) (?:i|we|you|somebody|someone|anyone|anybody) (?:have )?(?:left|forgot) (?P<t>.+)",
     r"did i leave \g<t>"),
    (r"(?:if|whether) (?:i|we|you) (?:still )?(?:have|own|have got|got) (?P<t>.+)", r"do i have \g<t>"),
    (r"(?:if|whether) (?:i|we|somebody|someone|anyone) (?:have |has )?(?P<v>turned|switched|closed|shut|opened|made) "
     r"(?P<t>.+)", r"did i \g<v> \g<t>"),
    (r"(?:if|whether) (?P<t>(?!(?:i|we|you|they|one|any\w+|some\w+) ).+?) (?P<be>is|are|was|were) (?P<rest>.+)",
     r"\g<be> \g<t> \g<rest>"),
    (r"(?:if|whether) (?P<t>.+?) (?P<be>is|are|was|were|can|will|has|have) (?P<rest>.+)", r"\g<be> \g<t> \g<rest>"),
    (r"(?:if|whether) (?P<q>(?:is|are|do|does|did|has|have|can) .+)", r"\g<q>"),
    (r"where (?:i|we) (?:have |last )?(?:left|put|parked|placed|lost) (?P<t>.+)", r"where did i leave \g<t>"),
    (r"where (?:i|we|you|one) (?P<can>can|could|should|would) (?P<t>.+)", r"where \g<can> i \g<t>"),
    (r"where to (?:find|look for) (?P<t>.+)", r"where is \g<t>"),
    (r"where (?P<t>(?!is |are |did |do |can |could |was |were |has |have |might |would ).+) (?P<be>is|are|was|were)",
     r"where \g<be> \g<t>"),
    (r"(?P<q>(?:what|which) (?:colou?r|material|shade|state)) (?P<t>(?!is |are |of |does |do |has ).+) (?P<be>is|are)",
     r"\g<q> \g<be> \g<t>"),
    (r"what (?P<t>(?!is |are ).+) (?P<be>is|are) made (?P<of>of|from|out of)", r"what \g<be> \g<t> made \g<of>"),
    (r"(?P<q>(?:in )?(?:which|what) room) (?P<t>(?!is |are |has |do |does |did |can |should ).+) (?P<be>is|are)"
     r"(?: in)?", r"\g<q> \g<be> \g<t> in"),
    (r"how (?P<a>wide|tall|high|long|deep|thick|big|large|far) (?P<t>(?!is |are |away |apart ).+?) (?P<be>is|are)"
     r"(?P<rest>(?: from .+)?)", r"how \g<a> \g<be> \g<t>\g<rest>"),
    (r"how many (?P<t>.+?) there are(?P<rest>.*)", r"how many \g<t> are there\g<rest>"),
    (r"how many (?P<t>.+?)(?<! do)(?<! did)(?<! can)(?<! have) (?:i|we|you) (?:have|own)(?: got)?(?P<rest>.*)",
     r"how many \g<t> do i have\g<rest>"),
    (r"what (?:i|we) (?P<v>left|put) (?P<rest>.+)", r"what did i leave \g<rest>"),
    (r"(?:(?:can|could|would) you )?count (?P<t>.+?)(?P<rest> (?:in|on) .+)?", r"how many \g<t> are there\g<rest>"),
    (r"what there is (?P<rest>.+)", r"what is \g<rest>"),
    (r"what (?:i|we|you|one) can use to (?P<rest>.+)", r"what can i use to \g<rest>"),
))


def in_normal_form(question: str) -> str:
    """Return the normal form of a question, in which commas and full stops stay as a lone comma."""
    question = re.sub(r"(?<=[^\W\d])\s*[&+]\s*(?=[^\W\d])", " and ", question)
    parts = [normalise(part) for part in re.split(r"[,;:.?!]+(?=\s|$)", question)]
    return " , ".join(part for part in parts if part and part not in ("please", "hello", "hi"))


@lru_cache(maxsize=4096)
def direct(text: str) -> str:
    """Return the question in a text without the words around it, in the word order of a question."""
    for _ in range(4):  # "Hi robot, please could you tell me if you know whether ..."
        before = text
        text = _GREETING.sub("", text, count=1) if _GREETING.match(text) else text
        text = _without_end(text)
        wrapped = _WRAPPED.fullmatch(text) or _TELL.fullmatch(text)
        text = wrapped["rest"] if wrapped else text
        if text == before:
            break
    return _turned(_whole(text))


def _without_end(text: str) -> str:
    for end in (_FAREWELL, _TAG):
        found = re.search(rf"{end.pattern}$", text)
        if found and found.start() > 0:
            text = text[:found.start()].strip(" ,")
    return text


def _whole(text: str) -> str:
    """Return one sentence for a question in two parts ("in the study, is ...?") or without a verb ("fridge shut?")."""
    if (found := _ROOM_FIRST.fullmatch(text)) and is_room(found["room"]):
        return f"{found['rest']} in {found['room']}"
    if found := _TOPIC.fullmatch(text):
        about = f"how many {found['t']}"
        rest, times = _HOW_MANY.subn(lambda _: about, found["rest"], count=1)
        if re.fullmatch(r"where|(?:what|which) (?:colou?r|material|state)", found["rest"]):
            return f"{found['rest']} {_is(found['t'])} {found['t']}"
        if not times:
            rest, times = _IT.subn(lambda _: found["t"], found["rest"], count=1)
        return rest if times else text
    found = _VERBLESS.fullmatch(text)
    if found and singular(found["t"]).rpartition(" ")[2] in _last_words():
        return f"{_is(found['t'])} {found['t']}{found['state']}{found['room']}"
    return text


@cache
def _last_words() -> frozenset[str]:
    """Return what the name of a thing or of a room may end with."""
    return frozenset(name.rpartition(" ")[2] for name in known_names() | room_words())


def _is(thing: str) -> str:
    return "is" if singular(thing) == thing and " and " not in thing else "are"


def _turned(text: str) -> str:
    for clause, question in _CLAUSES:
        if found := clause.fullmatch(text):
            return " ".join(found.expand(question).split())
    if found := _STATEMENT.fullmatch(text):  # "The TV is on, right?"
        return f"{found['be']} {found['t']} {found['rest']}"
    return text
