"""Selection and settings of a detector: one dataclass for node parameters and command line."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.perception.noise import NoiseConfig
from eqa_nodes.core.ranges import Counted, Share


@dataclass(frozen=True)
class DetectorConfig:
    """A detector."""

    name: str = ""  # labels (the simulator's, privileged) | transformers; "" = none
    model: str = "google/owlv2-base-patch16-ensemble"  # name or folder of a transformers model that detects
    segmenter: str = ""  # model that gives masks; "" = a mask is what stands out of its box by depth
    embedder: str = ""  # model that tells objects apart; "" = by their names
    threshold: Share = 0.1  # least score, 0..1, of what the model says
    most: Counted = 100  # detections of one image, the surest ones, which segmenter and embedder get to see
    batch: Counted = 32  # boxes or crops that they take at once
    device: str = ""  # cpu | cuda | cuda:1 | mps; "" = what there is
    dtype: str = ""  # float32 | float16 | bfloat16; "" = float32
    masks: bool = True  # whether the detector labels gives masks
    noise: NoiseConfig = NoiseConfig()  # what the detector labels gets wrong
