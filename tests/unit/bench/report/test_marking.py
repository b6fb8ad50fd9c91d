"""The page for people who mark: whole in itself, and its CSV is what agreement reads."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from eqa_nodes import cli
from eqa_nodes.bench.report.marking import PAGE, write_marking_page
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.core.errors import ConfigError, StorageError
from tests.fixtures.synthetic_run import make_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "secret-agent")


def items(page: Path) -> list[dict[str, object]]:
    data = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"), re.S)
    assert data is not None
    found = json.loads(data[1])["items"]
    assert isinstance(found, list)
    return sorted(found, key=lambda item: str(item["id"]))


def test_the_page_shows_everything_and_loads_nothing(run: Path) -> None:
    page = write_marking_page(run)
    text = page.read_text(encoding="utf-8")
    assert page == run / PAGE
    assert not re.search(r"https?://|@import|url\(", text)
    assert not re.search(r"<[^>]+ (src|href|action)=", re.sub(r"(?s)<script.*?</script>", "", text))
    assert re.findall(r'data-mark="(\d)"', text) == ["1", "2", "3", "4", "5"]
    ids = set(re.findall(r' id="(\w+)"', text))
    assert {"question", "reference", "extra", "answer", "pictures", "save", "back", "next", "open"} <= ids
    shown = items(page)
    assert [item["id"] for item in shown] == ["q-1", "q-2", "q-3"]  # the failed ones have nothing to mark
    cup = shown[0]
    assert (cup["question"], cup["reference"], cup["extra"], cup["answer"]) == (
        "Where is the blue cup?", "on the desk in the study", ["in the study on the desk"], "on the desk")
    picture = str(cup["pictures"][0])  # type: ignore[index]
    assert picture.startswith("data:image/jpeg;base64,")
    with Image.open(io.BytesIO(base64.b64decode(picture.split(",")[1]))) as image:
        assert image.width == 640
    assert "0.82" in str(cup["about"])


def test_blind_hides_who_answered(run: Path) -> None:
    open_text = write_marking_page(run).read_text(encoding="utf-8")
    (run / read_predictions(run).predictions["q-2"].trace).write_bytes(b"damaged")
    page = write_marking_page(run, blind=True)
    text = page.read_text(encoding="utf-8")
    assert "house" in open_text
    assert not re.search("secret-agent|house|0\\.82|LabelAnswerer", re.sub(r"base64,[^\"]*", "", text))
    assert items(page)[1]["trouble"] == "no picture"


def test_order_and_draw_are_those_of_the_seed(run: Path, tmp_path: Path) -> None:
    first = write_marking_page(run, tmp_path / "a.html", seed=4, limit=2).read_bytes()
    assert write_marking_page(run, tmp_path / "b.html", seed=4, limit=2).read_bytes() == first
    assert len(items(tmp_path / "a.html")) == 2
    orders = {write_marking_page(run, tmp_path / "c.html", seed=seed).read_bytes() for seed in range(6)}
    assert len(orders) > 1


def test_text_of_others_stays_text(run: Path) -> None:
    lines = (run / "samples.jsonl").read_text(encoding="utf-8")
    (run / "samples.jsonl").write_text(lines.replace("Where is the blue cup?", "</script><script>alert(1)</script>"))
    page = write_marking_page(run)
    assert "<script>alert" not in page.read_text(encoding="utf-8")
    assert items(page)[0]["question"] == "</script><script>alert(1)</script>"


def test_no_run_and_nothing_to_mark(run: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="contains no run"):
        write_marking_page(tmp_path / "none")
    kept = [line for line in (run / "predictions.jsonl").read_text().splitlines() if '"id":"q-4"' in line]
    (run / "predictions.jsonl").write_text("\n".join(kept) + "\n")
    with pytest.raises(ConfigError, match="no answers to mark"):
        write_marking_page(run)


def test_command(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "mark-page", str(run), "--blind"]) == 0
    assert str(run / PAGE) in capsys.readouterr().out
