"""Pictures are written into with every supported version of Pillow."""

from __future__ import annotations

from typing import Any

import pytest
from PIL import Image, ImageDraw

from eqa_nodes.core import pillow


@pytest.fixture(autouse=True)
def forget() -> None:
    pillow.writing_font.cache_clear()


def test_a_larger_font_writes_larger() -> None:
    draw = ImageDraw.Draw(Image.new("RGB", (200, 200)))
    low, high = (draw.textlength("12", pillow.writing_font(size)) for size in (12, 48))
    assert high == pytest.approx(4 * low, rel=0.2)


def test_old_pillow_without_the_systems_font_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: Any) -> None:
        raise OSError("cannot open resource")

    monkeypatch.setattr(pillow.features, "version", lambda _: "9.4.0")
    monkeypatch.setattr(pillow.ImageFont, "truetype", absent)
    with pytest.raises(RuntimeError, match=r"Pillow 9.4.0 .*fonts-dejavu-core"):
        pillow.writing_font(12)
    pillow.writing_font.cache_clear()


def test_old_pillow_takes_the_systems_font_in_whole_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(pillow.features, "version", lambda _: "10.0.1")
    monkeypatch.setattr(pillow.ImageFont, "truetype", lambda *args: asked.append(args))
    pillow.writing_font(12.7)
    assert asked == [(pillow.FILE, 13)]
    pillow.writing_font.cache_clear()
