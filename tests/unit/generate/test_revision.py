"""What reviewers do not all accept is proposed anew, once, and voted on again."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.bench.readers.express import read_express
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.generate.pages import PAGE, REVISED_PAGES
from eqa_nodes.generate.pipeline import RECORDS, REVISED, read_records, revise
from eqa_nodes.generate.results import end_revision, finish, flagged
from eqa_nodes.generate.values import ACCEPTED, REJECTED
from tests.fixtures.generating import Model, cast, here, job, small, verdicts, whole

NEW = {"question": "What stands between <b>two</b> plants?", "answer": "A red kettle."}


def voted(tmp_path: Path) -> list[Path]:
    """Three questions, of which one is rejected and one is wanted in different words."""
    whole(tmp_path, Model(answer=here), count=3)
    return [verdicts(tmp_path, "ann", r0={}, r1={"verdict": "reject", "note": "which desk?"}, r2={}),
            verdicts(tmp_path, "bob", r0={}, r1={}, r2={"question": "What is next to the plant?"})]


def revised(tmp_path: Path, first: list[Path], model: Model) -> int:
    summary = revise(small("express"), job(3), cast(small("express"), model), tmp_path, flagged(tmp_path, first))
    return end_revision(tmp_path, small("express"), summary)


def test_the_generator_hears_what_people_said_and_the_second_vote_counts(tmp_path: Path) -> None:
    first, before = voted(tmp_path), (tmp_path / RECORDS).read_bytes()
    model = Model(answer=here, propose=lambda n, text: NEW if n == 0 else {"question": "", "answer": ""})
    assert revised(tmp_path, first, model) == 1
    heard, other, *_ = (text for role, text in model.texts if role == "propose")
    assert "a reviewer rejected it: ann: reject which desk?; bob: accept" in heard
    assert "the reviewers want different words" in other
    records = read_records(tmp_path, REVISED)
    assert [(r.id, r.status, r.reason) for r in records] == [("1", ACCEPTED, ""),
                                                             ("2", REJECTED, "nothing else to ask about")]
    assert (tmp_path / RECORDS).read_bytes() == before and len(records[0].rounds) == 2
    page = (tmp_path / REVISED_PAGES[0]).read_text()
    assert "between &lt;b&gt;two" in page and "which desk?" in page and "kettle?" not in page
    assert revised(tmp_path, first, Model(propose={"question": "never asked?", "answer": "no"})) == 1  # once only

    assert [r.status for r in finish(tmp_path, first)[1]] == [ACCEPTED, REJECTED, REJECTED]
    second = [verdicts(tmp_path, name, REVISED, r1={}) for name in ("ann", "bob")]
    file, merged = finish(tmp_path, [*first, *second])
    assert [r.status for r in merged] == [ACCEPTED, ACCEPTED, REJECTED]
    assert [s.question for s in read_express(file)] == ["What stands beside the kettle?", NEW["question"]]
    second[1] = verdicts(tmp_path, "bob", REVISED, r1={"verdict": "reject"})
    assert [r.status for r in finish(tmp_path, [*first, *second])[1]] == [ACCEPTED, REJECTED, REJECTED]


def test_a_revision_waits_for_every_vote_and_each_vote_needs_its_own_verdicts(tmp_path: Path) -> None:
    first = voted(tmp_path)
    with pytest.raises(ConfigError, match="not all reviewers have judged question 1"):
        flagged(tmp_path, [verdicts(tmp_path, "cy", r0={})])
    revised(tmp_path, first, Model(answer=here, propose=NEW))
    with pytest.raises(ConfigError, match=f"no verdicts from {PAGE}"):
        finish(tmp_path, [verdicts(tmp_path, "ann", REVISED, r1={})])
