"""The query of a question as the rules take it, and what is said where there is none."""

from __future__ import annotations

from eqa_nodes.core.language.query import Query
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.storage.text import printable

# One of each kind of question that the rules understand, as people may type it.
UNDERSTOOD = ("Where is my phone?", "Is the lamp in the bedroom on?", "What colour is the sofa?", "Is there a piano?",
              "How many chairs are in the kitchen?", "What is on the table?", "Which room is the desk in?",
              "What is next to the bed?", "What is the sofa made of?", "What can I use to boil water?",
              "What does the sign say?", "How wide is the sofa?", "How far is the sofa from the TV?",
              "Would a 60 cm wide fridge fit between the sink and the door?")


def not_understood(question: str) -> str:
    """Return that no rule understands a question, and such questions as the rules understand."""
    short = " ".join(printable(question).split())
    short = short if len(short) <= 60 else short[:60] + "..."
    return (f"no rule understands {short!r}; the rules understand questions like {' '.join(UNDERSTOOD)} "
            "A vision-language model (answerer vlm) takes any question")


def parse(question: str) -> Query:
    """Return what a question asks; the form is "" for one that is not understood."""
    return understand(question).query or Query("")
