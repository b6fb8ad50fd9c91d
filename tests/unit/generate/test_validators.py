"""People answer the questions themselves: what their answers and marks change, and the pages that they work with."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.generate.pages import ANSWER_PAGE, FRAMES, MOST_BYTES, PAGE, PathPictures, fingerprint, path_pictures
from eqa_nodes.generate.pipeline import PATHS, read_path, read_records
from eqa_nodes.generate.results import READERS, VERIFIED, finish, read_manifest
from eqa_nodes.generate.validators import read_validations
from eqa_nodes.generate.values import ACCEPTED, REJECTED, QuestionAttempt
from tests.fixtures.generating import NOTHING, Model, here, small, verdicts, whole

ALL = {"r0": {}, "r1": {}, "r2": {}}


def file_of(out: Path, name: str, **replies: Any) -> Path:
    """Write what answer.html exports. replies: by r<id>, answers, or a mark."""
    said = {key.removeprefix("r"): {"verdict": reply, "answers": []} if isinstance(reply, str)
            else {"verdict": "answer", "answers": reply, "note": ""} for key, reply in replies.items()}
    records = [record for record in read_records(out) if record.status == ACCEPTED]
    file = out / f"answers-{name}.json"
    file.write_text(json.dumps({"validator": name, "data": fingerprint(records), "answers": said}))
    return file


def finished(out: Path, ann: dict[str, Any], bob: dict[str, Any],
             opinions: dict[str, dict[str, str]]) -> list[QuestionAttempt]:
    files = [file_of(out, "ann", **ann), file_of(out, "bob", **bob)]
    return finish(out, [verdicts(out, "eve", **opinions)], files)[1]


@pytest.fixture(scope="module")
def express(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three questions: of the state, of what people know, and of a place; all about one path."""
    out = tmp_path_factory.mktemp("express")
    whole(out, Model(answer=here), count=3)
    return out


def test_one_mark_removes_a_question_and_so_does_a_missing_answer(express: Path) -> None:
    records = finished(express, {"r0": "ambiguous", "r1": ["A red kettle"], "r2": ["a red kettle"]},
                       {"r0": ["a red kettle"], "r2": "unanswerable"}, ALL)
    assert [record.status for record in records] == [REJECTED] * 3
    assert [record.reason for record in records] == ["a validator marked it ambiguous: ann",
                                                     "not all validators have answered it",
                                                     "a validator marked it unanswerable: bob"]
    assert records[0].validations and records[0].validations["bob"].answers == ("a red kettle",)
    assert json.loads((express / "express-bench.json").read_text()) == []


def test_answers_that_agree_are_accepted_too_and_others_go_to_a_person(express: Path) -> None:
    places = ["beside the desk", "under it"]
    records = finished(express, {"r0": ["The red kettle"], "r1": ["A red kettle"], "r2": places},
                       {"r0": ["A green parrot"], "r1": ["a RED kettle."], "r2": ["A red kettle."]}, ALL)
    assert [record.status for record in records] == [ACCEPTED] * 3
    kept = [record.pair.alternatives for record in records if record.pair]
    assert kept == [("The red kettle",), (), ("beside the desk", "under it")]  # the third asks for a place
    assert [record.disputed for record in records] == [
        ("bob: A green parrot",), (), ("ann: beside the desk", "ann: under it")]
    lines = [json.loads(line) for line in (express / VERIFIED).read_text().splitlines()]
    assert lines[2]["pair"]["alternatives"] == ["beside the desk", "under it"]  # the benchmark's file has no field
    assert read_manifest(express).validators == ["ann", "bob"]


def test_only_questions_that_ask_where_have_several_right_answers() -> None:
    """A second answer to "Is it next to the sofa?" would be yes beside no, and both would be accepted."""
    express, explora = small("express"), small("exploraqa")
    for question, answers in (("Where is the mug?", 2), ("What is the position of the mug?", 2),
                              ("Is it somewhere?", 1), ("Is the mug next to the sofa?", 1),
                              ("Which is closer to the bin, the oven or the jar?", 1)):
        assert express.answers_to("location", question) == answers
        assert explora.answers_to("spatial localization", question) == answers
    assert express.answers_to("state", "Where is the lamp that is on?") == 1


def test_a_wrong_yes_or_no_is_never_accepted_beside_the_right_one(tmp_path: Path) -> None:
    whole(tmp_path, Model(answer=lambda n, text: {"answer": "no", "confidence": 0.9, "images": [1]} if n % 4 < 3 else
                          dict(NOTHING), propose=lambda n, text: {
        "question": f"Is the {('lamp', 'mug', 'plant')[n]} next to the sofa?", "answer": "No."}), count=3)
    right = {"r0": ["no"], "r1": ["no"], "r2": ["no"]}
    records = finished(tmp_path, {**right, "r2": ["yes"]}, right, ALL)
    assert records[2].category == "location" and records[2].pair and records[2].pair.alternatives == ()
    assert records[2].disputed == ("ann: yes",)


def test_answers_to_other_words_are_no_answers_to_a_reworded_question(express: Path) -> None:
    new = {"question": "What is red here?", "answer": "A red kettle."}
    records = finished(express, {"r0": ["Red kettle"], "r1": ["a red kettle"], "r2": ["a red kettle"]},
                       {"r0": ["a red kettle"], "r1": ["a red kettle"], "r2": ["a red kettle"]}, {**ALL, "r0": new})
    assert records[0].status == ACCEPTED and records[0].pair and records[0].pair.alternatives == ()
    assert [line.partition(" (")[0] for line in records[0].disputed] == ["ann: Red kettle", "bob: a red kettle"]


def test_the_command_lists_what_a_person_has_to_decide(express: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replies = {"r0": ["a green parrot"], "r1": ["a red kettle"], "r2": ["a red kettle"]}
    files = [str(file_of(express, name, **replies)) for name in ("ann", "bob")]
    assert main(["generate", "finish", str(express), "--verdicts", str(verdicts(express, "eve", **ALL)),
                 "--answers", *files]) == 0
    printed = capsys.readouterr().out
    assert "3 of 3 questions passed 1 reviewers and 2 validators" in printed
    assert "A red kettle.  ann: a green parrot; bob: a green parrot" in printed


@pytest.mark.parametrize(("change", "words"), [
    ({"data": "0"}, "other questions"), ({"answers": {"0": {"verdict": "perhaps"}}}, "ambiguous or unanswerable"),
    ({"answers": {"0": {"verdict": "answer", "answers": [" "]}}}, "not empty"), ({"validator": "ann"}, "two files")])
def test_files_that_do_not_fit_are_refused(express: Path, change: dict[str, Any], words: str) -> None:
    first, second = file_of(express, "ann", r0=["x"]), file_of(express, "bob", r0=["x"])
    second.write_text(json.dumps({**json.loads(second.read_text()), **change}))
    with pytest.raises(ConfigError, match=words):
        finish(express, [verdicts(express, "eve", **ALL)], [first, second])
    with pytest.raises(ConfigError, match="only file"):
        read_validations([first], read_records(express))


def test_further_answers_stand_in_the_file_whose_format_has_a_field(tmp_path: Path) -> None:
    whole(tmp_path, Model(), "exploraqa", count=1)
    file, _ = finish(tmp_path, [verdicts(tmp_path, "eve", r0={})],
                     [file_of(tmp_path, "ann", r0=["the red kettle"]), file_of(tmp_path, "bob", r0=["a red kettle"])])
    assert READERS["exploraqa"](file)[0].alternatives == ("the red kettle",)


def test_the_film_and_the_map_of_a_path_are_in_each_page_once(express: Path) -> None:
    film, drawn = (express / PATHS / f"0000{end}" for end in (".webp", ".svg"))
    path = read_path(express, 0)
    with Image.open(film) as image:
        assert image.format == "WEBP" and image.n_frames == min(len(path.poses), FRAMES)
    assert film.stat().st_size <= MOST_BYTES
    svg = drawn.read_text()
    titles = ("<title>start</title>", "<title>end</title>", "<title>view 1</title>")
    assert all(part in svg for part in (*titles, " m</text>"))
    for page in (PAGE, ANSWER_PAGE):
        html = (express / page).read_text()
        assert html.count("<article") == 3
        assert all(html.count(base64.b64encode(file.read_bytes()).decode()) == 1 for file in (film, drawn))


def test_the_page_for_answers_holds_no_answer(express: Path) -> None:
    html = (express / ANSWER_PAGE).read_text()
    assert "What stands beside the" in html and "red kettle" not in html.lower()
    assert html.count('data-field="answer"') == 3 and html.count('data-field="answer1"') == 1  # the place


def test_pictures_of_a_path_are_rendered_once(express: Path) -> None:
    folder, path, robot = express / PATHS, read_path(express, 0), small("express").recipe.robot
    made = path_pictures(folder, path, robot)
    assert path_pictures(folder, replace(path, scene="toy:nowhere"), robot) == made  # nothing is opened
    (folder / "0000.svg").unlink()
    assert path_pictures(folder, path, robot) == made == PathPictures((folder / "0000.webp").read_bytes(),
                                                                     (folder / "0000.svg").read_bytes())
    with Image.open(io.BytesIO(made.film)) as image:
        assert image.size == (64, 64)  # never larger than what the robot sees
