"""What a query says beside its fields: the names to search for, and why there is none."""

from __future__ import annotations

from eqa_nodes.core.language.query import Query, Thing, Understood


def test_memory_is_searched_for_the_names_in_a_query() -> None:
    desk = Thing("desk", "study", colour="red")
    lit = Query("is", (Thing("candle", relation="on", support=desk),), (Thing(state="lit"),))
    assert lit.names == ("candle", "desk", "red", "study", "lit")
    seat = Query("exists", (Thing(kinds=("chair", "sofa"), use="sit on", room="kitchen"),))
    assert seat.names == ("chair", "sofa", "kitchen")
    assert Query("several", parts=(lit, seat)).names == (*lit.names, *seat.names)


def test_what_was_not_understood_is_named_with_what_may_have_been_meant() -> None:
    asked = ("How many clocks are there?", "Where is the clock?")
    assert Understood(Query("count"), suggestions=asked).refusal == ""
    assert Understood(None, why="I do not understand 'clox'.").refusal == "I do not understand 'clox'."
    assert Understood(None, why="I do not understand 'clox'.", suggestions=asked).refusal == (
        "I do not understand 'clox'. Did you mean: How many clocks are there? Where is the clock?")
