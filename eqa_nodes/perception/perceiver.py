"""The detector `perceiver`: small networks with weights in the package, trained on pictures of the built-in houses.

One network gives each pixel a kind, a confidence and features (at half the size of its input). Connected pixels of one
kind in depth are a part of an object, parts are joined, and the heads name each object from its pooled features, with
colour, material, state and room.
All values are rounded, so that they are the same in every process of a machine. `eqa learn perceiver` writes the files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.perception.detection import ATTRIBUTES, Detection, DetectorConfig
from eqa_nodes.core.perception.kind_maps import instances_of_kinds
from eqa_nodes.core.traits import DetectorTraits
from eqa_nodes.core.types.views import Frame, Intrinsics, Label
from eqa_nodes.perception.joining import PLACES, joined
from eqa_nodes.perception.onnx_model import OnnxSession, shape_text
from eqa_nodes.perception.perceiver_input import HEIGHT, PLANES, WIDTH, centres, planes_of
from eqa_nodes.perception.picture_fit import stretched
from eqa_nodes.perception.words import REPORT, WEIGHTS, WORDS, space_of

NETWORK, HEADS = "perceiver.onnx", "heads.onnx"  # files of a folder of weights
FORMAT = 1  # of the inputs, outputs and metadata
METADATA = "perceiver"  # key of the metadata in the network's file
ROWS, COLUMNS = HEIGHT // 2, WIDTH // 2  # size of the outputs for each pixel

_POWER = 3  # of the probability of a name, to the share of right names among what is found (docs/decisions.md)
_SURE = 0.5  # minimum probability of a colour, material, state or room that is reported
_LIMIT = 1e4  # largest absolute value of features and logits; infinities are clipped to it
_AGAIN = "train the weights again with `eqa learn perceiver`, or name another folder in detector.model"


class PerceiverNames(NamedTuple):
    """The meaning of the numbers in the outputs; number 0 is "" (none). states_of: possible states by kind."""

    kinds: tuple[str, ...]
    colours: tuple[str, ...]
    materials: tuple[str, ...]
    states: tuple[str, ...]
    rooms: tuple[str, ...]
    states_of: Mapping[str, tuple[str, ...]]

    def of_heads(self) -> dict[str, tuple[str, ...]]:
        """Return the names by output of the heads."""
        return {"kind": self.kinds, "colour": self.colours, "material": self.materials, "state": self.states,
                "room": self.rooms}


class HousePerceiver:
    """Finds the objects of the built-in houses. The constructor raises ConfigError, MissingExtra."""

    privileged = False
    traits = DetectorTraits(library="onnxruntime", extra="onnx")

    def __init__(self, config: DetectorConfig, vocabulary: Sequence[str]) -> None:
        """config.model: folder of the weights, "" = those of the package. The vocabulary changes nothing."""
        self._most, self._threshold = config.most, config.threshold
        folder = weights_folder(config.model)
        self._network = OnnxSession(folder / NETWORK, config.device, config.threads)
        self._heads = OnnxSession(folder / HEADS, config.device, config.threads)
        self._space = space_of(folder)
        self._names = names_in(self._network.metadata.get(METADATA, ""), self._network.file)
        self._check_shapes()
        self._kinds = {number: kind for number, kind in enumerate(self._names.kinds) if number}
        self._states_of = {kind: [0, *(self._names.states.index(state) for state in states)]
                           for kind, states in self._names.states_of.items()}

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> list[Detection]:
        """Return the objects in the image, the highest score first. Raises ModelError."""
        from scipy.ndimage import find_objects  # half a second, saved where nothing is detected

        height, width = frame.depth_m.shape
        kinds, confidence, features = self._looked(planes_of(frame), f"a picture of {width}x{height}")
        small = _reduced(frame)
        pieces = instances_of_kinds(small, kinds, confidence, self._kinds)[:self._most]
        masks = [np.asarray(piece.mask) for piece in pieces]
        if not masks:
            return []
        objects = joined(features, masks, small.depth_m, self._judged)
        masks = [np.any([masks[i] for i in one.parts], axis=0) for one in objects]
        named = self._named(np.stack([one.pooled for one in objects]))
        image = np.zeros((ROWS, COLUMNS), np.uint16)
        for number, mask in enumerate(masks, start=1):
            image[mask] = number
        whole = stretched((height, width), (HEIGHT, WIDTH)).map_back(image)
        found = [d._replace(box=(across.start, down.start, across.stop, down.stop), mask=whole == number)
                 for number, (d, box) in enumerate(zip(named, find_objects(whole, len(named)), strict=True), start=1)
                 if d.name and d.score >= self._threshold and box is not None for down, across in (box,)]
        return sorted(found, key=lambda d: (-d.score, d.name, d.box))

    def _looked(self, planes: np.ndarray, given: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return kinds (ROWS, COLUMNS) int, their confidence 0..1, and features (F, ROWS, COLUMNS) float32."""
        out = self._network.run({"picture": planes[None]}, given)
        return out["kind"][0], np.clip(out["confidence"][0], 0.0, 1.0), np.clip(out["features"][0], -_LIMIT, _LIMIT)

    def _judged(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the most probable kind (n,) int of each row of pooled features, and its probability (n,)."""
        shares = _shares(self._heads.run({"pooled": rows}, f"{len(rows)} objects")["kind"])
        return shares.argmax(axis=1), shares.max(axis=1)

    def _named(self, rows: np.ndarray) -> list[Detection]:
        """Return a detection without place for each row; its name is "" for surroundings."""
        out = self._heads.run({"pooled": rows}, f"{len(rows)} objects")
        names = self._names.of_heads()
        vectors = _unit(out["vector"])
        found = []
        for i, vector in enumerate(vectors):
            logits = {head: out[head][i] for head in names}
            kind, probability = _most_probable(logits["kind"], names["kind"], range(len(names["kind"])))
            score = round(probability ** _POWER, PLACES)
            sure = {}
            for head in (*ATTRIBUTES, "room"):
                allowed = self._states_of.get(kind, [0]) if head == "state" else range(len(names[head]))
                value, probability = _most_probable(logits[head], names[head], allowed)
                if value and probability >= _SURE:
                    sure[head] = value
            room = sure.pop("room", "")
            found.append(Detection(kind, score, (0, 0, 0, 0), None, vector, "", sure, room, self._space))
        return found

    def _check_shapes(self) -> None:
        """Run both networks once. Raises ConfigError if inputs or outputs differ from the format."""
        try:
            out = self._network.run({"picture": np.zeros((1, PLANES, HEIGHT, WIDTH), np.float32)}, "an empty picture")
            size = (1, ROWS, COLUMNS)
            _check_outputs(self._network, out, {"kind": size, "confidence": size, "features": (1, None, *size[1:])})
            if out["kind"].dtype != np.uint8 or len(self._names.kinds) > 256:
                raise ConfigError(f"{self._network.file} gives kinds as {out['kind'].dtype} for "
                                  f"{len(self._names.kinds)} kinds, and uint8 for at most 256 was expected: {_AGAIN}")
            out = self._heads.run({"pooled": np.zeros((1, 2 * out["features"].shape[1]), np.float32)}, "one object")
        except ModelError as error:
            raise ConfigError(f"the weights of the perceiver do not run: {error}. To correct it, {_AGAIN}") from error
        sides = {head: (1, len(names)) for head, names in self._names.of_heads().items()}
        _check_outputs(self._heads, out, {**sides, "vector": (1, None)})


def weights_folder(model: str) -> Path:
    """Return the folder of the weights after its files were compared with their hashes. model: "" = the package's.

    Raises ConfigError.
    """
    folder = Path(model).expanduser() if model else WEIGHTS
    missing = [name for name in (NETWORK, HEADS, REPORT) if not (folder / name).is_file()]
    if missing and not model:
        raise ConfigError("this package has no weights for the detector perceiver: train them with `eqa learn "
                          "perceiver`, or name a folder with weights in detector.model (--detector-model)")
    if missing:
        raise ConfigError(f"the folder {model!r} has no {' and no '.join(missing)}, which the detector perceiver needs:"
                          " name the folder that `eqa learn perceiver` wrote in detector.model (--detector-model)")
    stated = _hashes(folder / REPORT)
    for name in (NETWORK, HEADS, *(WORDS,) * (WORDS in stated)):
        if not (folder / name).is_file():
            raise ConfigError(f"{folder / name} is missing, and {REPORT} states its SHA-256: copy the folder again, or "
                              f"{_AGAIN}")
        found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if found != stated.get(name):
            raise ConfigError(f"{folder / name} has the SHA-256 {found[:12]}..., and {REPORT} states "
                              f"{str(stated.get(name))[:12]}...: the file was changed or copied in part. Copy the "
                              f"folder again, or {_AGAIN}")
    return folder


def _hashes(file: Path) -> Mapping[str, str]:
    """Return the SHA-256 of each file from the report beside the weights. Raises ConfigError."""
    try:
        said = json.loads(file.read_text("utf-8"))["sha256"]
        return {str(name): str(value) for name, value in said.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{file} does not state the SHA-256 of the weights ({type(error).__name__}): {_AGAIN}") from (
            error)


def names_in(text: str, file: Path) -> PerceiverNames:
    """Return the names in a network's metadata. Raises ConfigError."""
    try:
        said: Any = json.loads(text) if text else {}
    except ValueError as error:
        raise ConfigError(f"the metadata {METADATA!r} of {file} are no JSON: {_AGAIN}") from error
    if not isinstance(said, dict) or not said:
        raise ConfigError(f"{file} has no metadata {METADATA!r} with the names of its kinds: {_AGAIN}")
    if said.get("format") != FORMAT:
        raise ConfigError(f"{file} has the format {said.get('format')!r}, and this version of the package reads "
                          f"{FORMAT}: {_AGAIN}, or install the version of the package that wrote it")
    lists: list[Any] = [said.get(name) for name in PerceiverNames._fields[:-1]]
    states_of = said.get("states_of")
    if not all(map(_is_list_of_names, lists)) or len(lists[0]) < 2 or not isinstance(states_of, dict):
        raise ConfigError(f"the metadata {METADATA!r} of {file} need {', '.join(PerceiverNames._fields)}, each list "
                          f'with "" first: {_AGAIN}')
    kinds, colours, materials, states, rooms = (tuple(names) for names in lists)
    for kind, possible in states_of.items():
        if not isinstance(possible, list) or not set(possible) <= set(states[1:]):
            raise ConfigError(f"the metadata {METADATA!r} of {file} give {kind!r} the states {possible!r}, which are "
                              f"not all among its states: {_AGAIN}")
    return PerceiverNames(kinds, colours, materials, states, rooms, {k: tuple(v) for k, v in states_of.items()})


def _is_list_of_names(said: Any) -> bool:
    return (isinstance(said, list) and said[:1] == [""] and all(isinstance(name, str) for name in said)
            and all(name.strip() for name in said[1:]))


def _check_outputs(session: OnnxSession, out: Mapping[str, np.ndarray],
                   wanted: Mapping[str, tuple[int | None, ...]]) -> None:
    """Raise ConfigError for an output that is missing or has another shape. None: any size."""
    for name, shape in wanted.items():
        found = out[name].shape if name in out else ()
        if len(found) != len(shape) or any(own not in (side, None) for own, side in zip(shape, found, strict=True)):
            expected = shape_text([side if side is not None else "any" for side in shape])
            raise ConfigError(f"{session.file} has the output {name} {shape_text(found) if name in out else 'missing'}"
                              f", and {expected} was expected: {_AGAIN}")


def _reduced(frame: Frame) -> Frame:
    """Return the frame at the size of the outputs, each pixel with the depth at its centre."""
    (height, width), k = frame.depth_m.shape, frame.intrinsics
    at = np.ix_(centres(height, ROWS), centres(width, COLUMNS))
    down, across = ROWS / height, COLUMNS / width
    camera = Intrinsics(COLUMNS, ROWS, k.fx * across, k.fy * down, k.cx * across, k.cy * down)
    return replace(frame, rgb=frame.rgb[at], depth_m=frame.depth_m[at], intrinsics=camera, labels=None)


def _shares(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities (softmax over the last axis) float64 of logits (..., n)."""
    values = np.clip(logits.astype(np.float64), -_LIMIT, _LIMIT)
    shares = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(np.round(shares / shares.sum(axis=-1, keepdims=True), PLACES))


def _most_probable(logits: np.ndarray, names: Sequence[str], allowed: Sequence[int]) -> tuple[str, float]:
    """Return the most probable of the allowed names with its probability among them, of equals the first."""
    shares = _shares(logits[list(allowed)])
    best = int(shares.argmax())
    return names[allowed[best]], float(shares[best])


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors (n, D) float32 with length 1; those without length stay zero."""
    values = np.clip(vectors.astype(np.float64), -_LIMIT, _LIMIT)
    length = np.sqrt((values * values).sum(axis=1, keepdims=True))
    return np.round(values / np.where(length > 0, length, 1.0), PLACES).astype(np.float32)
