"""How well the vectors of what a view shows fit a text (core/perception/vectors.py)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.perception.vectors import AskedLooks, Words, appearance_in, asked_things, open_words

_VECTOR = 3  # place of the vector in what a view shows
_WITHOUT = "views are recalled without the vectors of their objects: %s"
_LOG = logging.getLogger(__name__)


class ViewLooks:
    """The words of the vector spaces in a memory, opened when they are first needed."""

    def __init__(self) -> None:
        self._words: dict[str, Words | None] = {}

    def fits(self, text: str, views: Mapping[int, Sequence[Sequence[Any]]]) -> dict[int, float]:
        """Return by view how well one of its objects fits a text, 0..1, for the views whose vectors can be compared.

        views: kind, room, pixels and vector of what each view shows; unknown vectors are left out. Only the space with
        most vectors is used.
        """
        read = {i: [found for thing in things if len(thing) > _VECTOR
                    and (found := appearance_in(thing[_VECTOR])) is not None] for i, things in views.items()}
        sizes = Counter((found.space, len(found.values)) for each in read.values() for found in each)
        if not sizes or not text.strip():
            return {}
        (space, size), _ = max(sizes.items(), key=lambda item: (item[1], item[0]))
        words = self._opened(space)
        if words is None:
            return {}
        asked = AskedLooks(words, *asked_things(text))
        rows = {i: [one.values for one in each if (one.space, len(one.values)) == (space, size)]
                for i, each in read.items()}
        try:
            fits = {i: asked.fit(values) for i, values in rows.items() if values}
        except EqaError as error:  # the words of the views are still there
            _LOG.warning(_WITHOUT, error)
            return {}
        return {i: fit for i, fit in fits.items() if fit is not None}

    def _opened(self, space: str) -> Words | None:
        if space not in self._words:
            try:
                self._words[space] = open_words(space)
            except EqaError as error:
                _LOG.warning(_WITHOUT, error)
                self._words[space] = None
        return self._words[space]
