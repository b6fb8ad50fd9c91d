"""Phrasings of questions about sizes, distances, gaps, and whether something fits; in normal form."""

from __future__ import annotations

import re

_BE = "(?:is|are|was|were)"
_GAP = "(?:gap|space|room|opening|distance|clearance|passage)"
_WIDE = "wide|tall|high|long|deep|thick|big|large"
_NOUN = "width|height|length|depth|thickness|size|dimensions?|measurements?"
_WOULD = "(?:would|will|does|do|could|can|is)"
_FITS = (r"(?:still )?(?:be able to )?(?:fit|go|stand|pass|get|squeeze|be put|be placed|drive|roll)"
         r"(?: in| into| through)?(?: (?:gap|space))?")
# a: the side that is asked about, or what has to fit.
MEASURES = tuple((form, re.compile(pattern)) for form, pattern in (
    ("gap", rf"how (?:wide|big|large|long) {_BE} (?:there )?{_GAP} between (?P<t>.+?) and (?P<u>.+)"),
    ("gap", rf"how (?:many|much) {_GAP} {_BE} (?:there )?(?:left )?between (?P<t>.+?) and (?P<u>.+)"),
    ("gap", rf"what {_BE} (?:width|size) of {_GAP} between (?P<t>.+?) and (?P<u>.+)"),
    ("fits", rf"{_WOULD} (?P<a>.+?) {_FITS} between (?P<t>.+?) and (?P<u>.+)"),
    ("fits", rf"is there (?:enough )?{_GAP} (?:enough )?(?:for|to (?:put|place|fit)) (?P<a>.+?) between (?P<t>.+?) and "
             r"(?P<u>.+)"),
    ("fits", rf"is {_GAP} between (?P<t>.+?) and (?P<u>.+?) (?:wide|big|large) enough (?:for|to (?:put|place|fit)) "
             r"(?P<a>.+)"),
    ("passes", rf"{_WOULD} (?P<a>.+?) {_FITS}(?<=through) (?P<t>.+)"),
    ("passes", r"is (?P<t>.+?) wide enough (?:for|to let) (?P<a>.+?)(?: (?:to |go|pass|get|through).*)?"),
    ("apart", rf"how (?:far|close|near) (?:away )?{_BE} (?P<t>.+?) (?:away )?(?:from|to) (?P<u>.+)"),
    ("apart", rf"how far apart {_BE} (?P<t>.+?) and (?P<u>.+)"),
    ("apart", rf"how far {_BE} (?P<t>.+?) and (?P<u>.+?)(?: apart)?"),
    ("apart", rf"(?:what {_BE} )?distance between (?P<t>.+?) and (?P<u>.+)"),
    ("apart", rf"(?:what {_BE} )?distance (?:from|of) (?P<t>.+?) (?:to|from) (?P<u>.+)"),
    ("size_of", rf"how (?P<a>{_WIDE}) {_BE} (?P<t>.+)"),
    ("size_of", rf"(?:what {_BE} )?(?P<a>{_NOUN}) of (?P<t>.+)"),
    ("size_of", rf"what (?P<a>{_NOUN}) {_BE} (?P<t>.+)"),
))
SIDES = {"width": "wide", "height": "high", "tall": "high", "length": "long", "depth": "deep", "thickness": "thick"}
