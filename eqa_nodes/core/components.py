"""The registries of all kinds of components: the built-in ones, and the entry point groups for other packages.

A built-in component is one row here; docs/extending.md explains each kind. A component is imported only when it is
requested, so that listing names costs nothing.
"""

from __future__ import annotations

from eqa_nodes.core.registry import Registry
from eqa_nodes.core.traits import (
    AnswererTraits,
    DetectorTraits,
    HistoryTraits,
    JudgeTraits,
    PolicyTraits,
    ReaderTraits,
    SimulatorTraits,
    Traits,
)

POLICIES = Registry("policy", "eqa_nodes.policies", {
    "random": "eqa_nodes.core.policies.frontier_policy:RandomPolicy",
    "frontier": "eqa_nodes.core.policies.frontier_policy:FrontierPolicy",
    "snapshot": "eqa_nodes.core.policies.snapshot_policy:SnapshotPolicy",
    "topo": "eqa_nodes.core.policies.topo_policy:TopoPolicy",
    "aqnav": "eqa_nodes.core.policies.aqnav_policy:AqNavPolicy",
    "best": "eqa_nodes.core.policies.best_policy:BestPolicy",
    "express": "eqa_nodes.core.policies.express_policy:ExpressPolicy",
}, PolicyTraits())
DEFAULT_POLICY = "best"

_ANSWERERS = "eqa_nodes.core.answerers"
ANSWERERS = Registry("answerer", "eqa_nodes.answerers", {
    "label": f"{_ANSWERERS}.label.answerer:LabelAnswerer",
    "vlm": f"{_ANSWERERS}.vlm:VlmAnswerer",
    "blind": f"{_ANSWERERS}.blind:BlindLabelAnswerer",
    "blind-llm": f"{_ANSWERERS}.blind:BlindModelAnswerer",
    "random": f"{_ANSWERERS}.blind:RandomAnswerer",
    "socratic-captions": f"{_ANSWERERS}.socratic:CaptionAnswerer",
    "socratic-questioned": f"{_ANSWERERS}.socratic:QuestionCaptionAnswerer",
    "socratic-graph": f"{_ANSWERERS}.socratic:GraphAnswerer",
    "socratic-graph-no-boxes": f"{_ANSWERERS}.socratic:GraphAnswererNoBoxes",
    "socratic-voxel": f"{_ANSWERERS}.socratic:VoxelAnswerer",
    "socratic-voxel-no-boxes": f"{_ANSWERERS}.socratic:VoxelAnswererNoBoxes",
    "snapshot": f"{_ANSWERERS}.snapshot:SnapshotAnswerer",
}, AnswererTraits())
DEFAULT_ANSWERER = "label"

_AGENTS = "eqa_nodes.config.named_agents"
AGENTS = Registry("agent", "eqa_nodes.agents", {
    "random": f"{_AGENTS}:RANDOM",
    "blind": f"{_AGENTS}:BLIND",
    "blind-priors": f"{_AGENTS}:BLIND_PRIORS",
    "socratic-captions": f"{_AGENTS}:SOCRATIC_CAPTIONS",
    "socratic-graph": f"{_AGENTS}:SOCRATIC_GRAPH",
    "socratic-graph-no-boxes": f"{_AGENTS}:SOCRATIC_GRAPH_NO_BOXES",
    "socratic-voxel": f"{_AGENTS}:SOCRATIC_VOXEL",
    "socratic-voxel-no-boxes": f"{_AGENTS}:SOCRATIC_VOXEL_NO_BOXES",
    "multi-frame": f"{_AGENTS}:MULTI_FRAME",
    "snapshot": f"{_AGENTS}:SNAPSHOT",
    "express-socratic": f"{_AGENTS}:EXPRESS_SOCRATIC",
    "express-multi-frame": f"{_AGENTS}:EXPRESS_MULTI_FRAME",
    "express-random": f"{_AGENTS}:EXPRESS_RANDOM",
    "express-frontier": f"{_AGENTS}:EXPRESS_FRONTIER",
    "express-goal": f"{_AGENTS}:EXPRESS_GOAL",
    "fine-eqa": f"{_AGENTS}:FINE_EQA",
    "fine-eqa-no-goal": f"{_AGENTS}:FINE_EQA_NO_GOAL",
    "fine-eqa-no-stop": f"{_AGENTS}:FINE_EQA_NO_STOP",
    "frames": f"{_AGENTS}:FRAMES",
    "retrieval": f"{_AGENTS}:RETRIEVAL",
    "day-tree": f"{_AGENTS}:DAY_TREE",
    "ours": f"{_AGENTS}:OURS",
    "label": f"{_AGENTS}:LABEL",
}, Traits())
DEFAULT_AGENT = "label"

READERS = Registry("data set", "eqa_nodes.readers", {
    "embodied-eval": "eqa_nodes.bench.embodied.files:EmbodiedEvalReader",
    "express": "eqa_nodes.bench.readers.express:ExpressReader",
    "exploraqa": "eqa_nodes.bench.readers.explora:ExploraReader",
    "hm-eqa": "eqa_nodes.bench.readers.hm_eqa:HmEqaReader",
    "house": "eqa_nodes.bench.house.questions:HOUSE",
    "house-floors": "eqa_nodes.bench.house.questions:HOUSE_FLOORS",
    "house-measure": "eqa_nodes.bench.house.questions:HOUSE_MEASURE",
    "house-multi": "eqa_nodes.bench.house.questions:HOUSE_MULTI",
    "house-people": "eqa_nodes.bench.house.questions:HOUSE_PEOPLE",
    "house-tasks": "eqa_nodes.bench.house.questions:HOUSE_TASKS",
    "house-text": "eqa_nodes.bench.house.questions:HOUSE_TEXT",
    "house-weeks": "eqa_nodes.bench.house.weeks_reader:HOUSE_WEEKS",
    "laeqa": "eqa_nodes.bench.readers.laeqa:LaEqaReader",
    "openeqa": "eqa_nodes.bench.readers.openeqa:OpenEqaReader",
}, ReaderTraits())

JUDGES = Registry("judge", "eqa_nodes.judges", {
    "offline": "eqa_nodes.bench.judges.offline:OfflineJudge",
    "choices": "eqa_nodes.bench.judges.offline:ChoicesJudge",
    "proved": "eqa_nodes.bench.judges.proved:ProvedJudge",
    "llm-match": "eqa_nodes.bench.judges.model_judges:LlmMatch",
    "eac": "eqa_nodes.bench.judges.model_judges:EacJudge",
}, JudgeTraits())

PERCEIVER = "perceiver"  # the detector whose weights are in the package
DETECTORS = Registry("detector", "eqa_nodes.detectors", {
    "labels": "eqa_nodes.perception.oracle:LabelDetector",
    "onnx": "eqa_nodes.perception.onnx_detector:OnnxDetector",
    "ocr": "eqa_nodes.perception.ocr:TextDetector",
    PERCEIVER: "eqa_nodes.perception.perceiver:HousePerceiver",
    "topic": "eqa_nodes.perception.received:ReceivedDetector",
    "transformers": "eqa_nodes.perception.zero_shot:ZeroShotDetector",
}, DetectorTraits())

VECTOR_SPACES = Registry("vector space", "eqa_nodes.vector_spaces", {
    PERCEIVER: "eqa_nodes.perception.words:PerceiverWords",
    "transformers": "eqa_nodes.perception.words:TransformersWords",
}, Traits())

BACKENDS = Registry("model backend", "eqa_nodes.backends", {
    "openai": "eqa_nodes.models.openai_chat:OpenAIChat",
    "scripted": "eqa_nodes.models.scripted:ScriptedBackend",
    "simulated": "eqa_nodes.models.simulated.backend:SimulatedModel",
    "transformers": "eqa_nodes.models.local:LocalModel",
}, Traits())

RECOGNISERS = Registry("speech recogniser", "eqa_nodes.recognisers", {
    "moonshine": "eqa_nodes.voice.recogniser:Moonshine",
}, Traits())

SIMULATORS = Registry("simulator", "eqa_nodes.simulators", {
    "habitat": "sim_bridge.habitat.simulator:HabitatSimulator",
    "house": "sim_bridge.house.simulator:HouseSimulator",
    "mesh": "sim_bridge.mesh.simulator:MeshSimulator",
    "toy": "sim_bridge.toy:GridWorld",
}, SimulatorTraits())

_FORMATS = "eqa_nodes.recordings.formats"
HISTORIES = Registry("format of episode histories", "eqa_nodes.histories", {
    "bag": "eqa_nodes.recordings.bags.history:BagFormat",
    "images": f"{_FORMATS}.pictures:IMAGES",
    "laeqa": f"{_FORMATS}.laeqa_folder:LAEQA",
    "openeqa": f"{_FORMATS}.openeqa_folder:OPENEQA",
    "polycam": f"{_FORMATS}.phones:POLYCAM",
    "record3d": f"{_FORMATS}.phones:RECORD3D",
    "redwood": f"{_FORMATS}.rgbd_folder:REDWOOD",
    "rtabmap": f"{_FORMATS}.rtabmap:RTABMAP",
    "scannet": f"{_FORMATS}.scannet:SCANNET",
    "sens": f"{_FORMATS}.scannet:SENS",
    "stray": f"{_FORMATS}.phones:STRAY",
    "tum": f"{_FORMATS}.rgbd_folder:TUM",
    "video": f"{_FORMATS}.pictures:VIDEO",
}, HistoryTraits())

EMBEDDERS = Registry("embedder", "eqa_nodes.embedders", {
    "wordllama": "eqa_nodes.core.memory.embedding:WordLlama",
    "minilm": "eqa_nodes.perception.sentences:MiniLM",
}, Traits())
