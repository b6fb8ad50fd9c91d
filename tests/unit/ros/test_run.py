"""Nodes announce their run and their start, by which callers know a restarted node."""

from __future__ import annotations

from eqa_nodes.ros.run import RUN, announcement, boot_id, born_in, row_of, signature, signature_in


def test_an_announcement_names_row_run_and_start() -> None:
    assert signature("mapper", {}) == "mapper" and signature("mapper", {RUN: "ours"}) == "mapper@ours"
    said = announcement("mapper", 7, {RUN: "ours"})
    assert said == f"mapper@ours#{boot_id()}:7" and signature_in(said) == "mapper@ours"
    assert row_of(said) == row_of("mapper#other:7") == row_of("mapper") == "mapper"


def test_a_start_counts_on_this_machine_alone() -> None:
    assert born_in(announcement("mapper", 7, {})) == 7
    for foreign in ("mapper", "mapper#another:7", f"mapper#{boot_id()}:", f"mapper#{boot_id()}:soon"):
        assert born_in(foreign) is None
