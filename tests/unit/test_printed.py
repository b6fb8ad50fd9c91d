"""What a page shows against what is printed: only times that the machine decides may differ."""

from __future__ import annotations

import pytest

from tests.fixtures.printed import holds, renewed

COST = "yes  (confidence 0.95)\n  seen at 6.0 s from x 9.56 m: bowl\n  20 steps, 1.0 m, 9.6 s, 0 calls, 0 tokens"
TABLE = ("           C     E\n questions   %  metres  seconds  calls\n ─────────\n"
         " all      50.0    29.8     21.5   10.5\n rest     50.0    29.8      1.5   10.5\n\n seen at 21.5 s")


@pytest.mark.parametrize(("shown", "old", "new", "same"), [
    (COST, "9.6 s, 0", "12.9 s, 0", True), (COST, "6.0 s", "7.0 s", False), (COST, "0 tokens", "8 tokens", False),
    (COST, "bowl", "fridge", False), (TABLE, "21.5   10.5", " 9.5   10.5", True),
    (TABLE, "1.5   10.5", "1.5    9.5", False),
    (TABLE, "29.8     21.5", "28.8     21.5", False), (TABLE, "at 21.5", "at 21.6", False),
    ("written: runs/20261124-101500/a.jpg", "20261124-101500", "20270101-000000", True),
    (" seconds  5.1  20.0\n calls    1.0", "5.1  20.0", "15.11  20.0", True)])
def test_a_drift_is_seen_and_a_time_is_not(shown: str, old: str, new: str, same: bool) -> None:
    assert shown.count(old) >= 1 and holds(shown, shown)
    assert holds(shown, shown.replace(old, new, 1)) == same


def test_lines_that_are_left_out_stand_between_pieces_in_order() -> None:
    printed = "one\ntwo\nthree\nfour\nfive"
    assert holds("one\n...\nfour\nfive", printed) and holds("two\nthree", printed)
    assert not holds("one\nthree", printed) and not holds("four\n...\none", printed)


def test_a_page_gets_what_was_printed_where_it_left_lines_out() -> None:
    printed = "starting\nall    4/4  75.0\nrest   1/1  0.0\nC above blind: +25.0\nprivileged: X"
    now = "all    4/4  75.0\n...\nC above blind: +25.0"
    assert renewed("all   4/4  100.0\n...\nC above blind: +50.0", printed) == now
    assert renewed("all   4/4  100.0", printed) == printed.partition("\n")[2]
    more = renewed("all   4/4  100.0\nC above blind: +50.0\n ...\nprivileged: Y", printed)
    assert holds(more, printed)
    assert more == "all    4/4  75.0\nrest   1/1  0.0\nC above blind: +25.0\n...\nprivileged: X"
