"""Which detector looks at the pictures, with its settings: one dataclass for parameters of nodes and command line."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.perception_noise import NoiseConfig

PRIVILEGED = ("labels",)  # detectors that read the simulator's labels


@dataclass(frozen=True)
class DetectorConfig:
    """A detector. name: one of DETECTORS, "" = none.

    model, segmenter, embedder: names or folders of transformers models; without a segmenter a mask is what stands out
    of its box by depth, without an embedder things are told apart by their names. threshold: least score of what the
    model says, most: detections of one picture, the surest ones, which segmenter and embedder get to see; batch: boxes
    or crops that they take at once. device: cpu | cuda | cuda:1 | mps, "" = what there is; dtype: float32 | float16 |
    bfloat16, "" = float32. masks, noise: of the detector "labels": whether it gives masks, and what it gets wrong.
    """

    name: str = ""
    model: str = "google/owlv2-base-patch16-ensemble"
    segmenter: str = ""
    embedder: str = ""
    threshold: float = 0.1
    most: int = 100
    batch: int = 32
    device: str = ""
    dtype: str = ""
    masks: bool = True
    noise: NoiseConfig = NoiseConfig()
