"""Detectors (core/perception/detection.py). A missing library is reported when its detector is created."""

from __future__ import annotations

from eqa_nodes.core.components import DETECTORS
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.memory.texts import READING, Texts
from eqa_nodes.core.perception.detection import Detector, DetectorConfig
from eqa_nodes.core.perception.tracking import Perceiver, PerceiverConfig


def open_detector(config: DetectorConfig, vocabulary: tuple[str, ...]) -> Detector:
    """Return the configured detector. vocabulary: names of objects to look for, for open-vocabulary detectors.

    Raises ConfigError for an unknown name or a model that cannot be loaded, MissingExtra.
    """
    detector: Detector = DETECTORS.make(config.name, config, vocabulary)
    return detector


def open_perceiver(detector: DetectorConfig, config: PerceiverConfig) -> Perceiver:
    """Return the perception step. Raises the errors of open_detector."""
    return Perceiver(open_detector(detector, config.detection.vocabulary), config)


def open_texts(name: str) -> Texts | None:
    """Return a reader of the text in kept views, by the name of its detector; None for "".

    Raises the errors of open_detector, and ConfigError for a detector of simulator labels, which cannot read text.
    """
    if not name:
        return None
    detector = open_detector(DetectorConfig(name=name), READING.detection.vocabulary)
    if detector.privileged:
        raise ConfigError(f"the detector {name!r} reads a simulator's labels, and no text in pictures: choose ocr")
    return Texts(Perceiver(detector, READING))
