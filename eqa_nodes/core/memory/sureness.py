"""How sure an answer from looks is: it follows from the looks that agree and those that say otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eqa_nodes.core.memory.observations import Observation

MOST = 0.97  # confidence of what many looks agree on
_PRIOR = 0.5  # looks that err and that do not, before any is known (Jeffreys)
_FAR = 50  # looks more on one side, from which nothing changes


def error_share(looks: Sequence[Observation]) -> float:
    """Return the estimated share of looks that err: those against what their patrol says, of all that saw the thing."""
    against = sum(min(look.looks, look.against) for look in looks)
    return (against + _PRIOR) / (sum(look.looks + look.against for look in looks) + 2 * _PRIOR)


def sureness(every: Sequence[Observation], decisive: Sequence[Observation]) -> float:
    """Return the probability that all decisive patrols say what is true, at most MOST.

    A look errs with the share e of all looks at the thing (`every`), so a patrol of which a looks agree and b do not is
    right with odds of ((1 - e) / e) ** (a - b), or by Laplace's rule with (a + 1) / (a + b + 2) if that is more: where
    most looks say otherwise, the newest one may still have seen a change.
    """
    odds = _odds(every)
    return min(MOST, math.prod(_of_patrol(look, odds) for look in decisive))


def mean_sureness(every: Sequence[Observation], counted: Sequence[Observation]) -> float:
    """Return the mean over patrols that are counted, where one may be wrong."""
    odds = _odds(every)
    return min(MOST, sum(min(MOST, _of_patrol(look, odds)) for look in counted) / max(1, len(counted)))


def _odds(every: Sequence[Observation]) -> float:
    error = error_share([look for look in every if look.value is not None])
    return (1 - error) / error


def _of_patrol(look: Observation, odds: float) -> float:
    by_odds = 1 / (1 + odds ** max(-_FAR, min(_FAR, look.against - look.looks)))
    return float(max(by_odds, (look.looks + 1) / (look.looks + look.against + 2)))
