"""Fits the limits of the simulated model to recorded replies, and measures its agreement with them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from statistics import fmean
from typing import Any

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.model import json_object
from eqa_nodes.models.simulated.backend import RecordedRequest
from eqa_nodes.models.simulated.replies import REPLIES
from eqa_nodes.models.simulated.request import read_request
from eqa_nodes.models.simulated.sight import SightLimits

Recorded = tuple[RecordedRequest, str]
_FIXED = ("sent_px",)  # known, so not fitted
_SPREAD = 0.6  # standard deviation of the change of a limit's logarithm in one try
_CHANGED = 3  # mean number of limits changed in one try
_VALUES = ("enough", "relevance", "worth")


def agreement(recorded: Sequence[Recorded], limits: SightLimits) -> dict[str, float]:
    """Return the agreement of the replies, 0..1, by form; "" = mean over all. Raises ConfigError if it is empty."""
    by_form: dict[str, list[float]] = {}
    for request, written in recorded:
        asked = read_request(request.messages(), request.seed)
        try:
            reply: Mapping[str, Any] = json_object(written)
        except ValueError:
            continue  # an invalid reply, after which the request was repeated
        said = json.loads(json.dumps(REPLIES[asked.form](asked, limits)))
        by_form.setdefault(asked.form, []).append(_alike(asked.form, said, reply))
    if not by_form:
        raise ConfigError("none of the recorded replies is a JSON object")
    means = {form: fmean(values) for form, values in sorted(by_form.items())}
    return {**means, "": fmean(value for values in by_form.values() for value in values)}


def halves(recorded: Sequence[Recorded]) -> tuple[list[Recorded], list[Recorded]]:
    """Split the requests into two halves by question, because replies to one question resemble each other.
    """
    asked = [read_request(request.messages(), request.seed).question.text for request, _ in recorded]
    order = {text: n for n, text in enumerate(dict.fromkeys(asked))}
    parts: tuple[list[Recorded], list[Recorded]] = ([], [])
    for text, one in zip(asked, recorded, strict=True):
        parts[order[text] % 2].append(one)
    return parts


def fit(recorded: Sequence[Recorded], tries: int, seed: int = 0) -> SightLimits:
    """Return the limits that agree best with the recorded replies: random search around the best ones so far."""
    draw = random.Random(seed)
    best = SightLimits()
    score = agreement(recorded, best)[""]
    for _ in range(tries):
        other = _varied(best, draw)
        if (own := agreement(recorded, other)[""]) > score:
            best, score = other, own
    return best


def _varied(limits: SightLimits, draw: random.Random) -> SightLimits:
    """Return limits with a few random changes; unchanged if the changes contradict each other."""
    names = [own.name for own in fields(SightLimits) if own.name not in _FIXED]
    changed = {name: getattr(limits, name) * math.exp(draw.gauss(0.0, _SPREAD))
               for name in names if draw.random() < _CHANGED / len(names)}
    shares = {own.name for own in fields(SightLimits) if getattr(SightLimits(), own.name) <= 1.0 and own.name != "room"}
    try:
        return replace(limits, **{name: round(min(value, 0.99) if name in shares else value, 3)
                                  for name, value in changed.items()})
    except ConfigError:
        return limits


def _alike(form: str, said: Mapping[str, Any], reply: Mapping[str, Any]) -> float:
    if form == "assess":
        return _pictures_alike(said, reply)
    if form == "regions":
        return _weights_alike(said["regions"], reply.get("regions"))
    if form == "classes":
        own, other = set(said["classes"]), set(map(str, reply.get("classes") or ()))
        return len(own & other) / len(own | other) if own | other else 1.0
    shares = [_same_text(said["answer"], reply.get("answer")), _near(said["confidence"], reply.get("confidence"))]
    if form == "decide":
        ours, theirs = (_chances(one) for one in (said, reply))
        shares += [_weights_alike(ours, theirs), float(_first(ours) == _first(theirs))]
    return fmean(shares)


def _pictures_alike(said: Mapping[str, Any], reply: Mapping[str, Any]) -> float:
    theirs = {entry.get("image"): entry for entry in reply.get("views") or () if isinstance(entry, dict)}
    shares = []
    for own in said["views"]:
        other = theirs.get(own["image"], {})
        shares += [_near(own[name], other.get(name)) for name in _VALUES]
        shares += [_same_text(own[name], other.get(name)) for name in ("says", "region")]
    return fmean(shares) if shares else 1.0


def _same_text(own: str, other: object) -> float:
    return float(canonical(own) == canonical(str(other or "")))


def _near(own: float, other: object) -> float:
    return 1.0 - min(1.0, abs(own - other)) if isinstance(other, (int, float)) else 0.0


def _weights_alike(own: Mapping[Any, float], other: object) -> float:
    """Return 1 minus the mean difference of the weights; a missing key has the weight 0."""
    theirs = other if isinstance(other, Mapping) else {}
    keys = {*own, *theirs}
    return fmean(_near(own.get(key, 0.0), theirs.get(key, 0.0)) for key in keys) if keys else 1.0


def _chances(reply: Mapping[str, Any]) -> dict[int, float]:
    listed = reply.get("go_to")
    entries = listed if isinstance(listed, list) else []
    return {int(one["number"]): float(one["chance"]) for one in entries
            if isinstance(one, dict) and isinstance(one.get("number"), int)
            and isinstance(one.get("chance"), (int, float))}


def _first(chances: Mapping[int, float]) -> int | None:
    return max(chances, key=lambda number: chances[number], default=None)
