"""Detectors, segmenters and embedders through transformers, with tiny random models."""

from __future__ import annotations

import builtins
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError, MissingExtra
from eqa_nodes.core.perception.detection import Detection, DetectionConfig, DetectorConfig
from eqa_nodes.core.perception.tracking import PerceiverConfig
from eqa_nodes.core.perception.vectors import open_words
from eqa_nodes.core.types.views import Frame
from eqa_nodes.perception import open_detector, open_perceiver
from eqa_nodes.perception.loading import PictureEmbedder, load
from eqa_nodes.perception.zero_shot import _sentences, _spans, sentence
from eqa_nodes.testing.contracts import check_detector
from tests.fixtures.frames import frame
from tests.fixtures.needs import need_transformers
from tests.fixtures.tiny_detectors import save_tiny

need_transformers()

NAMES = ("chair", "coffee table", "bed", "cup")
DETECTORS = ("owlvit", "owlv2", "grounding-dino")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {kind: save_tiny(kind, folder / kind) for kind in (*DETECTORS, "sam", "clip", "siglip")}


@pytest.fixture
def shown() -> Frame:
    pixels = np.random.default_rng(1).integers(0, 255, (48, 64, 3), np.uint8)
    return replace(frame(1), rgb=pixels)


def found(models: dict[str, Path], kind: str, shown: Frame, **more: Any) -> list[Detection]:
    config = DetectorConfig("transformers", str(models[kind]), threshold=0.0, **more)
    return list(open_detector(config, NAMES).detect(shown, {}))


@pytest.mark.parametrize("kind", ["owlvit", "owlv2"])
def test_a_vocabulary_may_have_hundreds_of_names(models: dict[str, Path], kind: str, shown: Frame) -> None:
    names = tuple(f"thing {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(640))
    config = DetectorConfig("transformers", str(models[kind]), threshold=0.0)
    seen = open_detector(config, names).detect(shown, {})
    assert seen and {d.name for d in seen} <= set(names)


@pytest.mark.parametrize("kind", DETECTORS)
def test_what_is_found_has_a_name_of_the_vocabulary_a_box_in_the_image_and_comes_in_order(
        models: dict[str, Path], kind: str, shown: Frame) -> None:
    seen = found(models, kind, shown)
    assert len(seen) > 3 and {d.name for d in seen} <= set(NAMES)
    for d in seen:
        left, top, right, bottom = d.box
        assert 0 <= left < right <= 64 and 0 <= top < bottom <= 48 and 0 <= d.score <= 1
        assert d.mask is None and d.vector is None
    assert [d.score for d in seen] == sorted((d.score for d in seen), reverse=True)
    assert found(models, kind, shown) == seen and found(models, kind, shown, most=2) == seen[:2]


@pytest.mark.parametrize("kind", DETECTORS)
def test_it_keeps_to_the_contract_of_every_detector(models: dict[str, Path], kind: str) -> None:
    config = DetectorConfig("transformers", str(models[kind]), threshold=0.0)
    assert check_detector(lambda: open_detector(config, NAMES)) > 4


@pytest.mark.parametrize("kind", DETECTORS)
def test_boxes_and_scores_are_those_of_the_models_raw_output(models: dict[str, Path], kind: str, shown: Frame) -> None:
    """Recomputed by plain loops from logits and normalised boxes."""
    import torch

    model = load("AutoModelForZeroShotObjectDetection", str(models[kind]), DetectorConfig())
    owl = kind.startswith("owl")
    text = [[f"a photo of a {name}" for name in NAMES]] if owl else [sentence(NAMES)]
    with torch.inference_mode():
        out = model.model(**model.inputs([shown.rgb], text=text))
    wanted = []
    words = {"chair": [1], "coffee table": [3, 4], "bed": [6], "cup": [8]}  # of "[CLS] chair . coffee table . ..."
    sides = (64, 64) if kind == "owlv2" else (64, 48)  # OWLv2 pads to a square
    for logits, (x, y, w, h) in zip(out.logits[0], out.pred_boxes[0].tolist(), strict=True):
        p = torch.sigmoid(logits).tolist()
        of = {name: p[i] if owl else sum(p[t] for t in words[name]) / len(words[name]) for i, name in enumerate(NAMES)}
        ends = [(x - w / 2) * sides[0], (y - h / 2) * sides[1], (x + w / 2) * sides[0], (y + h / 2) * sides[1]]
        box = [round(min(max(end, 0), side)) for end, side in zip(ends, (64, 48, 64, 48), strict=True)]
        if box[2] > box[0] and box[3] > box[1]:
            wanted.append((max(of.values()), max(of, key=lambda name: of[name]), tuple(box)))
    seen = found(models, kind, shown)
    assert len(seen) == len(wanted)
    for d, (score, name, box) in zip(seen, sorted(wanted, reverse=True), strict=True):
        assert d.score == pytest.approx(score, abs=1e-5) and d.name == name
        assert np.abs(np.subtract(d.box, box)).max() <= 1  # halves round either way


def test_names_that_do_not_fit_one_sentence_are_asked_for_in_several(models: dict[str, Path]) -> None:
    model = load("AutoModelForZeroShotObjectDetection", str(models["grounding-dino"]), DetectorConfig())
    names = list(NAMES) * 20
    parts = list(_sentences(model, names))
    assert [name for part in parts for name in part] == names and len(parts) > 1
    for part in parts:
        tokens = model.processor.tokenizer(sentence(part))["input_ids"]
        assert len(tokens) <= model.model.config.max_text_len
        spans = _spans(model, sentence(part), part)
        assert [model.processor.tokenizer.decode([tokens[i] for i in span]) for span in spans] == part
    with pytest.raises(ConfigError, match="more tokens than the 48"):
        list(_sentences(model, ["chair " * 60]))


def test_a_segmenter_masks_each_box_and_an_embedder_describes_its_crop(models: dict[str, Path], shown: Frame) -> None:
    plain = found(models, "owlv2", shown)
    seen = found(models, "owlv2", shown, segmenter=str(models["sam"]), embedder=str(models["clip"]), batch=3)
    assert [d[:3] for d in seen] == [d[:3] for d in plain] and any(d.mask is not None and d.mask.any() for d in seen)
    for d in seen:
        left, top, right, bottom = d.box
        assert d.mask is not None and d.mask.shape == (48, 64) and d.vector is not None
        outside = d.mask.copy()
        outside[top:bottom, left:right] = False
        assert not outside.any() and np.linalg.norm(d.vector) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_pictures_and_texts_are_vectors_of_one_space_whatever_the_batch(models: dict[str, Path], kind: str) -> None:
    crops = [np.random.default_rng(n).integers(0, 255, (3 + n, 9, 3), np.uint8) for n in range(5)]
    alone, together = (PictureEmbedder(DetectorConfig(embedder=str(models[kind]), batch=n)) for n in (1, 32))
    pictures, texts = together.pictures(crops), together.texts(["a chair", "a bed", "chair . bed"])
    assert pictures.shape == (5, 16) and texts.shape == (3, 16) and pictures.dtype == np.float32
    assert np.allclose(np.linalg.norm(np.concatenate([pictures, texts]), axis=1), 1.0, atol=1e-5)
    assert np.allclose(alone.pictures(crops), pictures, atol=1e-5)
    assert np.allclose(alone.texts(["a chair", "a bed", "chair . bed"]), texts, atol=1e-5)
    assert together.pictures([]).shape[0] == 0


def test_the_whole_step_gives_instances_that_are_not_privileged(models: dict[str, Path], shown: Frame) -> None:
    config = PerceiverConfig(DetectionConfig(vocabulary=NAMES, score=0.0))
    perceiver = open_perceiver(DetectorConfig("transformers", str(models["grounding-dino"]), threshold=0.0), config)
    seen = perceiver.take(shown, {})
    assert seen.found and all(label.detected and label.kind in NAMES for label in seen.table.values())
    assert seen.frame.labels is not None and set(np.unique(seen.frame.labels)) <= {0, *seen.table}


def test_other_precision_is_possible(models: dict[str, Path], shown: Frame) -> None:
    assert found(models, "owlv2", shown, dtype="bfloat16", segmenter=str(models["sam"]), embedder=str(models["siglip"]))


@pytest.mark.parametrize(("change", "complaint"), [
    ({"model": "no/such/folder"}, "'no/such/folder' cannot be loaded"),
    ({"device": "toaster"}, "detector.device is 'toaster'"), ({"dtype": "int3"}, "detector.dtype.*float16"),
    ({"name": "eyes"}, "unknown detector 'eyes'.*transformers")])
def test_what_cannot_be_opened_is_named(models: dict[str, Path], change: dict[str, str], complaint: str) -> None:
    config = replace(DetectorConfig("transformers", str(models["owlv2"])), **change)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=complaint):
        open_detector(config, NAMES)


def test_a_model_that_detects_nothing_is_refused(models: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match="cannot be loaded as AutoModelForZeroShotObjectDetection"):
        open_detector(DetectorConfig("transformers", str(models["clip"])), NAMES)


def test_without_the_library_the_pip_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "torch":
            raise ImportError(name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtra, match=r"eqa-nodes\[local\]"):
        load("AutoModel", "anything", DetectorConfig())


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_words_fit_the_vectors_of_the_pictures_they_are_most_like(models: dict[str, Path], kind: str, shown: Frame
                                                                  ) -> None:
    seen = found(models, "owlv2", shown, embedder=str(models[kind]))
    space, vectors = open_words(seen[0].space), np.stack([d.vector for d in seen if d.vector is not None])
    fit = space.fit("a chair", vectors.astype(np.float64))
    text = PictureEmbedder(DetectorConfig(embedder=str(models[kind]))).texts(["a chair"])[0]
    assert fit is not None and ((fit > 0) & (fit < 1)).all()
    assert (np.argsort(fit, kind="stable") == np.argsort(vectors.astype(np.float64) @ text, kind="stable")).all()
    assert space.fit("a chair", vectors[:, :3].astype(np.float64)) is None
    (plain, *_) = found(models, "owlv2", shown)
    assert plain.space == "" and plain.vector is None
