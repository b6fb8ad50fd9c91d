"""Finds the letter of a multiple-choice option in a reply: "B", "(b)", "Answer: B", "I think it's C".

Nothing is guessed. A letter counts if it stands alone, after words that introduce an answer, in brackets, or before
punctuation; the article "a" and the pronoun "I" do not. A reply that names several letters, or rules out the only one,
names none, unless it says which of them is its answer.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical

_PLAIN: dict[int, int | str] = {**{0xFF01 + i: 0x21 + i for i in range(94)}, ord("’"): "'"}  # full-width forms
_THOUGHT = re.compile(r"</think(?:ing)?>", re.I)
_UNFINISHED = re.compile(r"\s*<think(?:ing)?>", re.I)
_BOXED = re.compile(r"\\boxed\b")
_BLANK = re.compile(r"[^\S\n]+|\s*\n\s*")
_MARKUP = re.compile(r"</?[A-Za-z]{2,10}>|\\[A-Za-z]+|[*_`#$\"“”{}~]|(?<![A-Za-z])'|'(?![A-Za-z])")
_LINKS = ("is|are|was|be|would|must|should|will|could|may|might|it|its|it's|that's|most|very|likely|probably|certainly|"
          "definitely")
_ANSWERS = ("answer", "ans", "response")
_NOUNS = "answer|ans|option|choice|letter|response"
# Words that may precede a letter that is the answer. "a" and "not" are never among them.
_INTRODUCTION = frozenset((
    f"{_LINKS}|{_NOUNS}|so|thus|hence|therefore|ok|okay|sure|well|the|my|final|correct|right|best|i'd|i'll|i|we|think|"
    "believe|say|guess|choose|chose|pick|select|selected|go|with|for|opt|of|to|this|that|question|based|on|from|image|"
    "images|picture|pictures|view|views|am|confident|sure|here|and").split("|"))
_SPEAKS = frozenset(("think", "believe", "would", "choose", "chose", "pick", "select", "selected", "go", "guess", "say",
                     "am", "will"))
_NAMED = re.compile(
    rf"\b({_NOUNS})\b(?:\s*(?:[:=>–—-]|\b(?:{_LINKS}|{_NOUNS}|the|to|this|question|for|of|therefore|correct|right)\b)){{0,8}}"
    r"\s*[(\[]?\s*\b([A-Za-z])(?![\w'’-])", re.I)
_BARE = re.compile(r"(?<![\w'’-])([A-Z])(?![\w'’]|-\w)")
_BRACKETED = re.compile(r"[(\[]\s*([A-Za-z])\s*[)\]]")
_WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)?|\S")
_PUNCTUATED = re.compile(r"\s*(?:$|[)\].:,;!?])")
_RULED_OUT_BEFORE = re.compile(r"\b(?:not|never|neither|nor|isn't|wasn't|than|except)\s+(?:the\s+)?"
                               rf"(?:(?:{_NOUNS})\s+)?[(\[]?\s*$", re.I)
_RULED_OUT_AFTER = re.compile(r"[)\]]?\s+(?:(?:is|are|was|can|could|does|seems)\s+(?:not|wrong|incorrect|false|"
                              r"ruled out)|isn't|wasn't|cannot|can't|doesn't)\b", re.I)
_ANOTHER = re.compile(rf"[)\].:]?\s*(?:[,/&+]|,?\s*\b(?:or|and)\b)\s*(?:(?:maybe|perhaps)\s+)?(?:(?:{_NOUNS})\s+)?"
                      r"[(\[]?\s*([A-Za-z])(?:\s*[)\].,:;!?/]|\s*$|\s+(?:or|and)\b)", re.I)
_HEDGE = re.compile(r"[)\]]?\s*,?\s*or\b", re.I)
_AFTER = re.compile(r"\s*(?:$|[)\].:;!?>\n,(]|[-–—]+(?:\s|>|$)|"
                    r"(?:because|since|as|is|was|due|given|based|seems|looks)\b)", re.I)


class Letter(NamedTuple):
    """Letters named in a reply. choice: index of the choice that it names, None = none; several: it names several."""

    choice: int | None
    several: bool = False


def spoken(text: str) -> str:
    """Return a reply without a model's thoughts, mark-up and quotation marks, with full-width characters made plain."""
    plain = _MARKUP.sub(" ", _BOXED.sub(" answer: ", without_thoughts(text)))
    return _BLANK.sub(lambda blank: "\n" if "\n" in blank[0] else " ", plain).strip()


def without_thoughts(text: str) -> str:
    """Return the text after the thoughts of a reply; "" if the thoughts were cut off."""
    text = text.translate(_PLAIN)
    end = max((thought.end() for thought in _THOUGHT.finditer(text)), default=0)
    return "" if not end and _UNFINISHED.match(text) else text[end:]


def named_letter(text: str, choices: Sequence[str]) -> Letter:
    """Return the choice that the letters of a reply name. text: the reply as returned by `spoken`."""
    reading = _Reading(text, choices)
    for mentions in (reading.answers(), reading.leading(), reading.mentions()):
        found = set(mentions)
        if found:
            index = found.pop()
            return Letter(index) if index is not None and not found else Letter(None, several=True)
    return Letter(None)


class _Reading:
    """One reply together with the choices of its question."""

    def __init__(self, text: str, choices: Sequence[str]) -> None:
        self._text, self._choices = text, choices
        self._longest = 40 + 2 * max(map(len, choices), default=0)  # maximum length of a reworded choice
        own = {choice.strip().upper(): i for i, choice in enumerate(choices)
               if len(choice.strip()) == 1 and choice.strip().isalpha()}
        # If the choices are letters themselves ("Which letter is on the door?") a letter means that choice.
        self._index = own or {letter: i for i, letter in enumerate(string.ascii_uppercase[:len(choices)])}
        self._in_choices = set[str]() if own else {m[1] for choice in choices for m in _BARE.finditer(choice)}

    def leading(self) -> Iterator[int | None]:
        """Yield the letter at the beginning of the reply, or after words that introduce an answer."""
        words = list(_WORD.finditer(self._text))
        for i, word in enumerate(words):
            said, follows = word[0], words[i + 1][0].lower() if i + 1 < len(words) else ""
            if len(said) == 1 and said.upper() in self._index and not (said == "I" and follows in _SPEAKS):
                if self._own_text_follows(said, word.end()) or self._stands_alone(said, word.end()):
                    yield from self._meant(said, word.start(), word.end())
                return
            if said[0].isalnum() and said.lower() not in _INTRODUCTION:
                return

    def answers(self) -> Iterator[int | None]:
        """Yield the choice that the reply calls its answer, None if that is several."""
        yield from self._named(_ANSWERS)

    def mentions(self) -> Iterator[int | None]:
        """Yield the letters that are named as options, stand in brackets, or are capitals that are not words."""
        yield from self._named(_NOUNS.split("|"))
        for match in _BRACKETED.finditer(self._text):
            yield from self._meant(match[1], match.start(1), match.end(1))
        for match in _BARE.finditer(self._text):
            alone = _PUNCTUATED.match(self._text, match.end())
            if match[1] not in self._index or match[1] in self._in_choices:
                continue
            article = match[1] in "AI" and not alone and not self._several(match[1], match.end())
            if not article:
                yield from self._meant(match[1], match.start(1), match.end(1))

    def _named(self, nouns: Collection[str]) -> Iterator[int | None]:
        for match in _NAMED.finditer(self._text):
            small = match[2].islower() or match[2] in "AI"
            if match[1].lower() in nouns and (not small or self._stands_alone(match[2], match.end(2))):
                yield from self._meant(match[2], match.start(2), match.end(2))

    def _meant(self, said: str, start: int, end: int) -> Iterator[int | None]:
        if said.upper() not in self._index or _RULED_OUT_AFTER.match(self._text, end):
            return
        if _RULED_OUT_BEFORE.search(self._text, max(0, start - 40), start):
            return
        yield None if self._several(said, end) else self._index[said.upper()]

    def _stands_alone(self, said: str, end: int) -> bool:
        """Return whether the text after a letter shows that it is not a word: "a." and "a or b", but not "a cat"."""
        return _AFTER.match(self._text, end) is not None or self._several(said, end)

    def _own_text_follows(self, said: str, end: int) -> bool:
        index, rest = self._index.get(said.upper()), self._rest(end)
        return bool(rest) and index is not None and rest == canonical(self._choices[index])

    def _several(self, said: str, end: int) -> bool:
        """Return whether a reply names more than this letter: "A or B", "A/B", "B or red", "B) red" if C is red."""
        another = _ANOTHER.match(self._text, end)
        if another and another[1].upper() in self._index and another[1].upper() != said.upper():
            return True
        if _HEDGE.match(self._text, end):
            return True
        rest = self._rest(end)
        return bool(rest) and not self._own_text_follows(said, end) and any(rest == canonical(c) for c in self._choices)

    def _rest(self, end: int) -> str:
        """Return the following text in canonical form, "" if it is too long to be a choice."""
        return canonical(self._text[end:]) if len(self._text) - end <= self._longest else ""
