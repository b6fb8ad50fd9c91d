"""Detectors (core/perception/detection.py). A missing library is reported when a detector that needs it is made."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.perception.detection import Detector
from eqa_nodes.core.perception.tracking import Perceiver, PerceiverConfig
from eqa_nodes.perception.config import DetectorConfig


def _transformers(config: DetectorConfig, vocabulary: tuple[str, ...]) -> Detector:
    from eqa_nodes.perception.zero_shot import ZeroShotDetector
    return ZeroShotDetector(config, vocabulary)


def _labels(config: DetectorConfig, vocabulary: tuple[str, ...]) -> Detector:
    from eqa_nodes.perception.oracle import LabelDetector
    return LabelDetector(config.masks, config.noise)


DETECTORS: dict[str, Callable[[DetectorConfig, tuple[str, ...]], Detector]] = {
    "labels": _labels, "transformers": _transformers}


def open_detector(config: DetectorConfig, vocabulary: tuple[str, ...]) -> Detector:
    """Return the detector that a configuration names. vocabulary: names of objects to look for, where it is open.

    Raises ConfigError for an unknown name or a model that cannot be loaded, MissingExtra.
    """
    if config.name not in DETECTORS:
        raise ConfigError(unknown("detector", config.name, DETECTORS))
    return DETECTORS[config.name](config, vocabulary)


def open_perceiver(detector: DetectorConfig, config: PerceiverConfig) -> Perceiver:
    """Return the perception step. Raises as open_detector."""
    return Perceiver(open_detector(detector, config.detection.vocabulary), config)
