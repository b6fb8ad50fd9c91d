"""What the simulated model can see, and how sure it is of it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.ranges import Positive, Share, check_ranges
from eqa_nodes.core.settings import setting
from eqa_nodes.core.storage.codec import read_json


@dataclass(frozen=True)
class SightLimits:
    """All of it can be fitted to replies that people wrote for a model: a JSON file with some of these fields is given
    as the model's name. Sizes are pixels of an object in the picture as it is sent."""

    sent_px: Positive = setting(640,
        "Long side in pixels that smaller pictures stand for, so that sweeps can render small ones.")
    least_px: Positive = setting(120, "Size below which nothing is noticed: 11 x 11 pixels.")
    sure_px: Positive = setting(700, "Size from which everything is noticed; between the two some objects are.")
    far_m: Positive = setting(9.0, "Distance in metres beyond which nothing is recognised.")
    looks_px: Positive = setting(250, "Size from which colour and material are told.")
    state_px: Positive = setting(350, "Size from which a state (on, open, full) is told.")
    cut: Share = setting(0.5, "Share of the size that counts of an object cut off at two borders, or mostly hidden.")
    hidden: Share = setting(0.12, "Share of its box that an object fills at most to count as mostly hidden.")
    confuse: Share = setting(0.12,
        "Share of the smallest objects with a look-alike that are taken for it; none of those of four times sure_px.")
    misread: Share = setting(0.1, "Share of the smallest legible colours, materials and states that are misread.")
    generic: Share = setting(0.2, 'Share of objects that are called by a general word ("lamp").')
    double: Share = setting(0.1, "Share of objects that are taken for two when they are seen from two sides.")
    room: Positive = setting(1.0,
        "Evidence that names a room: 1 is an object that is in no other kind of room, two such as are in two kinds.")
    surest: Share = setting(0.92, "Highest confidence.")
    surest_no: Share = setting(0.55, 'Highest confidence in a "no" that rests on nothing having been seen.')
    any_room: Share = setting(0.75,
        'Share of the confidence that is left where the question tells rooms apart ("the main bedroom") and the '
        "pictures do not.")
    least_said: Share = setting(0.3, "Confidence below which it does not answer.")
    doorway: Share = setting(0.3, "Chance that it gives a doorway behind which nothing can be seen.")
    elsewhere: Share = setting(0.05, "Chance that it gives a room where such an object usually is not.")

    def __post_init__(self) -> None:
        check_ranges(self, "the simulated model")
        if self.least_px >= self.sure_px:
            raise ConfigError(f"the simulated model: least_px {self.least_px} must be less than sure_px {self.sure_px}")


def read_limits(path: Path) -> SightLimits:
    """Return the limits of a JSON file; the defaults hold for what it leaves out. Raises ConfigError."""
    try:
        given = read_json(path)
    except StorageError as error:
        raise ConfigError(f"limits of the simulated model: {error}") from error
    known = [own.name for own in fields(SightLimits)]
    if not isinstance(given, dict) or set(given) - set(known) or not all(
            isinstance(value, (int, float)) and not isinstance(value, bool) for value in given.values()):
        raise ConfigError(f"{path} must hold a JSON object of numbers; its fields are {', '.join(known)}")
    return replace(SightLimits(), **given)
