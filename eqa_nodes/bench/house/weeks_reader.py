"""The data set `house-weeks`: questions over weeks in the lives of 20 houses. Splits: test, noisy, train, short.

`noisy` asks the questions of `test` about patrols whose looks are partly lost or misnamed, and lets a count be off by
a tenth of the looks that it is about; `short` is one house for four days, for a first try. Of the test houses, those of
the second half were not looked at while answers were improved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from eqa_nodes.bench.house.weeks import PER_HOUSE, WeeksQuestion, questions_of
from eqa_nodes.bench.house.weeks_facts import LifeFacts
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.samples import EM, Sample
from eqa_nodes.tours.weeks import patrol_end, weeks_name
from sim_bridge.house.life import DAYS, life_of
from sim_bridge.house.questions.dataset import SPLITS

_NOISY_SLACK = 0.1  # of the looks that an answer counts may be wrong where looks are
HOUSES, TUNED = 20, 10  # houses of a split, and those of them that were looked at
_LAEQA = {"now": "present", "still": "past-present", "since when": "past-present", "how long": "past-present",
          "moved": "past-present", "changed": "past-present", "missing": "past-present", "next": "past-present-future",
          "then": "past", "first and last": "past", "who": "past"}  # categories of LA-EQA; others: multi-past


class WeeksSplit(NamedTuple):
    """Which houses are asked about. seeds: those of a split of the house."""

    seeds: str
    houses: int = HOUSES
    days: int = DAYS
    noisy: bool = False


WEEKS_SPLITS = {"test": WeeksSplit("test"), "noisy": WeeksSplit("test", noisy=True), "train": WeeksSplit("train"),
                "short": WeeksSplit("train", 1, 4)}


class WeeksReader:
    """Reads the data set: it is generated, so it needs no files."""

    traits = ReaderTraits(files=False, task=EM, command="eqa bench run --dataset house-weeks", judge="proved")

    def from_options(self) -> WeeksReader:
        """Return the reader itself: it has no state."""
        return self

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError for an unknown split."""
        if options.split not in ("", *WEEKS_SPLITS):
            raise ConfigError(unknown("split", options.split, WEEKS_SPLITS))
        return list(_samples(options.split or "test", options.seed, options.limit))


def _samples(split: str, seed: int, limit: int) -> Iterator[Sample]:
    asked = WEEKS_SPLITS[split]
    houses = np.random.default_rng(seed).permutation(SPLITS[asked.seeds])[:asked.houses].tolist()
    for number, house in enumerate(houses[:-(-limit // PER_HOUSE) or None]):
        facts = LifeFacts(life_of(house, asked.days))
        for k, question in enumerate(questions_of(facts, number * PER_HOUSE)):
            yield _sample(question, facts, split, f"{house}-{k}", "tuned" if number < TUNED else "held out")


def _sample(q: WeeksQuestion, facts: LifeFacts, split: str, number: str, half: str) -> Sample:
    life, asked = facts.life, WEEKS_SPLITS[split]
    spans = [[f"{p.first:%Y-%m-%d} {p.part}", p.first.timestamp(), patrol_end(life, p.number).timestamp()]
             for p in (life.patrols[n] for n in dict.fromkeys(q.patrols))]
    if asked.noisy and (q.rule.dates or q.rule.counts or q.rule.times >= 0):
        q = q._replace(rule=q.rule._replace(slack=max(1, round(_NOISY_SLACK * len(set(q.patrols))))))
    rule = {name: list(value) if isinstance(value, tuple) else value for name, value in q.rule._asdict().items()
            if value != type(q.rule)._field_defaults[name]}
    return Sample(f"house-weeks-{number}", q.question, q.answer, (), q.kind, f"house:{life.seed}", metadata={
        "split": split, "half": half, "episode_history": weeks_name(life.seed, asked.days, asked.noisy),
        "time": facts.now.isoformat(), "episodes": spans, "kinds": list(q.kinds), "rule": rule,
        "laeqa_category": _LAEQA.get(q.kind, "multi-past")})


HOUSE_WEEKS = WeeksReader()
