"""The words of the perceiver's vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.bench.perception.views import MeasuredViews, views_of
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.core.perception.vectors import open_words
from eqa_nodes.perception import open_detector
from eqa_nodes.perception.words import PerceiverWords, space_of
from eqa_nodes.testing.contracts import detector_frames
from tests.fixtures.frames import scaled
from tests.fixtures.perceiver_weights import save_weights, save_words, seal


@pytest.fixture
def words(tmp_path: Path) -> Path:
    folder = save_weights(tmp_path / "weights")
    save_words(folder)
    return folder


def test_a_phrase_fits_by_the_product_of_its_names(words: Path) -> None:
    """Entry 1 of a vector speaks for cup, blue, metal, empty and hallway, entry 2 for lamp, red, full and kitchen."""
    space = open_words(space_of(words))
    vectors = np.eye(4)[1:3]
    cup, other = np.exp(4.0) / (np.exp(4.0) + 2.0), 1.0 / (np.exp(4.0) + 2.0)
    fit = space.fit("the cup", vectors)
    assert fit is not None and fit == pytest.approx([cup, other])
    fit = space.fit("Where are the blue cups?", vectors)
    assert fit is not None and fit == pytest.approx([cup * cup, other * other])
    fit = space.fit("a red cup", vectors)
    assert fit is not None and fit == pytest.approx([cup * other, other * cup])
    assert space.fit("the striped thing", vectors) is None
    assert space.fit("the cup", np.eye(3)) is None, "vectors of another length are of another space"


def test_detections_name_the_space_of_their_vectors(words: Path, tmp_path: Path) -> None:
    shown = scaled(detector_frames()[0], 320, 240, 277.0)
    found = open_detector(DetectorConfig("perceiver", str(words)), ()).detect(shown, {})
    assert found and {d.space for d in found} == {space_of(words)} and str(words) in space_of(words)
    plain = save_weights(tmp_path / "plain")
    assert {d.space for d in open_detector(DetectorConfig("perceiver", str(plain)), ()).detect(shown, {})} == {""}


def test_other_words_than_those_of_the_vectors_are_refused(words: Path) -> None:
    _, _, where = space_of(words).partition(" ")
    save_words(words, scale=5.0)
    with pytest.raises(ConfigError, match="are not those with which these vectors were made"):
        PerceiverWords(where)
    with pytest.raises(ConfigError, match="are not those"):
        open_words("perceiver 0123456789ab")
    (words / "words.npz").write_bytes(b"no archive")
    seal(words)
    with pytest.raises(ConfigError, match="words.npz cannot be read .*: train the weights again"):
        open_words(space_of(words))


def test_the_words_of_the_package_say_what_its_detector_says() -> None:
    """The name that a detection has is the one that fits its vector best, among the names of all detections."""
    detector = open_detector(DetectorConfig("perceiver"), ())
    found = [d for view in views_of("house:1003", MeasuredViews(8)) for d in detector.detect(view.frame, {})]
    space = open_words(found[0].space)
    vectors = np.stack([d.vector for d in found if d.vector is not None])
    names = sorted({d.name for d in found})
    fits = {name: fit for name in names if (fit := space.fit(name, vectors)) is not None}
    said = [max(fits, key=lambda name: fits[name][i]) == d.name for i, d in enumerate(found)]
    colours = [fit is not None and fit[i] > 0.5 for i, d in enumerate(found) if "colour" in d.attributes
               for fit in (space.fit(d.attributes["colour"], vectors),)]
    assert len(found) > 20 and len(fits) == len(names) and np.mean(said) > 0.9 and np.mean(colours) > 0.9
