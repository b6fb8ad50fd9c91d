"""Finds keyframes that match a query by words, meaning, time and place; each score is explained.

Small memories are searched completely. If the words of a query occur in more than _EXACT keyframes, candidates come
from lists that begin with the best (views filled most by an object of that name, newest first) and from the nearest
embeddings. So the cost of a query is bounded for any size of memory (`make bench` shows the times).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.language.english import canonical, content_words, normalise
from eqa_nodes.core.language.naming import kept_in, members
from eqa_nodes.core.language.spelling import spelled
from eqa_nodes.core.language.time_words import asks_of_past
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.embedding import Embedder
from eqa_nodes.core.memory.index import Index
from eqa_nodes.core.memory.ledger import PEOPLE, patrols, running_since
from eqa_nodes.core.memory.looks import ViewLooks
from eqa_nodes.core.memory.maps import Maps
from eqa_nodes.core.memory.present import PresentState
from eqa_nodes.core.memory.rows import TIERS, VECTORS, tier
from eqa_nodes.core.memory.scoring import (
    WEIGHTS,
    Match,
    NameIndex,
    TermFit,
    any_of,
    bm25,
    by_name,
    likeness,
    newest_first,
    spread,
)
from eqa_nodes.core.memory.times import FOR_EVER, TimesInText, TimeWindow, times_asked, times_in
from eqa_nodes.core.types.questions import MemoryObject, RecallQuery

_EXACT = 3000  # maximum number of rows with a query's words for ranking all of them
_RERANKED = 100  # number of best matches whose sightings are read
_LISTED = 80  # candidates from each list if words are too common, and in total
_FILTERED = 20_000  # maximum number of rows of a list that are filtered by the query's conditions
_NEAREST = 150  # nearest signatures whose vectors are compared exactly
_TERMS = 6  # number of the rarest query words to use if words are too common
_IN_VIEW = 4.0  # score of a match that fills the view; a rare word scores 1 to 4
_NAMED = 4.0  # score of the best view of an object whose name means exactly what is asked
_NAMES = 5  # number of object names to search for, the nearest in meaning
_SHOWN = 24  # views of each name that are ranked
_AGAIN = 0.15  # reduction of similarity for each further view of the same name
_ALIKE = 0.35  # minimum cosine of texts with similar meaning
_UNNAMED = 1000  # maximum number of views that are searched by looks alone
_LOOKS = 9.0  # score of a view whose vectors fit the query for certain
_BESIDE_M = 4.0  # distance from the middle of a room's views that is "near" the room
# Canonical words that are frequent in questions and do not distinguish views.
_IDLE = frozenset(("in", "on", "off", "or", "next", "above", "below", "under", "color", "0", "no", "not", "open",
                   "closed"))
_PATROLS, _NEWEST = 2, "newest look"
_SENTENCES = re.compile(r"[.?!]\s+\w.*[.?!]\s*$", re.DOTALL)
_NEAR = re.compile(r"\b(?:near|by|around|close to|next to) (?:the |my |our )?([a-z ]+)")


def _times(text: str, now_ns: int) -> TimesInText:
    """Return the time of a query; of several sentences, "I was out last night. Is the lamp on?", that of the question.
    """
    return (times_asked if _SENTENCES.search(text) else times_in)(text, now_ns)


def _sought(asked: str, text: str) -> str:
    """Return what to search for: the names in a question; the words of a text that is not understood as one.

    asked: the whole question; text: the same without its time.
    """
    query = understand(asked).query if asked.strip() else None
    return " ".join(query.names if query is not None else ()) or spelled(normalise(text))


def _things(texts: Mapping[int, str]) -> dict[int, list[list[Any]]]:
    """Return what views show by id, from their JSON, which is parsed at once: calls of the parser cost more."""
    return dict(zip(texts, json.loads(f"[{','.join(texts.values())}]"), strict=True))


class _Asked(NamedTuple):
    """A parsed query."""

    terms: tuple[str, ...]
    vector: np.ndarray | None  # embedding of the terms
    names: tuple[tuple[str, float], ...]  # canonical names of objects, with their similarity to the text
    allowed: np.ndarray
    near: tuple[float, float, float] | None
    limit: int
    window: TimeWindow | None
    beside: tuple[str, float, float] | None
    unclear: bool  # whether the text names a time that could not be parsed
    text: str  # the query without its time


class Recaller:
    """Finds keyframes of one map. embedder: made the stored vectors, None = not available.

    until_ns: views with later stamps are not trusted and not found.
    """

    def __init__(self, db: Database, index: Index, maps: Maps, embedder: Embedder | None,
                 names: NameIndex) -> None:
        self._db, self._index, self._maps, self.embedder = db, index, maps, embedder
        self.until_ns = FOR_EVER
        self._names, self._looks = names, ViewLooks()
        made_by = db.value("SELECT value FROM facts WHERE name = 'embedder'")
        if embedder is not None and made_by not in (None, embedder.name):
            self.embedder = None  # vectors of different models cannot be compared

    def find(self, query: RecallQuery, now_ns: int) -> list[Match]:
        """Return the best matches, best first; equal scores: the older first. now_ns: reference time for "yesterday".

        If a time in the text was not understood, the reason of the first match says so.
        """
        asked = self._understood(query, now_ns)
        found = self._found(asked, self.present(query, now_ns)) if asked.terms else self._by_place(asked)
        found = found[:query.limit]
        if asked.unclear and found:
            found[0] = found[0]._replace(why=f"{found[0].why}, at any time: the time was not understood")
        return found

    def present(self, query: RecallQuery, now_ns: int) -> PresentState | None:
        """Return what is known at present; None if the query is limited to a time, so that it is not about the present.

        "Have you seen anybody?" is about people whom earlier patrols saw, too.
        """
        times = _times(query.text, now_ns) if query.text else None
        if query.after_ns or query.before_ns or (times is not None and (times.window is not None or times.fault)):
            return None
        return PresentState(self._db, self.until_ns, 0 if asks_of_past(query.text) else running_since(
            self._db, now_ns, self.until_ns))

    def _found(self, asked: _Asked, present: PresentState | None) -> list[Match]:
        found = self._by_text(asked)
        if present is not None:
            found = self._newest_first(found, asked, present)
        if asked.window is not None and asked.window.last and found:
            found = newest_first(found)
        found = found[:asked.limit]
        rest = self._index.ids[asked.allowed & (self._index.column("described") == 0)]
        return found + [Match(int(i), 0.0, f"not described: 1 of {len(rest)} views, spread in time")
                        for i in spread(rest, asked.limit - len(found))]

    def _newest_first(self, found: list[Match], asked: _Asked, present: PresentState) -> list[Match]:
        """Return the matches with the newest looks at the named objects first, and those last that show them otherwise.

        Within one patrol nothing changes: its views are ranked by how well they show what is asked.
        """
        old = self._of_other_people(found, present) if PEOPLE.intersection(asked.terms) else set()
        objects = list[int]()
        if len(patrols(self._db, self._maps.root, self.until_ns)) >= _PATROLS:
            objects = present.named(self._maps.root, asked.terms)
            old |= present.outdated(objects)
        views = (present.newest_view(number) for number in objects[:max(1, asked.limit // 2)])
        newest = dict.fromkeys(i for i in views if i and asked.allowed[self._index.at(np.array([i]))][0])
        by_id = {match.id: match for match in found}
        top = max((match.score for match in found), default=1.0)
        first = [Match(i, top, ", ".join(filter(None, (_NEWEST, by_id[i].why if i in by_id else "")))) for i in newest]
        rest = [match for match in found if match.id not in newest]
        return [*first, *(match for match in rest if match.id not in old),
                *(Match(match.id, 0.0, f"{match.why}, changed since then") for match in rest if match.id in old)]

    def _of_other_people(self, found: Sequence[Match], present: PresentState) -> set[int]:
        """Return the matches that show people whom an earlier patrol saw."""
        ids = [m.id for m in found if self._index.rows[self._index.at(np.int64(m.id))]["stamp_ns"] < present.people_ns]
        briefs = self._columns("briefs", "things", ids)
        return {i for i, (things,) in briefs.items() if any(kind in PEOPLE for kind, *_ in json.loads(things))}

    def about(self, text: str, objects: Sequence[MemoryObject]) -> list[MemoryObject]:
        """Return the objects that a text is about, best match first: by words, or by meaning of their kind."""
        terms = [t for t in content_words(text) if t not in _IDLE]
        vector = self._embedded(terms)
        scored = []
        for o in objects:
            kind, rest = canonical(o.kind).split(), {*canonical(o.room).split()}
            rest |= {word for value in o.attributes.values() for word in canonical(value).split()}
            score = 2.0 * sum(word in terms for word in kind) / max(1, len(kind))
            score += 0.5 * sum(term in rest for term in terms) if score else 0.0
            if vector is not None and score < 2.0 and self.embedder is not None:
                cosine = float(self.embedder.embed([canonical(o.kind)])[0] @ vector)
                score += cosine if cosine >= 0.6 else 0.0
            if score > 0.5:
                scored.append((-score, -o.last_ns, o.id, o))
        return [o for *_, o in sorted(scored)]

    def nearest(self, vector: np.ndarray, count: int) -> list[int]:
        """Return the ids of the keyframes whose embeddings are nearest to a unit vector, the nearest first."""
        near = self._near(vector, np.ones(len(self._index.rows), bool))
        return list(likeness(vector, self._columns("briefs", "vector", near)))[:count]

    def _understood(self, query: RecallQuery, now_ns: int) -> _Asked:
        window, text, unclear = None, query.text, False
        if text and not (query.after_ns or query.before_ns):
            window, _, text, fault = _times(text, now_ns)
            unclear = bool(fault)
        after, before = (window.after_ns, window.before_ns) if window else (query.after_ns, query.before_ns)
        before = min(before or FOR_EVER, self.until_ns)
        near = self._maps.circle(query.near)
        allowed = self._index.allowed(self._maps.root, after, before, near)
        terms = self._terms(_sought(query.text, text))
        names = self._names.likest(text, _NAMES)
        return _Asked(terms, self._embedded(terms), names, allowed, near, query.limit, window, self._beside(text),
                      unclear, text)

    def _terms(self, text: str) -> tuple[str, ...]:
        """Return the words that distinguish views, with groups ("furniture") expanded."""
        terms = [word for word in content_words(text) if word not in _IDLE]
        for term in tuple(terms):
            if (kinds := (*members(term), *kept_in(term))) and not self._docs([term])[term]:
                named = [canonical(kind).split() for kind in kinds]
                terms += [word for words in named if all(self._docs(words).values()) for word in words]
        return tuple(dict.fromkeys(terms))

    def _embedded(self, terms: Iterable[str]) -> np.ndarray | None:
        text = " ".join(terms)
        if self.embedder is None or not text:
            return None
        vector = self.embedder.embed([text])[0]
        return vector if vector.any() else None

    def _beside(self, text: str) -> tuple[str, float, float] | None:
        """Return a room that the text names as a place, with the mean position of its views."""
        match = _NEAR.search(text.lower())
        if match is None:
            return None
        words = match[1].split()
        for n in range(min(3, len(words)), 0, -1):
            row = self._db.execute("SELECT views, x, y FROM regions WHERE root = ? AND name = ?",
                                   (self._maps.root, canonical(" ".join(words[:n])))).fetchone()
            if row is not None:
                return " ".join(words[:n]), row[1] / row[0], row[2] / row[0]
        return None

    def _by_text(self, asked: _Asked) -> list[Match]:
        docs = self._docs(asked.terms)
        by_words = self._exact(asked) if sum(docs.values()) <= _EXACT else self._bounded(asked, docs)
        by_words = dict(sorted(by_words.items(), key=lambda item: (-item[1], item[0]))[:max(_RERANKED, asked.limit)])
        showing = {name: self._showing(name.split(), asked.allowed) for name, _ in asked.names}
        briefs = self._briefs(asked, {*by_words, *chain.from_iterable(showing.values())})
        alike = self._alike(asked, briefs)
        seen, looking, found = _things({i: text for i, (_, text) in briefs.items()}), dict[int, float](), []
        if self._db.value("SELECT value FROM facts WHERE name = ?", (VECTORS,)):
            looking = self._looks.fits(asked.text, {**self._unnamed(asked, by_words), **seen})
            seen = {i: [row[:3] for row in things] for i, things in seen.items()}
        fit = TermFit(frozenset(asked.terms))
        fitting = {i: fit.best(seen[i]) for i in briefs}
        worth = {i: by_words.get(i, 0.0) + _IN_VIEW * fitting[i][0] for i in briefs}
        named = by_name(asked.names, showing, seen, worth, _AGAIN)
        for i in dict.fromkeys((*by_words, *alike, *named, *looking)):
            score, whys = worth.get(i, 0.0), []
            if i in by_words:
                whys.append(f"words {by_words[i]:.2f}")
            share, obj = fitting.get(i, (0.0, ""))
            if share > 0:
                whys.append(f"{obj} in view {_IN_VIEW * share:.2f}")
            if i in named:
                likeness_of_name, name = named[i]
                score += _NAMED * likeness_of_name
                whys.append(f"{name} means it {_NAMED * likeness_of_name:.2f}")
            if i in alike:
                score += alike[i]
                whys.append(f"like it {alike[i]:.2f}")
            if i in looking:
                score += _LOOKS * looking[i]
                whys.append(f"looks like it {_LOOKS * looking[i]:.2f}")
            if score > 0:
                found.append(self._placed(Match(i, score, ", ".join(whys)), asked))
        return sorted(found, key=lambda match: (-match.score, match.id))

    def _unnamed(self, asked: _Asked, by_words: Mapping[int, float]) -> dict[int, list[list[Any]]]:
        """Return what the newest views show if few were found by words: what nobody named may be found by its looks."""
        if len(by_words) >= _RERANKED:
            return {}
        newest = self._index.ids[asked.allowed][-_UNNAMED:]
        return _things({i: text for i, (text,) in self._columns("briefs", "things", newest.tolist()).items()})

    def _docs(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of keyframes that contain each word."""
        return {t: int(self._db.value("SELECT docs FROM terms WHERE term = ?", (t,)) or 0) for t in terms}

    def _exact(self, asked: _Asked) -> dict[int, float]:
        """Return every keyframe that contains a word, with its BM25 score."""
        weights = ", ".join(map(str, WEIGHTS))
        found = self._db.execute(f"SELECT rowid, -bm25(words, {weights}) FROM words WHERE words MATCH ?",
                                 (any_of(asked.terms),)).fetchall()
        ids = np.array([i for i, _ in found], np.int64)
        ok = asked.allowed[self._index.at(ids)] if len(ids) else ()
        return {i: score for (i, score), let in zip(found, ok) if let}

    def _bounded(self, asked: _Asked, docs: Mapping[str, int]) -> dict[int, float]:
        """Return good candidates with their BM25 scores; lengths are relative to those of the candidates."""
        terms = sorted((t for t in asked.terms if docs[t]), key=lambda t: docs[t])[:_TERMS]
        total = max(1, len(self._index.rows))
        weight = {t: max(1e-6, math.log((total - docs[t] + 0.5) / (docs[t] + 0.5))) for t in terms}
        rough: Counter[int] = Counter()
        for term in terms:
            if docs[term] <= _EXACT:
                listed = self._listed("words", f'"{term}"', asked.allowed, _EXACT)
                rough.update(dict.fromkeys(listed, weight[term]))
            others = " OR ".join(f'"{t}"' for t in terms if t != term)
            for extra, bonus in ((f" AND ({others})", 1.0), ("", 0.0)) if others else (("", 0.0),):
                count = 0
                for level in range(TIERS - 1, -1, -1):
                    listed = self._listed("tiers", f'"{tier(term, level)}"{extra}', asked.allowed, _LISTED - count)
                    rough.update(dict.fromkeys(listed, weight[term] + bonus + _IN_VIEW * (level + 0.5) / TIERS))
                    count += len(listed)
                    if count >= _LISTED:
                        break
        if not rough:
            rough.update(dict.fromkeys(self._listed("words", any_of(terms), asked.allowed, _RERANKED), 1.0))
        best = sorted(rough, key=lambda i: (-rough[i], i))[:max(_LISTED, asked.limit)]
        return bm25(self._columns("words", "kinds, attributes, rooms, caption", best, "rowid"), weight)

    def _showing(self, words: Sequence[str], allowed: np.ndarray) -> list[int]:
        """Return at most _SHOWN views of an object whose name has these words, those it fills most first."""
        found: dict[int, None] = {}
        for level in range(TIERS - 1, -1, -1):
            match = " AND ".join(f'"{tier(word, level)}"' for word in words)
            found.update(dict.fromkeys(self._listed("tiers", match, allowed, _SHOWN - len(found))))
            if len(found) >= _SHOWN:
                break
        return list(found)

    def _listed(self, table: str, match: str, allowed: np.ndarray, count: int) -> list[int]:
        """Return the newest matching keyframes that are allowed."""
        if allowed.all():
            return [i for i, in self._db.execute(
                f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?", (match, count))]
        where = np.flatnonzero(allowed)
        if not len(where):
            return []
        found = np.array([i for i, in self._db.execute(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?",
            (match, int(self._index.ids[where[0]]), int(self._index.ids[where[-1]]), _FILTERED))], np.int64)
        return [] if not len(found) else found[allowed[self._index.at(found)]][:count].tolist()

    def _briefs(self, asked: _Asked, candidates: Iterable[int]) -> dict[int, tuple[Any, ...]]:
        """Return vector and objects of the candidates and of the keyframes with the nearest signatures."""
        near = [] if asked.vector is None else self._near(asked.vector, asked.allowed)
        return self._columns("briefs", "vector, things", sorted({*near, *candidates}))

    def _near(self, vector: np.ndarray, allowed: np.ndarray) -> list[int]:
        return self._index.nearest(vector, allowed, _NEAREST).tolist()

    def _alike(self, asked: _Asked, briefs: Mapping[int, tuple[Any, ...]]) -> dict[int, float]:
        """Return the cosines of the keyframes with similar meaning, the largest first."""
        if asked.vector is None:
            return {}
        alike = [(i, c) for i, c in likeness(asked.vector, briefs).items() if c >= _ALIKE]
        return dict(alike[:max(_LISTED // 2, asked.limit)])

    def _by_place(self, asked: _Asked) -> list[Match]:
        ids = self._index.ids[asked.allowed]
        if asked.near is None and asked.beside is None:
            why = f", {asked.window.phrase}" if asked.window else ""
            why = f"1 of {len(ids)} views, spread in time{why}"
            return [Match(int(i), 0.0, why) for i in spread(ids, asked.limit)]
        found = [self._placed(Match(i, 0.0, ""), asked) for i in ids.tolist()]
        return sorted(found, key=lambda match: (-match.score, match.id))

    def _placed(self, match: Match, asked: _Asked) -> Match:
        """Add the nearness of the view's pose: 1 at the place, 0 at the radius."""
        if asked.near is None and asked.beside is None and asked.window is None:
            return match._replace(score=round(match.score, 6))
        row = self._index.rows[self._index.at(np.int64(match.id))]
        score, whys = match.score, [match.why] if match.why else []
        if asked.near is not None:
            x, y, radius = asked.near
            distance = math.hypot(row["x"] - x, row["y"] - y)
            nearness = 1.0 - distance / radius if radius > 0 else 1.0
            score += nearness
            whys.append(f"{distance:.2f} m away {nearness:.2f}")
        if asked.beside is not None:
            room, x, y = asked.beside
            nearness = max(0.0, 1.0 - math.hypot(row["x"] - x, row["y"] - y) / (2 * _BESIDE_M))
            score += nearness
            whys.append(f"near the {room} {nearness:.2f}")
        if asked.window is not None and not asked.window.last:
            whys.append(asked.window.phrase)
        return Match(match.id, round(score, 6), ", ".join(whys))

    def _columns(self, table: str, columns: str, ids: Sequence[int], key: str = "id") -> dict[int, tuple[Any, ...]]:
        """Return columns of rows by id, in the order of the ids; missing rows are omitted."""
        found = {}
        for i in range(0, len(ids), 500):
            part = [int(number) for number in ids[i:i + 500]]
            found.update({row[0]: tuple(row[1:]) for row in self._db.execute(
                f"SELECT {key}, {columns} FROM {table} WHERE {key} IN ({','.join('?' * len(part))})", part)})
        return {i: found[i] for i in ids if i in found}
