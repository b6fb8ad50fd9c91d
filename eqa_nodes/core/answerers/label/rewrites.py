"""Rewrites other phrasings of a question to those that the table in parse.py knows."""

from __future__ import annotations

import re
from functools import lru_cache

from eqa_nodes.core.language.politeness import direct
from eqa_nodes.core.language.spelling import spelled
from eqa_nodes.core.language.states import STATES

_WHO = "(?:i|we|you|somebody|someone|anyone|anybody|they|he|she)"
_BASE = {"turned": "turn", "switched": "switch", "closed": "close", "shut": "shut", "opened": "open", "made": "make"}
# What apostrophes leave behind in normal form.
_TORN = tuple((re.compile(rf"\b{torn}\b"), whole) for torn, whole in (
    ("ca not", "can not"), ("wo not", "will not"), ("i ve", "i have"), ("i m", "i am"), ("i d", "i would"),
    ("(where|what|how|there|they|we|you) re", r"\1 are")))
# Tried in order, each once, on the normal form; what it yields goes on to the next.
_REWRITES = tuple((re.compile(pattern), text) for pattern, text in (
    (r"(is|are|was|were|do|does|did|has|have|can) not (.+)", r"\1 \2"),
    (r"(?:is|are) there (?:any ?one|any ?body)\b(.*)", r"is there person\1"),
    (r"were (is|are) (.+)", r"where \1 \2"),
    # where
    (r"(?:(?:have|has|did) )?(?:you|anyone|anybody|somebody|someone) (?:(?:by any chance|maybe) )?"
     r"(?:seen|see|found|find) (?!.*\blast\b)(.+)", r"where is \1"),
    (r"(?:i|we) (?:can not|could not|do not|did not) (?:find|see|locate) (.+)", r"where is \1"),
    (r"(?:i|we) (?:have )?(?:lost|misplaced|am missing|are missing) (.+)", r"where is \1"),
    (r"(?:i|we) (?:am|are) (?:looking for|searching for|missing) ((?!.* , ).+)", r"where is \1"),
    (r"(?:please )?(?:find|locate|look for|search for|find me|go find|fetch me|get me) (.+)", r"where is \1"),
    (r"where ((?:my|our) .+)", r"where is \1"),
    (r"where (?:exactly|abouts|on earth|in house|else) (.+)", r"where \1"),
    (r"where (?:can|could|would|will|might|should) (?:i|we|you|one) (?:find|look for|see) "
     r"(?!something|anything|someone|anyone)(.+)", r"where is \1"),
    (r"where do (?:i|we|you|they) (?:find|keep|store|have|put) (?!something|anything)(.+)", r"where is \1"),
    (r"where (?:might|could|can|would|should|will|may) (?!i |we |you |one )(.+?) be", r"where is \1"),
    (r"where (?:has|have|did) (?!i |we |you )(.+?) (?:gone|go|disappeared|disappear|end up)(?: to)?", r"where is \1"),
    (rf"where (?:did|have|has) {_WHO} (?:last )?(?:leave|left|put|placed|place|forget|forgotten|lose|lost|park|parked) "
     r"(.+)", r"where did i leave \1"),
    (r"(?:what is |which is )?(?:location|place|position|whereabouts) of (.+)", r"where is \1"),
    (r"(?:in |on |at )?(?:what|which) (?:place|spot|location) (is|are) (.+?)(?: in| at)?", r"where \1 \2"),
    (r"where (is|are) (.+?) (?:at|located|placed|kept|standing|lying|to be found|be found|hiding|hidden)",
     r"where \1 \2"),
    (r"where (?:does|do) (.+?) (?:stand|hang|lie|live|sit|belong)", r"where is \1"),
    (r"(?:in )?(?:which|what) room (?:can|could|do) (?:i|we|you) (?:find|see|have|keep) (.+?)(?: in)?",
     r"which room is \1 in"),
    (r"(?:in )?(?:which|what) rooms? (?:contains?|holds?|has|have|do|does) (.+?)(?: have)?", r"which room is \1 in"),
    # is it there
    (r"(?:is|are) there not (?:any )?(.+)", r"is there \1"),
    (r"(?:do|does|did) (?:not )?(?:i|we|you|they|house|home|flat|apartment|place) (?:not )?"
     r"(?:still |also |even |really )?(?:have|own|possess|got)(?: got)?(?: any| some)? "
     r"(?!(?:\w+ )?(?:pet|child|baby)$)(.+)", r"is there \1"),
    (r"have (?:i|we|you|they) (?:still )?got(?: any| some)? (.+)", r"is there \1"),
    (r"(?:do|can|could) (?:you|i|we) (?:see|find|spot|get)(?: any| some)? (.+)", r"is there \1"),
    (r"(?:does|do|has|have) (.*(?:room|kitchen|study|hallway|hall|garage|pantry|entryway|office)) (?:have|contain|got)"
     r"(?: any| some| got)? (.+)", r"is there \2 in \1"),
    (r"(?:have )?got (?:any|some) (.+)", r"is there \1"),
    (r"(?:are|have|did) (?:i|we|you) (?:run |ran )?out of (.+)", r"is there no \1"),
    (r"(?:any|some) (.+? left(?: .+)?)", r"is there \1"),
    (r"((?:is|are) there .+?) (?:out|lying|standing|sitting) ((?:on|in|under|inside) .+)", r"\1 \2"),
    (r"(is|are) there (?:still|already|also|maybe|perhaps|even) (.+)", r"\1 there \2"),
    (r"does (.+?) exist(?: .+)?", r"is there \1"),
    # in what state
    (rf"(?:is|are) there (?:any |some |still )*((?!anything|something).+? (?:{STATES})(?: in .+)?)", r"are any \1"),
    (rf"(?:has|have|did) {_WHO} (?:forget|forgot|forgotten) to (?:turn|switch) off (.+)", r"is \1 on"),
    (rf"(?:has|have|did) {_WHO} (?:forget|forgot|forgotten) to (?:turn|switch) (.+) off", r"is \1 on"),
    (rf"(?:has|have|did) {_WHO} (?:forget|forgot|forgotten) to (?:close|shut) (.+)", r"is \1 open"),
    (rf"(?:has|have|did) {_WHO} (?:leave|left|forget|forgot|forgotten) (.+ (?:{STATES})(?: in .+)?)", r"is \1"),
    (r"(?:is|are|was|were) (.+?) (?:still )?left (on|off|open|opened|closed|shut|running|unlocked|empty)( in .+)?",
     r"is \1 \2\3"),
    (r"(?:has|have) (.+) been (?:switched|turned|left|put) (on|off)", r"is \1 \2"),
    (r"(?:has|have) (.+) been (closed|shut|opened|made|emptied|cleaned)", r"is \1 \2"),
    (r"(?:what is|which is|in (?:what|which) state is) (?:state|status) of (.+)", r"what state is \1"),
    # looks
    (r"(?:colou?r|shade) of (.+)", r"what colour is \1"),
    (r"(?:what|which) (?:is |are )?(?:colou?r|shade) (?:does|do|has|have) (.+?)(?: have| got)?", r"what colour is \1"),
    (r"(?:what|which) (?:colou?r|shade) (?!is |are |was |were )(.+?) (?:do|have|has|did) (?:i|we|you)(?: have| got)*",
     r"what colour is \1"),
    (r"(?:what|which) (?:is |are )(.+?) colou?r", r"what colour is \1"),
    (r"(?:is|are) (.+?) (?:of )?(?:what|which) colou?r", r"what colour is \1"),
    (r"how (?:is|are) (.+?) colou?red", r"what colour is \1"),
    (r"(?:what|which) colou?r (?!is |are |was |were |of )(.+)", r"what colour is \1"),
    (r"(?:what|which) (?:kind of |sort of )?material (?:does|do|has|have) (.+?)(?: have| got| consist of)?",
     r"what material is \1"),
    (r"(?:of |from |out of )(?:what|which)(?: material)? (is|are) (.+?) made", r"what \1 \2 made of"),
    (r"(?:what|which) (?:does|do) (.+) consist of", r"what is \1 made of"),
    # how many
    (r"(?:count|number of|what is number of|what number of) (.+)", r"how many \1"),
    (r"how much (.+)", r"how many \1"),
    (r"how many (.+?) (?:does|do|has|have) (?!(?:i|we|you) (?:have|own)$)(.+?) (?:have|contain)",
     r"how many \1 are in \2"),
    (r"how many (.+?) (?:have i|have we|have you|do we|do you|can you|can we|did you|could you|do you)"
     r"(?: got| have| own| see| find| count)*( .+)?", r"how many \1 are there\2"),
    (r"how many (.+?) (?:are|is) (?:there )?(?:left|remaining|standing|stored|kept|placed)( .+)?",
     r"how many \1 are there\2"),
    (r"how many (.+?) ((?:in|on|inside|under) .+) (?:are|is) there", r"how many \1 are there \2"),
    (r"how many (.+?) are there (in|on|inside|under) (.+)", r"how many \1 are \2 \3"),
    # what is there
    (r"(?:what|which) (?:all )?(?:do|did|have) (?:i|we|you) (?:have|got|keep|store|put|see|find) "
     r"((?:on|in|under|inside) .+)", r"what is \1"),
    (r"(?:what|which) (?:things|items|objects|stuff|kind of things|all) (?:are|is|lie|stand)(?: there)? (.+)",
     r"what is \1"),
    (r"what (?:lies|stands|sits|lays) (.+)", r"what is \1"),
    (r"(?:what|which) is there (.+)", r"what is \1"),
    (r"what can (?:i|we|you|one) (?:see|find) ((?:on|in|under|inside) .+)", r"what is \1"),
    (r"is (?:there )?(?:anything|something|any thing|stuff)(?: lying| standing| left)? (on|in|under|inside) (.+)",
     r"is there anything \1 \2"),
    (rf"((?!is |are |did |what |which |where |how )(?:\w+ ){{1,4}})((?:{STATES}) or (?:{STATES}))", r"is \1\2"),
    (r"(?:list|name|show) (?:all |me )*(.+)", r"which \1 are there"),
))


@lru_cache(maxsize=4096)
def plainly(plain: str) -> str:
    """Return a question in normal form with its slips mended, without polite words, worded as the phrasings are."""
    text = plain
    for torn, whole in _TORN:
        text = torn.sub(whole, text)
    text = direct(spelled(text))
    for pattern, wording in _REWRITES:
        if found := pattern.fullmatch(text):
            text = " ".join(found.expand(wording).split())
    return _past_tense(text)


def _past_tense(text: str) -> str:
    """Return "did i turn off ..." for "have i turned off ..." and "did i turned off ..."."""
    verb = "turned|switched|closed|shut|opened|made|turn|switch|close|open|make"
    found = re.fullmatch(rf"(?:has|have|did) {_WHO} ({verb})\b(.*)", text)
    return f"did i {_BASE.get(found[1], found[1])}{found[2]}" if found else text
