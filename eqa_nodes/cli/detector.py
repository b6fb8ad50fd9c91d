"""Command-line options of a detector, and what they mean to the nodes."""

from __future__ import annotations

import argparse

from eqa_nodes.perception.config import DetectorConfig

_OPTIONS = {"detector": "name", "detector_model": "model", "segmenter": "segmenter", "embedder": "embedder"}


def detector_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a detector and its models."""
    group = parser.add_argument_group("the detector")
    group.add_argument("--detector", metavar="NAME",
                       help="memory takes its labels from it: transformers: OWLv2, OWL-ViT or Grounding DINO; labels: "
                            "the simulator's, privileged, for tests (default: none)")
    group.add_argument("--detector-model", metavar="MODEL",
                       help=f"name or folder of the detector's model (default: {DetectorConfig().model})")
    group.add_argument("--segmenter", metavar="MODEL", help="such as facebook/sam-vit-base (default: none)")
    group.add_argument("--embedder", metavar="MODEL",
                       help="of crops, such as openai/clip-vit-base-patch32 (default: none)")


def detector_of(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the parameters of the perception node that the options say."""
    return {f"detector.{name}": value for option, name in _OPTIONS.items()
            if (value := getattr(arguments, option, None)) is not None}


def labels_of(arguments: argparse.Namespace) -> dict[str, dict[str, object]]:
    """Return the parameters of memory and recorder that follow from a detector on the command line."""
    if not getattr(arguments, "detector", None):
        return {}
    return {"memory": {"labels": True, "labels_from": "detector"}, "recorder": {"labels_from": "detector"}}
