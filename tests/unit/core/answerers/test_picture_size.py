"""The size of the pictures that a model is shown, as the registry's answerers set it."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from eqa_nodes.core.answerers.common import AnswererOptions
from eqa_nodes.core.answerers.snapshot import SnapshotAnswerer
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.rooms import view


def _large() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (1280, 960), "gray").save(out, "JPEG")
    return out.getvalue()


@pytest.mark.parametrize("made", [VlmAnswerer, SnapshotAnswerer])
@pytest.mark.parametrize(("options", "longest"), [({}, 512), ({"max_side_px": 320}, 320), ({"max_side_px": 0}, 1280)])
def test_pictures_have_the_configured_size(made: type[VlmAnswerer], options: dict[str, int], longest: int) -> None:
    backend = ScriptedBackend([""] * 2)
    answerer = made.from_options(AnswererOptions(lambda: backend, **options))
    with pytest.raises(ModelError, match="^wrong form"):
        answerer.assess(Question("Where is it?"), [view(1, Pose2(0.0, 0.0, 0.0), jpeg=_large())])
    shown = [part for message in backend.requests[0] for part in message.parts if isinstance(part, bytes)]
    assert [max(Image.open(io.BytesIO(jpeg)).size) for jpeg in shown] == [longest]
