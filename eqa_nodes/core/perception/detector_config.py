"""Selection and settings of a detector: one dataclass for node parameters and command line."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.perception.noise import NoiseConfig
from eqa_nodes.core.ranges import Counted, Share
from eqa_nodes.core.settings import constant, setting


@dataclass(frozen=True)
class DetectorConfig:
    """A detector."""

    name: str = setting("", 'Detector: labels (from the simulator, privileged) | transformers; "" runs none.')
    model: str = setting("google/owlv2-base-patch16-ensemble", "Name or folder of the transformers detection model.")
    segmenter: str = setting("", 'Model that segments the boxes; "" takes what stands out of a box by depth.')
    embedder: str = setting("", 'Model that distinguishes objects by appearance; "" compares their names.')
    threshold: Share = constant(0.1, "Minimum score (0 to 1) that the detection model reports.")
    most: Counted = constant(100,
        "Maximum number of detections per image. The ones with the highest scores go to segmenter and embedder.")
    batch: Counted = constant(32, "Number of boxes or crops that segmenter and embedder process at once.")
    device: str = setting("", 'Device of the models: cpu | cuda | cuda:1 | mps; "" chooses the available one.')
    dtype: str = constant("", 'Number format of the models: float32 | float16 | bfloat16; "" is float32.')
    masks: bool = constant(True, "Return masks from the detector 'labels'.")
    noise: NoiseConfig = constant(NoiseConfig())  # what the detector labels gets wrong
