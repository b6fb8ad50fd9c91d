"""The page of results keeps the sections that were not measured again."""

from __future__ import annotations

from pathlib import Path

from benchmarks.results import table, write
from benchmarks.timing import Figure


def test_a_section_is_replaced_and_the_others_stay_in_their_order(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    for name, text in (("recall", "first"), ("planning", "a\n\n| b |"), ("recall", "second"), ("mapping", "c")):
        write(name, text, page)
    assert page.read_text().partition("## ")[2] == "mapping\n\nc\n\n## planning\n\na\n\n| b |\n\n## recall\n\nsecond\n"


def test_a_table_has_a_row_for_each_figure() -> None:
    assert table([Figure("step", 2.5, "alone, 1 ms", 2.5, "note"), Figure("start", 3)]).splitlines()[2:] == [
        "| step | 2.5 | alone, 1 ms | 2.5 | note |", "| start | 3 |  |  |  |"]
