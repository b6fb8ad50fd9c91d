"""Settings of the episodic memory."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.memory.keyframes import KeyframeConfig
from eqa_nodes.core.memory.objects import ObjectsConfig
from eqa_nodes.core.perception.instances import PerceptionConfig
from eqa_nodes.core.perception.projection import PlacesConfig
from eqa_nodes.core.ranges import NotNegative
from eqa_nodes.core.settings import NOW, constant, setting


@dataclass(frozen=True)
class MemoryConfig:
    """Settings of what the memory stores."""

    keyframes: KeyframeConfig = setting(KeyframeConfig(), live=NOW)
    perception: PerceptionConfig = setting(PerceptionConfig(), live=NOW)
    places: PlacesConfig = constant(PlacesConfig())
    objects: ObjectsConfig = constant(ObjectsConfig())
    privacy: PrivacyConfig = PrivacyConfig()
    embedder: str = setting("auto",
        "Text embedder for recall by meaning: auto (wordllama where it is installed) | wordllama | none, or an "
        "embedder of another package.")
    names: str = setting("",
        "Text embedder that compares a query with the names of objects: minilm (slower, and finds more) | none | "
        "wordllama; empty uses `embedder`.")
    budget_mb: NotNegative = setting(0.0,
        "Maximum size of the memory file in megabytes. Beyond it, views that other views cover are forgotten; 0 sets "
        "no limit.", live=NOW)
    relocalise: bool = setting(False,
        "Compare an unknown map with the known ones, by the depth of their views; what is known there is recalled once"
        " it is certain where the map lies.", live=NOW)
    ahead_s: NotNegative = constant(10.0,
        "Maximum time in seconds that a stamp may be ahead of the clock; views with later stamps are rejected; 0 sets"
        " no limit.")
