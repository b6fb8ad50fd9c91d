"""Files in the folder of a data set: manifest, the benchmark's file, pages for reviewers, verdicts and answers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from eqa_nodes.bench.readers.explora import SPLITS, explora_file, read_explora, split_of, write_explora
from eqa_nodes.bench.readers.express import read_express
from eqa_nodes.bench.running.manifest import git_state, utc_now
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.storage.codec import decode, dumps, encode, read_json, write_bytes, write_json
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, position_to_habitat, rotation_to_habitat
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.version import __version__
from eqa_nodes.generate.pages import (
    ANSWER_PAGE,
    PAGE,
    REVISED_PAGES,
    PathPictures,
    fingerprint,
    path_pictures,
    write_pages,
)
from eqa_nodes.generate.pipeline import PATHS, REVISED, GenerationResult, Job, read_path, read_records
from eqa_nodes.generate.validators import read_validations, validated
from eqa_nodes.generate.values import (
    ACCEPTED,
    REJECTED,
    Benchmark,
    QuestionAnswer,
    QuestionAttempt,
    ScenePath,
    benchmark,
)
from sim_bridge.registry import file_name_of

PathOf = Callable[[int], ScenePath]  # returns a path by its number
_NAMES = {Action.MOVE_FORWARD: "move_forward", Action.TURN_LEFT: "turn_left", Action.TURN_RIGHT: "turn_right"}


def write_benchmark(kind: Benchmark, records: Sequence[QuestionAttempt], path_of: PathOf, out: Path) -> Path:
    """Write records that have a pair as the benchmark's file, for ExploraQA as one for each split, and return its path,
    that of the first one with questions. No records give an empty list.

    Raises StorageError when the project's reader does not read back what was written.
    """
    files = [explora_file(out, split) for split in SPLITS] if kind.instructed else [out / kind.file]
    parts = {file: list[QuestionAttempt]() for file in files}
    for record in records:
        parts[explora_file(out, split_of(record.scene, record.way)) if kind.instructed else files[0]].append(record)
    for file, part in parts.items():
        WRITERS[kind.name](file, part, path_of)
        wanted = [(r.id, r.pair.answer) for r in part if r.pair]
        found = [(sample.id, sample.answer) for sample in READERS[kind.name](file)] if part else []
        if wanted != found:
            raise StorageError(f"{file} does not read back as it was written: {len(wanted)} questions in, {len(found)} "
                               "out")
    return next((file for file, part in parts.items() if part), files[0])


def _write_express(file: Path, records: Sequence[QuestionAttempt], path_of: PathOf) -> None:
    write_json(file, [express_record(record, path_of(record.way)) for record in records])


def express_record(record: QuestionAttempt, path: ScenePath) -> dict[str, Any]:
    """Return a question in the format of EXPRESS-Bench's file: Habitat axes, metres, rotations w, x, y, z.

    Step i has an action and the position and rotation after it.
    """
    assert record.pair is not None
    start, goal = _placed(path.poses[0], path.z), _placed(path.poses[-1], path.z)
    steps = {f"step_{i}": {"action": _NAMES[action], **_placed(pose, path.z)}
             for i, (action, pose) in enumerate(zip(path.actions, path.poses[1:], strict=True))}
    return {"episode_id": int(record.id), "trajectory_id": path.number,
            "scene_id": f"{path.scene.partition(':')[0]}/{path.scene}",
            "episode_path": f"{path.number:04d}-{file_name_of(path.scene)}", "type": record.category,
            "question": record.pair.question, "answer": record.pair.answer,
            "start_position": start["position"], "start_rotation": start["rotation"],
            "goal_position": goal["position"], "goal_rotation": goal["rotation"],
            "geodesic_distance": path.way_m, "step_length": len(path.actions), "actions": steps}


def _placed(pose: Pose2, z: float) -> dict[str, list[float]]:
    return {"position": list(position_to_habitat((pose.x, pose.y, z))),
            "rotation": list(rotation_to_habitat(pose.yaw))}


def _write_explora(file: Path, records: Sequence[QuestionAttempt], path_of: PathOf) -> None:
    if not records:
        write_json(file, [])
        return
    write_explora(file, [explora_sample(record, path_of(record.way)) for record in records])


def explora_sample(record: QuestionAttempt, path: ScenePath) -> Sample:
    """Return a question as a sample for the writer of ExploraQA's format; map frame."""
    assert record.pair is not None
    poses = [*(path.views[i].pose for i in record.viewpoints), *record.further]
    places = tuple((*pose[:2], path.z) for pose in poses)
    return Sample(record.id, record.pair.question, record.pair.answer, record.pair.alternatives,
                  record.category, path.scene, path.poses[0], places[0], len(path.actions), path.way_m,
                  viewpoints=places, start_height_m=path.z,
                  instruction=path.instruction, metadata={"viewpoint_yaws": [pose.yaw for pose in poses]})


WRITERS: dict[str, Callable[[Path, Sequence[QuestionAttempt], PathOf], None]] = {
    "express": _write_express, "exploraqa": _write_explora}
READERS: dict[str, Callable[[Path], list[Sample]]] = {"express": read_express, "exploraqa": read_explora}


MANIFEST, VERIFIED = "generation.json", "verified.jsonl"
_UNSEEN = "not all reviewers have seen it"
_MAY_CHANGE = ("count", "tries")  # more questions may be requested later


@dataclass
class DatasetManifest:
    """How a data set was made. settings: settings that determine its questions; cast: role -> its player.

    privileged: data used that no robot has; costs: of all sessions together; counts: records by status, and reviewed
    ones after a review; reasons: reasons of rejections and their counts.
    """

    benchmark: str
    settings: Mapping[str, object]
    cast: Mapping[str, str]
    privileged: Sequence[str]
    version: str = ""
    commit: str = ""
    started: str = ""
    finished: str = ""
    sessions: int = 1
    stopped: str = ""
    costs: Mapping[str, object] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    reviewers: Sequence[str] = field(default_factory=list)
    validators: Sequence[str] = field(default_factory=list)


def begin(out: Path, kind: Benchmark, job: Job, cast: Mapping[str, str], privileged: Sequence[str]) -> None:
    """Write the manifest of a run that starts or continues.

    Raises ConfigError when the folder has a manifest with other settings or another cast.
    """
    settings = {name: value for name, value in encode(replace(job, episodes=())).items() if name not in _MAY_CHANGE}
    settings["episodes"] = hashlib.sha256(dumps(job.episodes).encode()).hexdigest()[:16] if job.episodes else ""
    now = DatasetManifest(kind.name, settings, dict(cast), list(privileged), __version__, git_state()[0],
                          utc_now())
    if (out / MANIFEST).exists():
        before = read_manifest(out)
        changed = [name for name in ("benchmark", "settings", "cast") if getattr(before, name) != getattr(now, name)]
        if changed:
            raise ConfigError(f"{out} contains a data set with another {', '.join(changed)}: continue with the same "
                              "settings, or choose a new --out")
        now.started, now.sessions = before.started, before.sessions + 1
    write_json(out / MANIFEST, now)


def end(out: Path, kind: Benchmark, summary: GenerationResult, say: Callable[[str], None] = lambda text: None) -> Path:
    """Write the accepted records: the benchmark's file, whose path is returned, and the pages for reviewers.

    say: called with the current step, because films of new paths take some seconds each.
    """
    _note(out, summary.records, stopped=summary.stopped, costs=asdict(summary.spent))
    accepted = _accepted(summary.records)
    _write_pages(out, kind, accepted, say)
    return write_benchmark(kind, accepted, _path_of(out), out)


def end_revision(out: Path, kind: Benchmark, summary: GenerationResult,
                 say: Callable[[str], None] = lambda text: None) -> int:
    """Write the pages for the second vote; return the number of questions on them. say: as for `end`."""
    _note(out, read_records(out), stopped=summary.stopped, costs=asdict(summary.spent))
    accepted = _accepted(summary.records)
    _write_pages(out, kind, accepted, say, REVISED_PAGES)
    return len(accepted)


def _write_pages(out: Path, kind: Benchmark, records: Sequence[QuestionAttempt], say: Callable[[str], None],
                 pages: tuple[str, str] = (PAGE, ANSWER_PAGE)) -> None:
    def pictures_of(path: ScenePath) -> PathPictures:
        say(f"film and map of path {path.number}")
        return path_pictures(out / PATHS, path, kind.recipe.robot)

    write_pages(out, kind, records, _path_of(out), pictures_of, pages)


def _path_of(out: Path) -> PathOf:
    return lru_cache(maxsize=1)(partial(read_path, out))  # records of one path are adjacent


def _accepted(records: Sequence[QuestionAttempt]) -> list[QuestionAttempt]:
    return [record for record in records if record.status == ACCEPTED]


def flagged(out: Path, verdicts: Sequence[Path]) -> list[QuestionAttempt]:
    """Return the questions that reviewers of verify.html do not accept all in the same words, with what they said.

    Raises ConfigError for verdicts on another data set, or if a reviewer has not judged every question.
    """
    merged = _voted(_accepted(read_records(out)), verdicts)
    if unseen := [record.id for record in merged if record.reason == _UNSEEN]:
        raise ConfigError(f"not all reviewers have judged question {unseen[0]}: revise when all have")
    return [record for record in merged if record.status == REJECTED]


def finish(out: Path, verdicts: Sequence[Path], answers: Sequence[Path] = ()) -> tuple[Path, list[QuestionAttempt]]:
    """Merge the reviews and write the benchmark's file with the records that all reviewers accepted.

    Returns the file and all reviewed records. A record passes when every reviewer accepted it with the same wording
    (the generator's or an edited one); one rejection, or different wordings, rejects it; a record that a reviewer has
    not reviewed is left out. A rejected record that was revised passes when the second vote accepts it. answers: files
    of validators (see validators.py). Raises ConfigError for verdicts or answers on another data set, StorageError.
    """
    kind = benchmark(read_manifest(out).benchmark)
    first, second = _accepted(read_records(out)), _accepted(read_records(out, REVISED))
    later = [*_about(verdicts, second), *_about(answers, second)]
    merged = _round(first, [v for v in verdicts if v not in later], [a for a in answers if a not in later], kind)
    if later:
        revised = {record.id: record for record in _round(second, [v for v in verdicts if v in later],
                                                          [a for a in answers if a in later], kind)}
        if answers and all(record.validations is None for record in revised.values()):
            raise ConfigError(f"no validator has answered the revised questions: add answers from {REVISED_PAGES[1]}")
        merged = [revised.get(record.id, record) if record.status == REJECTED else record for record in merged]
    write_bytes(out / VERIFIED, "".join(dumps(record) + "\n" for record in merged).encode())
    _note(out, merged, reviewers=sorted({name for record in merged for name in record.reviews or ()}),
          validators=sorted({name for record in merged for name in record.validations or ()}))
    return write_benchmark(kind, _accepted(merged), _path_of(out), out), merged


def _about(files: Sequence[Path], records: Sequence[QuestionAttempt]) -> list[Path]:
    """Return the files of people about these records; others are left to the checks of their reader."""
    return [file for file in files if records and isinstance(said := read_json(file), dict)
            and said.get("data") == fingerprint(records)]


def _round(records: Sequence[QuestionAttempt], verdicts: Sequence[Path], answers: Sequence[Path],
           kind: Benchmark) -> list[QuestionAttempt]:
    """Return the records of one vote with what people said."""
    validations = read_validations(answers, records)
    return [validated(voted, record.pair.question if record.pair else "", validations, kind)
            for record, voted in zip(records, _voted(records, verdicts), strict=True)]


def _voted(records: Sequence[QuestionAttempt], verdicts: Sequence[Path]) -> list[QuestionAttempt]:
    """Return the records with their reviews. Raises ConfigError."""
    if not verdicts:
        raise ConfigError(f"no verdicts from {PAGE} or {REVISED_PAGES[0]}: each vote needs its own")
    reviews = [_read_review(path, records) for path in verdicts]
    names = Counter(review.reviewer for review in reviews)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ConfigError(f"the reviewer {twice[0]!r} has two files: verdicts are counted by reviewer")
    return [_merged(record, reviews) for record in records]


def read_manifest(out: Path) -> DatasetManifest:
    """Read the manifest of a data set. Raises StorageError."""
    return decode(DatasetManifest, read_json(out / MANIFEST))


@dataclass(frozen=True)
class Opinion:
    """One reviewer's verdict on one record: accept or reject, and the final wording."""

    verdict: str
    question: str
    answer: str
    note: str = ""


@dataclass(frozen=True)
class Review:
    """The file that the review page exports. data: fingerprint of the records it showed."""

    reviewer: str
    data: str
    verdicts: Mapping[str, Opinion]


def _read_review(path: Path, records: Sequence[QuestionAttempt]) -> Review:
    review = decode(Review, read_json(path))
    if review.data != fingerprint(records):
        raise ConfigError(f"{path} is about other questions than those in this folder: export it again from the "
                          "present verify.html")
    wrong = [i for i, o in review.verdicts.items()
             if o.verdict not in ("accept", "reject") or not o.question.strip() or not o.answer.strip()]
    if wrong:
        raise ConfigError(f"{path}: the verdict on record {wrong[0]!r} must be accept or reject, with a question and "
                          "an answer that are not empty")
    return review


def _merged(record: QuestionAttempt, reviews: Sequence[Review]) -> QuestionAttempt:
    """Return a record with its reviews."""
    before = record.pair
    assert before is not None
    said = {review.reviewer: review.verdicts.get(record.id) for review in reviews}
    notes = {name: "not seen" if opinion is None else f"{opinion.verdict} {opinion.note}".strip()
             for name, opinion in said.items()}
    record = replace(record, reviews=notes)
    opinions = [opinion for opinion in said.values() if opinion is not None]
    if any(opinion.verdict == "reject" for opinion in opinions):
        return replace(record, status=REJECTED, reason="a reviewer rejected it")
    if len(opinions) < len(reviews):
        return replace(record, status=REJECTED, reason=_UNSEEN)
    words = {(opinion.question.strip(), opinion.answer.strip()) for opinion in opinions}
    if len(words) > 1:
        return replace(record, status=REJECTED, reason="the reviewers want different words")
    for question, answer in words - {(before.question, before.answer)}:
        others = before.alternatives if answer == before.answer else ()
        return replace(record, pair=QuestionAnswer(question, answer, others))
    return record


def _note(out: Path, records: Sequence[QuestionAttempt], **changes: object) -> None:
    manifest = read_manifest(out)
    for name, value in changes.items():
        setattr(manifest, name, value)
    manifest.finished = utc_now()
    manifest.counts = dict(sorted(Counter(record.status for record in records).items()))
    reasons = Counter(record.reason.partition(":")[0] for record in records if record.reason)
    manifest.reasons = dict(sorted(reasons.items()))
    write_json(out / MANIFEST, manifest)


def cost_line(spent: Usage) -> str:
    """Return the costs as text."""
    return f"{spent.calls} model calls, {spent.tokens_in + spent.tokens_out} tokens"
