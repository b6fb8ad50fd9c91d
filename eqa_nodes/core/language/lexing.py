"""Cuts a question into sentences of tagged words: names of things, rooms, looks, states, and words that ask.

A word that is in no list is tagged "unknown". Nothing later may use it as if it were understood.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from eqa_nodes.core.language.english import COLOURS, canonical, normalise, number, singular
from eqa_nodes.core.language.spelling import spelled
from eqa_nodes.core.language.words import MATERIALS, known_names, state_of

_LONGEST = 5  # words of the longest phrase in the lists
# tag | words and phrases. A value after "=" stands for the phrase.
_LISTS = """
chatter | this morning, this afternoon, this evening, for me, of course, at all, right now, at the moment, at present, \
at this moment, at the minute, by any chance, or nah, or what, am i right, if you please, if possible, good heavens, \
of any sort, of any kind, of some sort, of every type, of all kinds, of every kind, on record, as always, by the way, \
as usual, for sure, so to speak, these days, for a moment, at this time, in total, in all, all told, or not at all
what | what
which | which, which one, which ones, whichever, which of
where | where, whereabouts, where abouts, location of, location, position of, whereabouts of, can not find, \
could not find, do not find, can not see, mislaid, have lost, i lost, misplaced, look for, looking for, searching for, \
search for, find, locate, point me to, guide me to, directions to, take me to, lead me to, show me to, bring me to, \
hiding place of, end up, ended up, am after, are after
forget | forget to, forgot to, forgotten to, forget, neglected to, fail to, failed to
who | who, whose, whom
when | when
why | why
count | how many, count, number of, tally of, total of, quantity of, amount of, how much, what number of, headcount on, \
headcount of, tally, total, quantity, headcount, what number, sum of, how many of, total number of, grand total
be | is, are, was, were, be, been, being, am, happen to be, happens to be, stays, remains, became
do | do, does, did, done
have | have, has, had, got, own, owns, possess, possesses, contain, contains, hold, holds, having, keeps, \
boast, boasts, houses, includes, include, feature, features, carry, carries, offers, offer
can | can, could, would, will, shall, should, may, might, must
not | not, never, neither, no longer, nobody, no one, no body, noone
without | without, lacking, lacks, lack, devoid of, free of, missing any, minus
there | there
or | or, versus, vs, or else, rather than, or rather
and | and, as well as, plus, along with, together with, and then, and also, &
than | than
if | if, whether
but | but, though, although, because, since, so, while, before, after, until, unless, as
more | more, more of=more, greater number of=more
fewer | fewer=fewer, less=fewer
most | the most=most, most=most, largest number of=most, greatest number of=most
fewest | fewest=fewest, least=fewest
close | close, shut
closer | closer to, nearer to, closest to, nearest to, closer, nearer, nearest, closest, sooner
far | how far, distance from, distance of, distance to, distance, how close, how near, far apart, apart
gap | gap between=between, space between=between, clearance between=between, distance between=far, gap, clearance, \
how much space, how much room, how much clearance, how much gap, enough room, enough space, space, room for
same | same, identical, alike, matching, match, similar, as many, equal
different | different, differ, differs, differing
fit | fit, fits, fit through, go through, goes through, pass, passes, pass through, get through, squeeze through, \
squeeze, wheel through, go in through, go straight through, come through, get it through, make it through, go in, \
accommodate, big enough to take, wheel, roll through, drive through, be pushed through, wide enough for, big enough for, wide enough
text | say=text, says=text, read=text, reads=text, written=text, printed=text, writing=text, inscription=text, \
title of=text, label say=text, text on=text, title=text
colour | colour, color, colours, colors, shade, shades, hue, colour of, color of, colours of, colors of, shade of, in colour, in color, \
coloured, colored, painted, what colour, which colour
material | made of, made from, made out of, made, material, materials, material of, built of, built from, upholstered in, \
upholstered, covered with, covered in, woven, material covers, consist of, consists of, fabricated
condition | state, state of, status, status of, condition of, condition
wide | how wide=wide, width of=wide, width=wide, measure across=wide, how broad=wide, breadth of=wide
high | how tall=high, how high=high, height of=high, height=high, the height=high
long | how long=long, length of=long, length=long, lengthwise=long, longest side=long, from end to end=long
deep | how deep=deep, depth of=deep, depth=deep
thick | how thick=thick, thickness of=thick, thickness=thick
big | how big=big, how large=big, size of=big, size=big, dimensions of=big, dimensions=big, measurements of=big, \
measurements=big, floor area of=area, floor area=area, area of=area, floor space of=area, floor space=area, \
square metres=area, square feet=area, surface area=area
aside | aside
person | i, we, you, me, us, someone, somebody, anyone, anybody, people, everybody, everyone, my guests, y'all, \
some genius, some muppet, some idiot, some scoundrel
it | it, its, them, they, that, this, these, those, their, he, she, his, her, him, them
the | the, a, an, my, our, your, mine, ours, yours
any | any, some, any of, some of, a single=any, at least one=any, even one=any, anything=thing
all | all, every, each, both, both of, all of, each of, each one of, every single=all, all the
no | no, none of, not a single=no, not one=no, not any=no, zero=no
besides | besides, apart from, except, except for, other than, aside from, excluding
other | other, another, else, remaining, rest of
one | one, ones
thing | thing, things, something, anything, somewhere, anywhere, someplace, anyplace, stuff, item, items, object, \
objects, gadget, gizmo, contraption, machine, device, thingy, thingie, thingies, doodah, whatsit, whatchamacallit, \
thingamajig, thingummy, thingamabob, doohickey, whatnot, appliance thing, box thing, somethin, anythin, smth, sth, \
a place, piece of furniture, pieces of furniture, furniture item, do you call it, whatever, bits, nothing=nothing, \
bit of furniture, equipment thing, tool thing, a spot, anyplace
left_of | to the left of=left, to left of=left, left of=left, on the left of=left, on the left side of=left, \
on left of=left, on left side of=left
right_of | to the right of=right, to right of=right, right of=right, on the right of=right, \
on the right side of=right, on right of=right, on right side of=right
on | on, on top of, upon, atop, up on, sitting on, standing on, lying on, resting on, placed on, on to, onto, over on, \
on the surface of, on top, perched on, stacked on top of, stacked on, up there on, off of
in | in, inside, within, into, inside of, in the middle of, from inside, out in, over in, up in, down in, back in
from | from, of, for, about, throughout, over at, regarding, concerning, to, leaving
at | at, in front of=in front of, round, around, at the head of
under | under, below, beneath, underneath, tucked under, out from under
above | above, over, directly above, right above, right over, directly over
beside | next to, beside, by, near, close to, nearby, alongside, adjacent to, at the side of, at side of, by side of, \
right by, right next to, at the foot of, at foot of
behind | behind, in back of, at the back of
between | between, in between, squeezed between, among, amongst
with | with, holding, carrying, containing
larger | larger, bigger=larger, greater=larger, roomier=larger, more spacious=larger
smaller | smaller, tinier=smaller
taller | taller, higher=taller, towers over=taller, towers=taller, stands taller=taller
shorter | shorter, lower=shorter
wider | wider, broader=wider
narrower | narrower, slimmer=narrower
longer | longer
deeper | deeper
largest | largest=larger, biggest=larger, greatest=larger, top=larger
smallest | smallest=smaller, tiniest=smaller
tallest | tallest=taller, highest=taller
shortest | shortest=shorter, lowest=shorter
widest | widest=wider
longest | longest=longer
small | small, little, tiny, wee, mini, petite
updown | up, down
large | large, big, huge, giant, enormous
tall | tall, wide, high, long, deep, thick, broad
exist | exist, exists, exist anywhere, around, about the place
use | use to, use for, use, used for, used to, for
place | stand, stands, standing, lie, lies, lying, sit, sits, sitting, hang, hangs, hanging, located, placed, kept, \
stored, resting, live, lives, stay, staying, stays, perched, put, leave, left, placed, parked, stood, hung, tucked, \
tucked away, situated, positioned, hidden, hiding, store, keep, stacked, mounted, fixed, rests, dwell, ended, \
visible, present, seen, see, spot, found, kept, get, getting, lying about, lying around, dumped, stuck, dropped
tell | tell, know, ask, wonder, wondering, check, say, let me know, see if, find out, remind, remember, recall, hear, \
learn, verify, confirm, inform, report, name, list, show, give, describe, identify, state, know if, tell me, explain
"""
# Words that change nothing in a question about a home: manners, moods, fillers.
_CHATTER = frozenset(["please", "pls", "kindly", "thanks", "thank", "cheers", "sorry", "excuse", "pardon", "hello", "hi", "hey", "yo", "oi", "ayo", "bruh", "bro", "bruv", "dude", "mate", "man", "lol", "haha", "ha", "lmao", "smh", "ugh", "um", "uh", "er", "erm", "hmm", "oh", "ah", "ooh", "wow", "gosh", "goodness", "god", "heavens", "damn", "heck", "hell", "dear", "love", "luv", "honey", "darling", "sweetie", "buddy", "pal", "friend", "robot", "ok", "okay", "well", "now", "then", "right", "just", "only", "really", "actually", "exactly", "precisely", "currently", "presently", "today", "tonight", "still", "yet", "already", "again", "anymore", "even", "ever", "also", "too", "perhaps", "maybe", "possibly", "probably", "quickly", "quick", "asap", "immediately", "somehow", "anyway", "though", "however", "indeed", "certainly", "surely", "truly", "simply", "basically", "literally", "honestly", "afraid", "innit", "nah", "yeah", "yep", "yes", "correct", "y", "n", "yn", "question", "wondering", "curious", "grateful", "obliged", "kind", "moment", "minute", "present", "time", "rn", "btw", "fyi", "alright", "here", "altogether", "overall", "total", "whatsoever", "completely", "entirely", "properly", "fully", "quite", "rather", "very", "much", "so", "such", "like", "kinda", "sorta", "sort", "perchance", "pray", "listen", "look", "say", "tell", "know", "ask", "remind", "show", "let", "us", "me", "help", "see", "check", "hear", "guess", "think", "believe", "suppose", "mean", "want", "need", "wanted", "wanting", "would", "hope", "trying", "minded", "question", "mark", "comma", "info", "information", "details", "certain", "sure", "by", "chance", "whole", "entire", "full-on", "real", "simple", "purely", "merely", "absolutely", "particular", "specific", "currently", "possible", "trouble", "bother", "fuss", "happen", "happens", "if-you", "seems", "seem", "looks", "appears", "supposed", "early", "late", "later", "soon", "minute", "second", "seconds", "sec", "moment", "go", "goes", "going", "gone", "went", "come", "came", "comes", "old", "new", "own", "cute", "nice", "lovely", "beautiful", "pretty", "ugly", "favourite", "favorite", "dear", "awful", "awfully", "terribly", "good", "great", "best"])
_WORD = re.compile(r"\d+(?:[.,]\d+)?|[^\W\d_]+(?:'[^\W\d_]+)*|[?!.;:,\n]| - |--|[\u2013\u2014]|\(|\)")
_UNITS = {"cm": "cm", "cms": "cm", "centimetre": "cm", "centimetres": "cm", "centimeter": "cm", "centimeters": "cm",
          "mm": "mm", "millimetre": "mm", "millimetres": "mm", "millimeters": "mm", "inch": "inch", "inches": "inch",
          "foot": "foot", "feet": "foot", "ft": "foot", "m": "m", "metre": "m", "metres": "m", "meter": "m",
          "meters": "m", "yard": "yard", "yards": "yard", "metric": "m"}


class Word(NamedTuple):
    """A word or phrase with what it is; value: what it stands for (a colour, a canonical state, a room's name)."""

    tag: str
    text: str
    value: str = ""


def _phrases() -> dict[tuple[str, ...], tuple[str, str]]:
    table: dict[tuple[str, ...], tuple[str, str]] = {}
    for line in _LISTS.strip().splitlines():
        tag, _, entries = line.partition(" | ")
        for entry in entries.split(","):
            phrase, _, value = entry.strip().partition("=")
            table.setdefault(tuple(phrase.split()), (value if tag in ("any",) and value == "thing" else tag,
                                                     value or phrase))
    return table


_PHRASES = _phrases()


_ASIDE = re.compile(r",? (?:when|as|if) (?:you|i|one) (?:face|faces|facing|look at|are facing)\b[^,?.!]*")


def sentences(text: str) -> list[list[Word]]:
    """Return the sentences of a text as tagged words, with their slips mended."""
    return [words for sentence in _cut(plain(text)) if (words := list(_tagged(sentence)))]


def plain(text: str) -> str:
    """Return a text in lower case with plain marks, short forms in full words and slips mended."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = text.translate(str.maketrans("\u2019\u2018`\u00b4\u201c\u201d", "''''\"\"")).replace('"', " ")
    text = re.sub(r"[^\S\n]+", " ", "".join(c if c.isprintable() or c == "\n" else " " for c in text))
    text = re.sub(r"(?<=\w)/(?=\w)", " or ", text)
    text = re.sub(r"(?<=\w)&(?=\w)| & ", " and ", text)
    for torn, whole in _SHORT_FORMS:
        text = torn.sub(whole, text)
    return _ASIDE.sub("", text)


_SHORT_FORMS = tuple((re.compile(torn), whole) for torn, whole in (
    (r"\bcan'?t\b|\bcannot\b", "can not"), (r"\bwon'?t\b", "will not"), (r"\bain'?t\b", "is not"),
    (r"(?:^|(?<=[.?!,] ))(is|are|was|were|do|does|did|has|have)n'?t\b", r"\1"),  # "isn't it on?" asks whether it is
    (r"\b(is|are|was|were|do|does|did|has|have|had|could|would|should|must|need)n'?t\b", r"\1 not"),
    (r"\b(i|we|you|they)'?ve\b", r"\1 have"), (r"\b(i|we|you|they|he|she|there)'d\b", r"\1 would"),
    (r"\b(i|we|you|they|it|that|there)'ll\b", r"\1 will"), (r"\bi'?m\b", "i am"), (r"\b(we|you|they)'re\b", r"\1 are"),
    (r"\blet's\b", "let us"), (r"\b(what|where|who|how|there|here|that|it|he|she|which|when|why)'s\b", r"\1 is"),
    (r"\b(what|where|how|there|who|that)s\b", r"\1 is"),
    (r"\b(what|where|who|how|which)'?re\b(?! \w+ is)", r"\1 are"),
    (r"\b(?:mummy|mum|mom|mommy|mama) and (?:daddy|dad|papa)'?s?\b", "parents"),
    (r"\b(\w+)[- ]year[- ]olds?\b", r"toddler"),
    (r"(\w+in)'(?=\s|$)", r"\1g"), (r"\bwere (is|are)\b", r"where \1"),
    (r"\b(?:have|has|did) (?:we|i|you|they) (?:run|ran) out of\b", "is there no"),
    (r"\b(?:are|am) (?:we|i|you|they) (?:all )?out of\b", "is there no"),
    (r"(?:(?:have|has|did|can|do) )?(?:\byou|\banyone|\banybody|\bsomebody|\bsomeone)(?: \w+)? (?:seen|see|found|spotted|spot)\b"
     r"(?= (?:my|the|our|a|any|your|his|her)\b)", "where is"),
))


def _cut(text: str) -> Iterator[list[str]]:
    """Yield the words of each sentence; commas, colons and dashes stay as ","."""
    words: list[str] = []
    for found in _WORD.finditer(text):
        mark = found[0].strip() or ","
        if mark[0] in "?!.;\n" or found[0] == "\n":
            yield words
            words = []
        elif mark in (",", ":", "(", ")", "-", "--", "\u2013", "\u2014"):
            words.append(",")
        else:
            words.append(mark)
    yield words


def _tagged(words: list[str]) -> Iterator[Word]:
    words = [w for word in words for w in _mended(word)]
    at = 0
    while at < len(words):
        for length in range(min(_LONGEST, len(words) - at), 0, -1):
            phrase = tuple(words[at:at + length])
            if word := _known(phrase):
                yield word
                at += length
                break
        else:
            yield Word("unknown", words[at])
            at += 1


def _mended(word: str) -> list[str]:
    if word == "," or word[0].isdigit():
        return [word]
    own = re.fullmatch(r"(.+?)(?:'s|s')", word)
    if own:
        return [*_mended(own[1]), "'s"]
    return spelled(word).split() or []


_ROOMS = frozenset(["room", "kitchen", "bedroom", "bathroom", "restroom", "washroom", "study", "office", "hallway", "hall", "corridor", "entryway", "foyer", "garage", "pantry", "nursery", "gym", "lounge", "library", "attic", "basement", "balcony", "closet", "cellar", "larder", "ensuite", "lobby", "landing", "parlour", "parlor", "kitchenette", "toilet-room", "loo-room", "vestibule"])
_OF_ROOMS = frozenset(["living", "dining", "sitting", "front", "bath", "bed", "laundry", "utility", "washing", "workout", "work", "exercise", "store", "storage", "family", "guest", "kid", "kids", "kid's", "kids'", "child", "child's", "children", "children's", "main", "master", "second", "third", "first", "spare", "home", "office", "study", "wash", "rest", "play", "games", "shower", "powder", "tv", "fitness", "weights", "big", "small", "entrance", "parents", "parents'", "parent's", "guests", "guests'", "boys", "girls", "fire", "ironing", "drawing", "lego"])
_ROOM_WORDS = {"gym": "workout room", "jim": "workout room", "entrance": "entryway", "entrance hall": "entryway",
               "corridor": "hallway", "hall": "hallway", "premises": "house", "property": "house", "building": "house",
               "dwelling": "house", "house": "house", "home": "house", "apartment": "house", "flat": "house",
               "whole house": "house", "this place": "house", "whole place": "house", "this house": "house", "entire house": "house", "entire property": "house", "household": "house",
               "larder": "pantry", "washroom": "bathroom", "wash room": "laundry room", "washing room": "laundry room",
               "parents room": "main bedroom", "parents bedroom": "main bedroom", "work out room": "workout room",
               "place": "", "sleeping chamber": "bedroom", "sleeping room": "bedroom", "crib": ""}


def _room(phrase: tuple[str, ...]) -> str:
    """Return the name of a room, "house" for all of them, "" for other words."""
    text = " ".join(phrase).replace("'", "")
    if text in _ROOM_WORDS:
        return _ROOM_WORDS[text]
    last = "bedroom" if phrase[-1] == "bedrooms" else singular(phrase[-1])
    if last not in _ROOMS or len(phrase) > 3 or not all(word in _OF_ROOMS for word in phrase[:-1]):
        return ""
    name = " ".join((*(word.replace("'", "") for word in phrase[:-1]), last))
    return {"parents room": "main bedroom", "bath room": "bathroom", "bed room": "bedroom"}.get(name, name)


@lru_cache(maxsize=8192)
def _known(phrase: tuple[str, ...]) -> Word | None:
    """Return what a word or phrase is, None for an unknown one. Names of things and rooms win over other meanings."""
    text = " ".join(phrase)
    if phrase in ((",",), ("'s",)):
        return Word(text, text)
    if room := _room(phrase):
        return Word("room", text, room)
    if len(phrase) > 1 and (phrase in _PHRASES) is False and not {",", "'s", "a", "an", "the"}.isdisjoint(phrase):
        return None
    one = singular(normalise(text))
    if len(phrase) > 1 and one in known_names():
        return Word("name", text, one)
    if phrase in _PHRASES:
        return Word(_PHRASES[phrase][0], text, _PHRASES[phrase][1])
    if len(phrase) > 1 and (state := state_of(text)):
        return Word("state", text, state)
    if len(phrase) > 2:
        return None
    if text in COLOURS or text == "grey" or re.fullmatch(rf"(?:light|dark) (?:{'|'.join(COLOURS)})", text):
        return Word("is_colour", text, canonical(text))
    if text in MATERIALS:
        return Word("is_material", text, canonical(text))
    if len(phrase) > 1:
        return None
    if text in _UNITS:
        return Word("unit", text, _UNITS[text])
    if text[0].isdigit() or (number(text) is not None and text not in ("no", "none", "once", "twice", "single")):
        return Word("number", text, text)
    if one in known_names():
        return Word("name", text, one)
    if state := state_of(text):
        return Word("state", text, state)
    return Word("chatter", text) if text in _CHATTER else None
