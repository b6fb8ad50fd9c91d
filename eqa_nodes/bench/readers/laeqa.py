"""LA-EQA (Ginting et al., CoRL 2025): questions about a place that a robot visited several times, up to now.

The benchmark of "Enter the Mind Palace" has 100 questions in five categories about three scenes. Its repository,
mind-palace-laeqa/benchmark, holds the two files that are read here; images and states (6 GB) are separate, and their
layout is in recordings/formats/laeqa_folder.py:

    eqa-questions.json         question, category, question_id, scene_name, answer, best_path, start_place
    scene-episode-names.json   scene -> names of its episodes, newest first: "now (saturday morning)", "friday noon"

Episode i of a scene is the folder SCENE_i, and 0 is now. Other right answers follow " OR " in the field answer. A place
is an image's number; best_path are the places of now that show the answer, from start_place. The published scores are
a mark from 1 to 5 of a model, the length of best_path divided by that of the robot's path (with an empty best_path 1 if
nothing was driven, else 0), both along straight lines between places, and the number of images of the past that were
recalled. The names give no dates: each episode is dated with the newest such weekday before the next one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, first_of, load, path_length, questions
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.geometry import position_from_habitat
from eqa_nodes.core.types.samples import EM, PRESENT, VISITS, Sample
from eqa_nodes.recordings.formats.laeqa_folder import Point3, episode_folder, place_positions

QUESTIONS, NAMES = "eqa-questions.json", "scene-episode-names.json"
FOLDER = "la_eqa_benchmark"  # of the two files, in the repository
CATEGORIES = ("past", "present", "multi_past", "past_present", "past_present_future")
_OR = re.compile(r"\s+OR\s+")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HOURS = {"morning": 9, "noon": 12, "afternoon": 15, "evening": 19, "night": 22, "": 12}
_NAME = re.compile(rf"(?P<now>now\b)?\W*(?P<day>{'|'.join(_DAYS)})\W*(?P<part>{'|'.join(filter(None, _HOURS))})?\W*")
_NEWEST = datetime(2025, 9, 28, 23)  # a Sunday in the month in which the benchmark was published


def read_laeqa(folder: Path) -> list[Sample]:
    """Read LA-EQA. Reference metres need the states of a scene's newest episode; without them they are unknown.

    Raises ConfigError for a missing file or an invalid record, which it names.
    """
    names = first_of(folder, "laeqa", "the names of its episodes", NAMES, f"{FOLDER}/{NAMES}")
    file = first_of(folder, "laeqa", "its questions", QUESTIONS, f"{FOLDER}/{QUESTIONS}")
    scenes = _scenes(names)
    places = cache(lambda scene: _places(folder, scene))
    samples = []
    for record in questions(file, "question_id"):
        scene = record.text("scene_name")
        if scene not in scenes:
            record.refuse("scene_name", f"is {scene!r}, which {names.name} does not have")
        samples.append(_sample(record, scenes[scene], places(scene)))
    return samples


def _sample(record: JsonRecord, begins: Sequence[datetime], places: Mapping[int, Point3]) -> Sample:
    scene, category = record.text("scene_name"), record.text("category")
    if category not in CATEGORIES:
        record.refuse("category", f"must be one of {', '.join(CATEGORIES)}, got {category!r}")
    answers = [text.strip() for text in _OR.split(record.text("answer")) if text.strip()]
    if not answers:
        record.refuse("answer", f"has no text beside OR, got {record.data['answer']!r:.60}")
    numbers = [record.count("start_place"), *_best_path(record)]
    path = [_near(places, number) for number in numbers] if places else []
    episodes = [[f"{scene}_{i}", begin.isoformat()] for i, begin in reversed(list(enumerate(begins)))]
    metadata: dict[str, object] = {"episode_history": scene, VISITS: episodes,
                                   PRESENT: list(position_from_habitat(path[0])) if path else None}
    return Sample(record.name("question_id"), record.text("question"), answers[0], tuple(answers[1:]), category,
                  reference_metres=path_length(path) if path else None, metadata=metadata)


def _best_path(record: JsonRecord) -> list[int]:
    """Return the places of the best path, [] if the question needs none."""
    path = record.get("best_path")
    if not isinstance(path, list) or not all(type(number) is int and number >= 0 for number in path):
        record.refuse("best_path", f"must be a list of the numbers of places, got {path!r:.60}")
    return path


def _near(places: Mapping[int, Point3], number: int) -> Point3:
    """Return the position of a place; a place that does not exist is the one with the nearest number, as published."""
    return places[min(sorted(places), key=lambda known: abs(known - number))]


def _places(folder: Path, scene: str) -> Mapping[int, Point3]:
    """Return the places of the newest episode; {} without its images or states. Raises ConfigError for a broken one."""
    try:
        episode = episode_folder(folder, f"{scene}_0")
        return {} if episode is None else place_positions(episode)
    except StorageError as error:
        raise ConfigError(f"the places of the scene {scene!r} cannot be read: {error}") from error


def _scenes(file: Path) -> dict[str, list[datetime]]:
    """Return scene -> the local times at which its episodes begin, newest first. Raises ConfigError."""
    data = load(file)
    if not isinstance(data, dict):
        raise ConfigError(f"{file} must hold an object with the episodes of each scene, not {data!r:.60}")
    return {scene: _begins(names, f"{file}: scene {scene!r}") for scene, names in data.items()}


def _begins(names: object, where: str) -> list[datetime]:
    if not isinstance(names, list) or not names:
        raise ConfigError(f"{where} must have a list with the names of its episodes, got {names!r:.60}")
    begins: list[datetime] = []
    for i, name in enumerate(names):
        found = _NAME.fullmatch(name.lower()) if isinstance(name, str) else None
        if found is None or bool(found["now"]) != (i == 0):
            raise ConfigError(f"{where}: episode {i} is {name!r:.60}: expected "
                              f"{'now (saturday morning)' if i == 0 else 'a weekday, such as monday afternoon'}")
        hour = _HOURS[found["part"] or ""]
        begins.append(_before(begins[-1] if begins else _NEWEST, _DAYS.index(found["day"]), hour))
    return begins


def _before(newer: datetime, weekday: int, hour: int) -> datetime:
    """Return the newest time before another one that is on a weekday (0 is Monday) at an hour."""
    day = newer - timedelta(days=(newer.weekday() - weekday) % 7)
    found = day.replace(hour=hour, minute=0, second=0)
    return found if found < newer else found - timedelta(days=7)


class LaEqaReader:
    """LA-EQA: every question is about the episodes of its scene, the newest of which is the present."""

    traits = ReaderTraits(robot="openeqa", splits=False, task=EM, command="give --task em, because its scenes "
                          "are recordings")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return read_laeqa(options.files())
