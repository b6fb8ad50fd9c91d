"""Questions over several places or objects: what each of them has to be looked at.

"Are the bedsheets in both bedrooms the same colour?" has two targets: the bedsheets in one bedroom, and those in the
other. Rules over the form of the question, in English only; a question about one place or object has no targets here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from eqa_nodes.core.language.english import COLOURS, singular
from eqa_nodes.core.language.politeness import direct, in_normal_form
from eqa_nodes.core.language.rooms import is_room, named_after_room, room_name
from eqa_nodes.core.language.spelling import spelled
from eqa_nodes.core.language.states import STATES

_ORDINALS = {2: ("one", "other"), 3: ("one", "another", "third")}
_NUMBERS = {"both": 2, "two": 2, "2": 2, "three": 3, "3": 3}


class Target(NamedTuple):
    """One of several things that a question wants looked at.

    what: an object in words of the question, "" for the place itself; where: the place, "" for anywhere. Of places that
    share a name ("both bedrooms") one is "one bedroom", the next the "other bedroom"; objects likewise.
    """

    what: str
    where: str = ""

    @property
    def room(self) -> str:
        """The name of the room without "one" and "other"; "" where the place is no room."""
        room = _bare(self.where)
        return room_name(room) if is_room(room) else ""

    @property
    def name(self) -> str:
        """The target in words: "bedsheets in the other bedroom"."""
        place = f"the {self.where}" if not self.where.startswith(("one ", "another ")) else self.where
        return " in ".join(filter(None, (self.what, place if self.where else "")))

    @property
    def kind(self) -> str:
        """The object without "one" and "other"."""
        return _bare(self.what)


class Compared(NamedTuple):
    """What a question over several targets asks of them.

    form: same | more | size | closer | both | either | count | each; aspect: what is compared (colour, larger, more,
    on, ...); denied: "do they differ?"; which: one of the targets is asked for. Of "closer" the
    last target is the one that the others are closer to.
    """

    form: str
    targets: tuple[Target, ...]
    aspect: str = ""
    denied: bool = False
    which: bool = False


_BE, _HAVE = "(?:is|are|was|were)", "(?:do|does|have|has)"
_SIZE = "larger|bigger|smaller|taller|higher|wider|longer|shorter|lower|largest|biggest|smallest|tallest"
_MORE = "more|most|fewer|fewest|less|least"
_ASPECT = "colou?rs?|shades?|materials?|stuff|size|height|width|state|kind|type|style|shape|pattern|number|amount"
_OTHER = r"(?!(?:as|to|from|than|like|with|in) )\w+"
_SAME = "same|identical|alike|different|matching|similar"
_LONGEST = 300  # letters of one question
_STUFF = "wood|wooden|metal|plastic|leather|fabric|glass|ceramic|stone|wicker"
_WITHIN = r"(?: (?:together|in total|altogether|combined|in all|overall|all together|taken together))?"
_OF = r"(?:(?:of|in|on|at|share|have|has|made|from|out|exactly|roughly|about|all|both|really) )*"
# Tried in order on the normal form; l and m are lists of targets, t is an object that both lists share.
_PHRASINGS = tuple((form, re.compile(pattern)) for form, pattern in (
    ("same", rf"{_BE} there (?:same (?:number|amount) of|as many) (?P<t>.+?) (?P<l>in .+?)(?: as (?P<m>.+))?"),
    ("same", rf"(?:{_BE}|{_HAVE}) (?P<aspect>{_ASPECT}) of (?P<l>.+?) (?P<how>{_SAME}|match|differ)(?: as (?P<m>.+))?"),
    ("same", (rf"(?:{_BE}|{_HAVE}) (?P<l>.+?) {_OF}(?P<how>{_SAME})(?: (?:in )?(?P<aspect>{_OTHER}))?"
              r"(?: (?:as|to|from|than|like|with) (?P<m>.+))?")),
    ("same", rf"(?:do|does) (?P<l>.+?) (?P<how>match|differ)(?: in (?P<aspect>{_ASPECT}))?(?: (?P<m>.+))?"),
    ("more", (rf"(?:which|what)(?: room| one| place)?(?: of (?:them|two|these|two rooms))? (?:has|have|contains|holds|"
              rf"got) (?P<aspect>{_MORE}) (?P<t>.+?)(?: ,| (?=in )) (?P<l>.+)")),
    ("more", rf"(?:which|what|where) {_BE} there (?P<aspect>{_MORE}) (?P<t>.+?)(?: ,| (?=in )) (?P<l>.+)"),
    ("more", rf"of (?P<l>.+?)(?: ,)? (?:which|what)(?: room| one)? has (?P<aspect>{_MORE}) (?P<t>.+)"),
    ("more", rf"{_BE} there (?P<aspect>{_MORE}) (?P<t>.+?) (?P<l>(?:in|on) .+?)(?: ,)? than (?P<m>.+)"),
    ("more", rf"{_BE} there (?P<aspect>{_MORE}) (?P<t>.+?) (?P<l>(?:in|on) .+ or .+)"),
    ("more", rf"{_HAVE} (?P<l>.+?) (?:have|contain|hold|got) (?P<aspect>{_MORE}) (?P<t>.+?) than (?P<m>.+?)"
             r"(?: (?:does|has|do|have))?"),
    ("size", (rf"{_BE} (?P<l>.+?) (?:much |lot |any |clearly )?(?P<aspect>{_SIZE})(?: in (?:area|size))? "
              r"than (?P<m>.+)")),
    ("size", (rf"(?:which|what)(?: \w+)??(?: of (?:them|two|these))? {_BE} (?P<aspect>{_SIZE})(?: one| room)?"
              r"(?: ,)? (?P<l>.+)")),
    ("size", rf"(?:which|what) of (?P<l>.+?) {_BE} (?P<aspect>{_SIZE})(?: one| room)?"),
    ("closer", (rf"(?:which|what)(?: \w+)??(?: of (?:them|two|these))? {_BE} (?P<aspect>closer|nearer|closest|nearest) "
                r"to (?P<base>.+?) , (?P<l>.+)")),
    ("closer", rf"{_BE} (?P<l>.+?) (?P<aspect>closer|nearer) to (?P<base>.+?) than (?P<m>.+)"),
    ("count", (rf"how many (?P<t>.+?)(?: {_BE}| can i see| do i have)?(?: there)?{_WITHIN} (?P<l>in .+?)"
               rf"(?: ,)?{_WITHIN}")),
    ("count", rf"how many (?P<t>.+?) {_HAVE} (?P<l>.+?) (?:have|contain|hold|got){_WITHIN}"),
    ("count", rf"(?:what is )?(?:total )?number of (?P<t>.+?) (?P<l>in .+?){_WITHIN}"),
    ("count", rf"how many (?P<l>.+ and .+?) {_BE} there{_WITHIN}"),
    ("state", (rf"{_BE} there (?:any |some )?(?P<t>.+?) (?:switched |turned )*(?P<aspect>{STATES}) "
               r"(?P<l>(?:both )?in .+)")),
    ("exists", rf"{_BE} there (?:any |some )?(?P<t>.+?) (?P<l>(?:both )?(?:in|on) .+)"),
    ("exists", rf"{_HAVE} (?P<l>.+?) (?:both |all |each )?(?:have|contain|got) (?:any |some )?(?P<t>.+)"),
    ("state", rf"{_BE} (?P<t>.+?) (?:switched |turned |both |all |still )*(?P<aspect>{STATES}) (?P<l>in .+)"),
    ("state", (rf"{_BE} (?P<l>.+?) (?:switched |turned |both |all |still |made of |made from )*"
               rf"(?P<aspect>{STATES}|{'|'.join(COLOURS)}|{_STUFF})")),
    ("each", rf"(?:what|which) (?P<aspect>colou?rs?|shades?|materials?|state) {_BE} (?P<l>.+)"),
    ("each", rf"what {_BE} (?P<aspect>colou?rs?|shades?|materials?|state) of (?P<l>.+)"),
    ("each", rf"(?:of )?what {_BE} (?P<l>.+?) (?P<aspect>made)(?: of| from| out of)?"),
    ("each", rf"(?P<aspect>where) {_BE} (?P<l>.+?)(?: located| kept| stored)?"),
))
_COUNTED = frozenset(("more", "count"))
_DIFFER = frozenset(("different", "differ"))
_WHICH = ("which ", "what ", "where ", "of ")
_KNOWN, _MISSING = "known: ", "missing: "
_BETWEEN = re.compile(r"(?: ,)? (?:and|or|versus|vs|than) | , ")
_IN = re.compile(r"(?:(?:both|either) )?(in|inside|on|at|of|from|between|among) ")
_UPON = re.compile(r"(?:on|under|above|below|next to|near|beside|by|at) ")
_SUCH = re.compile(r"(?:that|those|ones|one)(?: (?:of|from))?(?: |$)")
_MANY = re.compile(r"(?:(?:each|all|both|either) )?(?:of )?(?:my |our |your )?(?:(?P<n>both|two|three|2|3) )"
                   r"(?:of )?(?:my |our |your )?(?P<many>.+)")
_OWNERS = re.compile(r"^(?:(?:my|our|your|any|some|all) )+")
_ENDS = re.compile(rf"(?:.* )?(?:and|or|in|not|{STATES}|{_SIZE})|(?:is|are|there|where|what|which|how)\b.*")


@lru_cache(maxsize=1024)
def targets(question: str) -> tuple[Target, ...]:
    """Return the places or objects that a question is about where it is about several, in its order; else ()."""
    asked = compared(question)
    return asked.targets if asked else ()


@lru_cache(maxsize=1024)
def compared(question: str) -> Compared | None:
    """Return what a question asks of several targets, None for any other question."""
    plain = direct(spelled(in_normal_form(re.sub(r"\s*[:\u2013\u2014]\s|\s-\s", ", ", question)))).strip(" ,")
    if len(plain) > _LONGEST:
        return None
    for form, pattern in _PHRASINGS:
        if (found := pattern.fullmatch(plain)) and (asked := _read(form, found.groupdict(default=""))):
            return asked._replace(which=plain.startswith(_WHICH))
    return None


def standing(known: Sequence[str], missing: Sequence[Target] = ()) -> str:
    """Return what is known and which targets are missing, as a message: "known: ...; missing: ..."."""
    said = [*(known or ["nothing"]), *(_MISSING + target.name for target in missing)]
    return _KNOWN + "; ".join(said)


def is_standing(message: str) -> bool:
    """Return whether a message says what is known of several targets."""
    return message.startswith(_KNOWN)


def missing_in(message: str, question: str) -> tuple[Target, ...]:
    """Return the targets of a question that such a message calls missing; () for any other message."""
    if not is_standing(message):
        return ()
    names = [part.removeprefix(_MISSING) for part in message.split("; ") if part.startswith(_MISSING)]
    return tuple(target for target in targets(question) if target.name in names)


def _read(form: str, groups: dict[str, str]) -> Compared | None:
    meant = _listed(groups["l"], groups.get("m", ""), groups.get("t", ""))
    if len(meant) < 2 or len(set(meant)) < len(meant) or not all(map(_is_sound, meant)):
        return None
    if "t" in groups and not all(target.where for target in meant):
        return None
    if form in ("exists", "state"):
        form = "either" if " or " in groups["l"] or groups["l"].startswith("either") else "both"
    aspect = singular(groups.get("aspect", "")) or ("number" if groups.get("t") and form == "same" else "")
    base = _target(groups.get("base", ""))
    if base != Target(""):  # it has to be seen, too; what stands close to it stands in its room
        meant = (*(t if t.where else t._replace(where=base.where) for t in meant), base)
    return Compared(form, meant, aspect, groups.get("how", "") in _DIFFER)


def _is_sound(target: Target) -> bool:
    """Return whether words can name a target: a pattern that cuts a question in the wrong place leaves others."""
    return bool(target.what or target.room) and not any(
        part and _ENDS.fullmatch(part) for part in (target.what, target.where))


def _listed(first: str, second: str, what: str) -> tuple[Target, ...]:
    """Return the targets of one or two lists; what: the object that each place is asked about, "" for none."""
    if re.search(r"\bdoor (?:between|from) ", first):
        return ()
    parts = [part for text in (first, second) if text for part in _BETWEEN.split(text)]
    found = [target for part in parts for target in _numbered(part.strip(" ,"))]
    if what:
        return tuple(Target(what, _place(target)) for target in found)
    return _completed(found)


def _place(target: Target) -> str:
    """Return the place that a list of places names: "kitchen", "in the kitchen", "on the desk in the study"."""
    return f"{target.what} in {target.where}" if target.what and target.where else target.where or target.what


def _numbered(part: str) -> Iterator[Target]:
    """Yield the targets of one part of a list; of "both bedrooms", "the two sofas" as many as it says."""
    part = _OWNERS.sub("", part)
    one = _target(part)
    for field in ("where", "what"):
        text = getattr(one, field)
        if (found := _MANY.fullmatch(text)) and singular(found["many"].split(" in ")[0]) != found["many"]:
            for name in _ORDINALS[_NUMBERS[found["n"]]]:
                yield one._replace(**{field: f"{name} {singular(found['many'])}"})
            return
    yield Target(re.sub(r"^(?:both|either|each) ", "", one.what), re.sub(r"^(?:both|either|each) ", "", one.where))


def _target(part: str) -> Target:
    """Return object and place of a noun phrase; "one in the kitchen" and "in the kitchen" have no object."""
    part = _SUCH.sub("", part, count=1)
    led = _IN.match(part)
    if led and (led[1] in ("in", "inside") or is_room(part[led.end():])):
        return Target("", part[led.end():])
    head, _, tail = part.rpartition(" in ")
    if head:
        return Target(head, tail)
    return Target("", part) if is_room(part) else Target(*named_after_room(part))


def _completed(found: Sequence[Target]) -> tuple[Target, ...]:
    """Return the targets with what they share: "rugs in A and in B", "bed in A and one in B", "sofa, lamp in A"."""
    out: list[Target] = []
    for target in found:
        before = out[-1].what if out else ""
        if _UPON.match(target.what):  # "the pillow on the bed in A and on the bed in B"
            target = target._replace(what=f"{_UPON.split(before)[0].strip()} {target.what}".strip())
        out.append(target if target.what else target._replace(what=before))
    whats, last = [t for t in out if t.what], out[-1] if out else Target("")
    if len(whats) == 1 and len(out) > 1 and last.what and last.where:  # "the kitchen and living room curtains"
        out = [Target(last.what, t.where) for t in out]
    if last.where and all(t.what and not t.where for t in out[:-1]):
        out = [t._replace(where=last.where) for t in out]
    return tuple(out)


def _bare(name: str) -> str:
    return re.sub(r"^(?:one|other|another|third) (?=\w)", "", name)
