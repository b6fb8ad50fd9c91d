"""How people ask over weeks, by kind of question. The data set draws one of them for each question.

{x}: an object, {on}: its place ("on the desk"), {room}: a room, {state}: a state, {part}: morning or evening,
{when}: "on Monday morning", {since}: "Monday" or "14 November", {day}: "on 14 November".
"""

from __future__ import annotations

Phrasings = dict[str, tuple[str, ...]]

NOW: Phrasings = {
    "where": ("Where is the {x}?", "where's the {x} right now?", "Do you know where the {x} is?",
              "Where can I find my {x}?", "I am looking for the {x}. Where is it?"),
    "state": ("Is the {x} {state}?", "Is the {x} {state} right now?", "is the {x} {state} at the moment?",
              "Is the {x} currently {state}?"),
    "there": ("Is there a {x} in the {room}?", "Is the {x} in the {room}?", "Is there a {x} in the {room} right now?")}
HABIT: Phrasings = {
    "where": ("Where is the {x} usually in the {part}?", "Where is my {x} in the {part}s?",
              "Where do we usually leave the {x} in the {part}?", "In the {part}s, where is the {x} normally?"),
    "where any": ("Where is the {x} usually?", "Where do we normally keep the {x}?",
                  "What is the usual place of the {x}?", "Where is the {x} most of the time?"),
    "where week": ("Where is the {x} on {week}?", "Where is the {x} usually on {week}?",
                   "Where do we keep the {x} on {week}?"),
    "state": ("Is the {x} usually {state} in the {part}?", "Is the {x} normally {state} in the {part}s?",
              "Do we usually leave the {x} {state} in the {part}?", "In the {part}, is the {x} usually {state}?"),
    "state any": ("Is the {x} usually {state}?", "Is the {x} {state} most of the time?"),
    "every": ("Is the {x} {state} every {part}?", "Is the {x} always {state} in the {part}?")}
HOW_OFTEN: Phrasings = {
    "state": ("How often was the {x} {state}?", "How many times was the {x} {state}?",
              "How many times did you see the {x} {state}?", "How often has the {x} been {state}?"),
    "state part": ("How often was the {x} {state} in the {part}?", "On how many {part}s was the {x} {state}?",
                   "How often is the {x} {state} in the {part}s?"),
    "state since": ("How often has the {x} been {state} since {since}?",
                    "How many times was the {x} {state} since {since}?"),
    "place": ("How often was the {x} {on}?", "How many times was the {x} {on}?",
              "How often did you see the {x} {on}?")}
WHICH_DAYS: Phrasings = {
    "state": ("On which days was the {x} {state}?", "Which days was the {x} {state}?", "When was the {x} {state}?"),
    "state part": ("On which {part}s was the {x} {state}?", "Which {part}s was the {x} {state}?",
                   "On which days was the {x} {state} in the {part}?"),
    "place": ("On which days was the {x} {on}?", "Which days was the {x} {on}?", "On what days was the {x} {on}?")}
SINCE_WHEN: Phrasings = {
    "gone": ("Since when is the {x} gone?", "Since when has the {x} been missing?", "When did the {x} disappear?"),
    "place": ("Since when is the {x} {on}?", "Since when has the {x} been {on}?", "When was the {x} put {on}?"),
    "state": ("Since when is the {x} {state}?", "Since when has the {x} been {state}?")}
HOW_LONG: Phrasings = {
    "gone": ("How long has the {x} been gone?", "How long has the {x} been missing?",
             "For how long has the {x} been gone?"),
    "place": ("How long has the {x} been {on}?", "For how long has the {x} been {on}?"),
    "state": ("How long has the {x} been {state}?", "For how long has the {x} been {state}?")}
THEN: Phrasings = {
    "where": ("Where was the {x} {when}?", "where was my {x} {when}?", "{When}, where was the {x}?"),
    "state": ("Was the {x} {state} {when}?", "{When}, was the {x} {state}?"),
    "place": ("Was the {x} {on} {when}?", "Was the {x} {when} {on}?")}
FIRST_AND_LAST: Phrasings = {
    "first": ("When did you first see the {x}?", "When was the {x} first seen?",
              "When did you see the {x} for the first time?"),
    "last": ("When did you last see the {x}?", "When was the {x} last seen?",
             "When was the last time you saw the {x}?")}
STILL: Phrasings = {
    "place": ("Is the {x} still {on}?", "Do we still have the {x} {on}?"),
    "state": ("Is the {x} still {state}?", "is the {x} still {state} now?")}
MOVED: Phrasings = {
    "since": ("Has the {x} moved since {since}?", "Has the {x} been moved since {since}?",
              "Did the {x} move since {since}?", "Has anybody moved the {x} since {since}?")}
MISSING: Phrasings = {"all": ("What is missing?", "Is anything missing?", "What has gone missing?",
                              "Which things are gone?")}
CHANGED: Phrasings = {
    "since": ("What changed since {since}?", "What has changed since {since}?", "What is different since {since}?"),
    "room": ("What changed in the {room} since {since}?", "What has changed in the {room} since {since}?",
             "What is different in the {room} since {since}?")}
NEXT: Phrasings = {
    "where": ("Where will the {x} be tomorrow {part}?", "Where will the {x} probably be tomorrow {part}?",
              "Where is the {x} likely to be tomorrow {part}?"),
    "state": ("Will the {x} be {state} tomorrow {part}?", "Is the {x} likely to be {state} tomorrow {part}?")}
WHO: Phrasings = {
    "room": ("Was anyone in the {room} {when}?", "Was somebody in the {room} {when}?",
             "Did you see anybody in the {room} {when}?", "Was there a person in the {room} {when}?"),
    "count": ("How many people were in the {room} {when}?",)}
NOT_KNOWN: Phrasings = {
    "unseen": ("Where is the {x} usually?", "How often was the {x} on the table?", "When did you last see the {x}?",
               "Where is the {x}?", "Since when is the {x} gone?"),
    "who": ("Who left the {x} {state}?", "Who was it that left the {x} {state}?"),
    "who moved": ("Who moved the {x}?", "Who took the {x}?", "Who put the {x} {on}?"),
    "not looked": ("Was the {x} {state} {when}?",),
    "few": ("Is the {x} usually {state}?", "Is the {x} usually {state} in the {part}?")}
UNSEEN = ("unicorn", "lawn mower", "harp", "telescope", "parrot", "snowboard", "canoe", "typewriter")
