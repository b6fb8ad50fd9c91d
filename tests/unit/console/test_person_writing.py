"""People write questions about histories, over HTTP: what is saved, what is refused, and what a closed page keeps."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import json
from pathlib import Path

import pytest

from eqa_nodes.bench.readers.openeqa import QUESTIONS, read_openeqa
from eqa_nodes.console import person_writing
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.samples import history_of
from tests.fixtures.person_page import writing

ASKED = {"id": "house:1", "question": "Where is  the kettle?", "answer": "on the stove",
         "category": "object localization"}


def test_questions_are_saved_at_once_as_openeqa_reads_them_and_go_on_later(tmp_path: Path) -> None:
    with writing(tmp_path, ["house:1", "scannet-v0/one"]) as (page, ended):
        state = page.get("state")
        assert (state["kind"], state["views"], state["written"], state["total"]) == ("write", 5, [], 2)
        assert page.raw("view/2.jpg")[0][:2] == b"\xff\xd8"
        (saved,) = page.post("write", **ASKED)["written"]
        record, = json.loads((tmp_path / QUESTIONS).read_text())  # before the person goes on
        assert record == {"question_id": saved["question_id"], "question": "Where is the kettle?",
                          "answer": "on the stove", "category": "object localization", "episode_history": "house:1"}
        with pytest.raises(StorageError):
            person_writing.write_questions(None, tmp_path, [], None)  # type: ignore[arg-type]
        page.post("next", id="house:1")
        while page.get("state")["id"] != "scannet-v0/one":
            pass
        assert page.get("state")["written"] == []
        page.post("write", **{**ASKED, "id": "scannet-v0/one", "answer": "<script>"})
        page.post("next", id="scannet-v0/one")
    assert ended == [2]
    samples = read_openeqa(tmp_path, "all", starts=False)
    assert [(s.answer, s.category, history_of(s), s.scene) for s in samples] == [
        ("on the stove", "object localization", "house:1", "house:1"),
        ("<script>", "object localization", "scannet-v0/one", "one")]
    with writing(tmp_path, ["house:1"]) as (page, ended):
        (kept,) = page.get("state")["written"]
        assert kept["question_id"] == samples[0].id
        assert page.post("withdraw", id="house:1", question_id=kept["question_id"])["written"] == []
        page.post("next", id="house:1")
    assert ended == [1] and [s.answer for s in read_openeqa(tmp_path, "all", starts=False)] == ["<script>"]


def test_what_is_no_question_is_refused_and_nothing_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with writing(tmp_path, ["house:1"]) as (page, _):
        for wrong, said in (({"question": "Where is it"}, "question mark"), ({"question": "", "answer": ""}, "write a"),
                            ({"answer": "..."}, '"answer"'), ({"question": "x" * 501}, "at most 500"),
                            ({"answer": 3}, "at most 500"), ({"answer": "a\x00"}, "NUL"),
                            ({"category": "gossip"}, "choose a category"), ({"category": []}, "choose a category")):
            code, error = page.refused("write", **{**ASKED, **wrong})
            assert code == 400 and said in error
        assert page.refused("write", **{**ASKED, "id": "house:2"})[0] == 409
        assert page.refused("withdraw", id="house:1", question_id=["a"])[0] == 404
        assert page.refused("answer", **ASKED)[0] == 404 and not (tmp_path / QUESTIONS).exists()
        page.post("write", **ASKED)
        assert "saved already" in page.refused("write", **{**ASKED, "question": "WHERE is the kettle?"})[1]
        monkeypatch.setattr(person_writing, "MOST", 1)
        assert "another --out" in page.refused("write", **{**ASKED, "question": "Which one?"})[1]
        assert len(page.post("next", id="house:1")["written"]) == 1
