"""Images and detections find each other by stamp, whichever comes first; what stays alone is counted."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from eqa_nodes.wire.detection_matching import LATE, SKIPPED, STRAY, DetectionMatching


class Matched:
    """A matching of numbers, with a tolerance of 5 and at most 4 that wait; `pairs` are those that were found."""

    def __init__(self, bound: int = 4) -> None:
        self.dropped: Counter[str] = Counter()
        self.matching = DetectionMatching(5, bound, lambda reason: self.dropped.update([reason]))
        self.pairs: list[tuple[int, int]] = []

    def put(self, order: str) -> Matched:
        """Put images (i10) and messages (m12) with these stamps."""
        for word in order.split():
            put = self.matching.put_image if word[0] == "i" else self.matching.put_message
            self.pairs += put(int(word[1:]), int(word[1:]))
        return self


@pytest.mark.parametrize("order", ["i10 m10 i20 m20 i30 m30", "m10 i10 m20 i20 m30 i30", "i10 i20 i30 m10 m20 m30",
                                   "m10 m20 m30 i10 i20 i30", "i10 m10 m20 m30 i20 i30"])
def test_equal_stamps_belong_together_at_once_in_any_order(order: str) -> None:
    seen = Matched().put(order)
    assert seen.pairs == [(10, 10), (20, 20), (30, 30)] and not seen.dropped and not seen.matching.waiting


@pytest.mark.parametrize(("order", "pairs"), [
    ("i10 m12 i40", [(10, 12)]), ("m12 i10 i40", [(10, 12)]), ("i10 m8 m30 i30", [(10, 8), (30, 30)]),
    ("i10 m14 i15 m25", [(15, 14)]),  # the later image is nearer
    ("i10 m7 m11 i40", [(10, 11)]),  # the later message is nearer
    ("i10 m16 i40", [])])
def test_otherwise_the_nearest_within_the_tolerance_once_nothing_nearer_can_come(
        order: str, pairs: list[tuple[int, int]]) -> None:
    assert Matched().put(order).pairs == pairs


def test_a_near_message_waits_until_the_next_image_and_the_next_message_have_come() -> None:
    seen = Matched().put("i10 m12")
    assert not seen.pairs
    assert seen.put("i20").pairs == [(10, 12)]
    early = Matched().put("i10 m8 i20")
    assert not early.pairs and early.put("m19").pairs == [(10, 8)]


def test_a_detector_slower_than_the_camera_leaves_images_out() -> None:
    seen = Matched().put("i10 i20 i30 m10 i40 i50 m40 i60 i70 m70")
    assert seen.pairs == [(10, 10), (40, 40), (70, 70)] and seen.dropped == {SKIPPED: 4}


def test_what_matches_nothing_is_counted_and_does_not_pile_up() -> None:
    silent = Matched().put(" ".join(f"i{10 * k}" for k in range(1, 11)))
    assert silent.dropped == {LATE: 6} and silent.matching.waiting == 4
    unstamped = Matched().put("m0 i100 m0 i200 m0 i300")
    assert unstamped.dropped == {STRAY: 3} and not unstamped.pairs
    blind = Matched().put(" ".join(f"m{10 * k}" for k in range(1, 11)))
    assert blind.dropped == {STRAY: 6}
    blind.matching.clear()
    assert blind.put("i100").matching.waiting == 1 and not blind.pairs


def test_every_image_and_message_is_used_counted_or_waits() -> None:
    """In random order within a short delay, with a tolerance, against the sums."""
    for seed in range(200):
        rng, seen = random.Random(seed), Matched(bound=3)
        stamps = [(kind, 10 * k + rng.choice([0, 0, 1, 4, 7]) * (kind == "m")) for k in range(20) for kind in "im"
                  if rng.random() < 0.8]
        order = sorted(stamps, key=lambda one: one[1] + rng.uniform(0, 25))
        for kind, stamp in order:
            seen.put(f"{kind}{stamp}")
        images = [i for i, _ in seen.pairs]
        assert images == sorted(images) and all(abs(i - m) <= 5 for i, m in seen.pairs)
        assert len(set(images)) == len(images) and len({m for _, m in seen.pairs}) == len(images)
        waits = len(seen.matching._images), len(seen.matching._messages)
        assert len(images) + seen.dropped[SKIPPED] + seen.dropped[LATE] + waits[0] == sum(k == "i" for k, _ in order)
        assert max(waits) <= 3
        assert len(images) + seen.dropped[STRAY] + waits[1] == len({s for k, s in order if k == "m"})
