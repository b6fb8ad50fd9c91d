"""The pages that people work with, in a browser: a person's answers, and the verification of generated questions."""

from __future__ import annotations

import json
from pathlib import Path

from eqa_nodes.bench.readers.openeqa import read_openeqa
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.generate.pages import ANSWER_PAGE, PAGE
from eqa_nodes.generate.results import finish
from eqa_nodes.generate.values import ACCEPTED, REJECTED
from tests.fixtures.browser import SIZES, browser, open_page, overflow, served_page
from tests.fixtures.generating import Model, here, verdicts, whole
from tests.fixtures.person_page import choosing, driven, sitting, writing
from tests.fixtures.tasks import TASK


@SIZES
def test_a_person_drives_marks_and_answers(tmp_path: Path, size: tuple[int, int]) -> None:
    question = "text=What is on the desk?"
    with browser() as chromium, sitting(tmp_path, driven()) as (server, _), \
            served_page(chromium, server.link, size, question) as page:
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector("text=1 steps, 0.0 m")
        page.click("[data-action=forward]")
        page.wait_for_selector("text=2 steps")
        page.click("#earlier")
        page.keyboard.press("m")
        page.wait_for_selector("text=marked: 2")
        assert overflow(page) == 0
        page.click("#answer >> text=Answer >> nth=-1")
        page.fill("#text", "a kettle")
        page.keyboard.press("ArrowUp")  # in the text: nothing is driven
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Which colour has it?")
        page.check("input[value=blue]")
        page.click("button.main")
        page.wait_for_selector("text=That was the last question")
    first, second = (p.answer for p in read_predictions(tmp_path).predictions.values())
    assert (first.text, first.receipt.steps, [e.keyframe_id for e in first.evidence]) == ("a kettle", 2, [2])
    assert second.text == "blue"


@SIZES
def test_a_person_chooses_the_options_of_a_task(tmp_path: Path, size: tuple[int, int]) -> None:
    with browser() as chromium, choosing(tmp_path, [TASK]) as server, \
            served_page(chromium, server.link, size, "text=Is the lamp on? Come back.") as page:
        page.click("#options button >> nth=0")
        page.wait_for_selector("text=move forward: success")
        page.wait_for_selector("text=1 of 24 steps")
        assert page.is_hidden("#answer") and page.is_hidden("#drive") and overflow(page) == 0
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector("text=1 of 2")
        page.click('#options button:has-text("answer \\"yes\\"")')
        page.wait_for_selector("text=That was the last question")
    (prediction,) = read_predictions(tmp_path).predictions.values()
    assert prediction.predicates == (True, True) and prediction.answer.receipt.steps == 2


@SIZES
def test_a_person_writes_questions_and_a_draft_outlives_the_page(tmp_path: Path, size: tuple[int, int]) -> None:
    with browser() as chromium, writing(tmp_path, ["house:1"]) as (server, ended), \
            served_page(chromium, server.link, size, "text=Write questions about house:1") as page:
        page.wait_for_selector("text=1 of 5")
        assert page.is_hidden("#answer") and page.is_hidden("#mark") and overflow(page) == 0
        page.fill("#asked", "What is <b>red</b>?")
        page.fill("#right", "a kettle")
        page.select_option("#category", "world knowledge")
        page.reload()
        page.wait_for_selector("text=what one must know of the world")
        assert page.input_value("#asked") == "What is <b>red</b>?" and page.input_value("#right") == "a kettle"
        page.click("text=Save question")
        page.wait_for_selector("#written li")
        assert page.locator("#written b").count() == 0 and page.input_value("#asked") == "" and overflow(page) == 0
        page.click("text=Save question")
        page.wait_for_selector("text=write a question and its answer")
        page.fill("#asked", "Which one?")
        page.fill("#right", "this")
        page.keyboard.press("Enter")
        page.wait_for_selector("#written li:nth-child(2)")
        page.click("text=Withdraw >> nth=1")
        page.wait_for_selector("#written li:nth-child(2)", state="detached")
        page.click("text=Next history")
        page.wait_for_selector("text=1 of 1 histories")
    assert ended == [1] and [q.question for q in read_openeqa(tmp_path, "all", starts=False)] == ["What is <b>red</b>?"]


@SIZES
def test_verdicts_are_given_kept_and_exported(tmp_path: Path, size: tuple[int, int]) -> None:
    things = ("desk", "mirror", "towel")
    whole(tmp_path, Model(answer=here, propose=lambda n, text: {
        "question": f"What stands beside the <b>{things[n]}</b>?", "answer": "a red kettle"}), count=3)
    with open_page(tmp_path / PAGE, size) as page:
        assert page.locator("article").count() == 3 and page.locator("article b").count() == 0
        assert overflow(page) == 0
        page.keyboard.press("j")
        page.keyboard.press("a")
        second = page.locator("article").nth(1)
        second.locator("[data-field=answer]").fill("The red kettle.")
        second.locator("[data-say=accept]").click()
        page.locator("article").nth(2).locator("[data-say=reject]").click()
        page.reload()
        assert page.text_content("#count") == "3 of 3 judged"
        page.select_option("#show", "reject")
        assert page.locator("article:visible").count() == 1
        page.fill("#reviewer", "ann")
        with page.expect_download() as download:
            page.click("#export")
        download.value.save_as(tmp_path / "ann.json")
    assert json.loads((tmp_path / "ann.json").read_text())["reviewer"] == "ann"
    _, records = finish(tmp_path, [tmp_path / "ann.json"])
    assert [r.status for r in records] == [ACCEPTED, ACCEPTED, REJECTED]
    assert [r.pair.answer for r in records if r.pair] == ["a red kettle", "The red kettle.", "a red kettle"]


@SIZES
def test_validators_watch_answer_mark_and_export(tmp_path: Path, size: tuple[int, int]) -> None:
    whole(tmp_path, Model(answer=here), count=3)
    files = []
    for name in ("cy", "dee"):
        with open_page(tmp_path / ANSWER_PAGE, size) as page:
            page.keyboard.press("j")
            page.wait_for_function("document.querySelector('details[open] [data-part=film]')?.naturalWidth === 64 && "
                                   "document.querySelector('details[open] [data-part=map]')?.naturalWidth > 0")
            assert overflow(page) == 0
            page.keyboard.press("a")
            page.keyboard.type("the red kettle")
            page.keyboard.press("Enter")
            page.keyboard.press("u" if name == "dee" else "a")
            page.keyboard.type("a red kettle")  # no key is a command in a field, and none marks the next question
            page.keyboard.press("Escape")
            place = page.locator("article").nth(2)
            place.locator("[data-field=answer]").fill("beside the desk")
            place.locator("[data-field=answer1]").fill("under the mirror")
            page.reload()
            assert page.text_content("#count") == "3 of 3 answered"
            page.keyboard.press("j")
            page.keyboard.press("j")
            assert page.locator("details.film[open]").count() == 1  # one film plays at a time
            page.fill("#reviewer", name)
            with page.expect_download() as download:
                page.click("#export")
            files.append(tmp_path / download.value.suggested_filename)
            download.value.save_as(files[-1])
    assert [file.name for file in files] == ["answers-cy.json", "answers-dee.json"]
    _, records = finish(tmp_path, [verdicts(tmp_path, "ann", r0={}, r1={}, r2={})], files)
    assert [r.status for r in records] == [ACCEPTED, REJECTED, ACCEPTED]
    assert [r.pair.alternatives for r in records if r.pair][::2] == [
        ("the red kettle",), ("beside the desk", "under the mirror")]
