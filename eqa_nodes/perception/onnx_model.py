"""ONNX files run by onnxruntime, and models among them that take one colour image."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError, MissingExtra, ModelError
from eqa_nodes.core.perception.detection import DetectorConfig

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
_SIZES = {"tensor(int32)": np.int32, "tensor(float)": np.float32}  # of the input for the picture's size; else int64
_SIDE = 640  # side of the input of a model with dynamic shapes that names none, pixels
_IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class PixelValues(NamedTuple):
    """The pixel values of a model's input: (value * scale - mean) / deviation, by colour."""

    scale: float = 1 / 255
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    deviation: tuple[float, ...] = (1.0, 1.0, 1.0)


_PIXELS = {"unit": PixelValues(), "imagenet": PixelValues(1 / 255, *_IMAGENET), "bytes": PixelValues(1.0)}


class OnnxSession:
    """An ONNX file that is run with a fixed order of computation. The constructor raises ConfigError, MissingExtra.

    metadata: the text values in the file; inputs, outputs: their names, shapes and types.
    """

    def __init__(self, file: Path, device: str = "", threads: int = 1) -> None:
        """device: as in DetectorConfig."""
        self.file = file
        self._session = _opened(file, device, threads)
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)
        self.inputs: list[Any] = self._session.get_inputs()
        self.outputs: list[Any] = self._session.get_outputs()

    def run(self, feed: dict[str, np.ndarray], given: str, checked: bool = True) -> dict[str, np.ndarray]:
        """Return the outputs by name; floats are float32. given: what is fed, for messages.

        Raises ModelError if the library fails or, if checked, an output has values that are no numbers.
        """
        names = [node.name for node in self.outputs]
        try:
            made = self._session.run(names, feed)
        except Exception as error:  # the library's errors have no common class of their own
            raise ModelError(f"{self.file.name} failed for {given}: {_reason(error)}") from error
        outputs = {n: o.astype(np.float32) if o.dtype.kind == "f" else o
                   for n, o in zip(names, made, strict=True) if isinstance(o, np.ndarray)}
        for name, output in outputs.items():
            if checked and output.dtype.kind == "f" and np.isnan(output).any():
                raise ModelError(f"{self.file.name} returned {name} with values that are not a number (NaN): check the "
                                 "export, for instance without half precision")
        return outputs


class OnnxModel:
    """A model with its metadata. The constructor raises ConfigError, MissingExtra; `run` raises ModelError.

    metadata: the text values in the file; processor: preprocessor_config.json beside it, as transformers writes it;
    size: height and width of the input in pixels, None if they follow from the picture's shortest side.
    """

    def __init__(self, config: DetectorConfig) -> None:
        self.file = _model_file(config.model)
        self._session = OnnxSession(self.file, config.device, config.threads)
        self.metadata = self._session.metadata
        self.processor = _processor_beside(self.file)
        self._picture = self._picture_input()
        self._others = self._further_inputs()
        self.size = self._input_size(config.input_px)
        self._pixels = self._pixel_values(config.pixels)

    def run(self, picture: np.ndarray, checked: bool = True) -> dict[str, np.ndarray]:
        """Return the outputs for a picture (H, W, 3) uint8 of the input's size; floats are float32.

        Raises ModelError if the library fails or, if checked, an output has values that are no numbers.
        """
        height, width = picture.shape[:2]
        return self._session.run(self._feed(picture), f"a picture of {width}x{height}", checked)

    def _feed(self, picture: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of all inputs: the picture, its size, and a mask of the pixels that are not padding."""
        height, width = picture.shape[:2]
        pixels = self._pixels
        values = picture.astype(np.float32) * np.float32(pixels.scale)
        values = (values - np.array(pixels.mean, np.float32)) / np.array(pixels.deviation, np.float32)
        feed = {self._picture.name: np.ascontiguousarray(values.transpose(2, 0, 1)[None], _TYPES[self._picture.type])}
        for node in self._others:
            if node.name == "orig_target_sizes":
                feed[node.name] = np.array([[width, height]], _SIZES.get(node.type, np.int64))
            else:
                sides = zip(node.shape, (1, height, width), strict=True)
                feed[node.name] = np.ones([own if _free(side) else side for side, own in sides], np.int64)
        return feed

    def _picture_input(self) -> Any:
        """Return the input for the picture. Raises ConfigError if there is none for one colour image."""
        inputs = self._session.inputs
        for node in inputs:
            if node.type in _TYPES and len(node.shape) == 4:
                batch, colours = node.shape[:2]
                if (batch == 1 or _free(batch)) and (colours == 3 or _free(colours)):
                    return node
        listed = ", ".join(f"{node.name} {shape_text(node.shape)} {node.type}" for node in inputs)
        raise ConfigError(f"{self.file.name} has no input for one colour image, (1, 3, height, width) of floats or "
                          f"bytes; its inputs are {listed}: export it for colour images and a batch of 1")

    def _further_inputs(self) -> list[Any]:
        """Return the inputs besides the picture. Raises ConfigError for an unknown one."""
        others = [node for node in self._session.inputs if node.name != self._picture.name]
        for node in others:
            if (node.name, len(node.shape)) not in (("orig_target_sizes", 2), ("pixel_mask", 3)):
                raise ConfigError(f"{self.file.name} has the unknown input {node.name} {shape_text(node.shape)}: known "
                                  "besides the picture are orig_target_sizes (1, 2) and pixel_mask (1, h, w)")
        return others

    def _input_size(self, side: int) -> tuple[int, int] | None:
        height, width = self._picture.shape[2:]
        if not _free(height) and not _free(width):
            return int(height), int(width)
        if side:
            return side, side
        size = self.processor.get("size")
        if isinstance(size, dict) and "shortest_edge" in size:
            return None
        if isinstance(size, dict) and {"height", "width"} <= size.keys():
            return int(size["height"]), int(size["width"])
        sides = re.fullmatch(r"[\[(]([1-9]\d{0,4}), ?([1-9]\d{0,4})[\])]", self.metadata.get("imgsz", ""))
        return (int(sides[1]), int(sides[2])) if sides else (_SIDE, _SIDE)

    def _pixel_values(self, chosen: str) -> PixelValues:
        """Return the values from the settings or the file beside the model, else 0 to 1."""
        said = self.processor
        if chosen or not said:
            return _PIXELS[chosen or ("bytes" if self._picture.type == "tensor(uint8)" else "unit")]
        scale = float(said.get("rescale_factor", 1 / 255)) if said.get("do_rescale", True) else 1.0
        if not said.get("do_normalize", False):
            return PixelValues(scale)
        mean, deviation = (said.get(key, own) for key, own in
                           zip(("image_mean", "image_std"), _IMAGENET, strict=True))
        return PixelValues(scale, tuple(mean), tuple(deviation))


def shape_text(shape: Sequence[Any]) -> str:
    """Return a shape for messages, such as "(1, 3, height, width)"."""
    return f"({', '.join(str(side) for side in shape)})"


def _free(side: Any) -> bool:
    """Return whether a dimension of an input is dynamic: it has a name, or nothing."""
    return not isinstance(side, int)


def _model_file(name: str) -> Path:
    """Return the file of a model: the path itself, or model.onnx of a folder. Raises ConfigError."""
    path = Path(name).expanduser()
    file = path / "model.onnx" if path.is_dir() else path
    if not file.is_file():
        raise ConfigError(f"the detector onnx needs the file of a model, and {name!r} is none: give detector.model "
                          "(--detector-model) the path of an .onnx file, or of a folder with model.onnx")
    return file


def _opened(file: Path, device: str, threads: int) -> Any:
    """Return a session of the library with a fixed order of computation. Raises ConfigError, MissingExtra."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra(error.name or "onnxruntime", "onnx") from error
    providers, options = _providers(onnxruntime, device), onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.use_deterministic_compute, options.log_severity_level = True, 3
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=providers)
    except Exception as error:  # the library's errors have no common class of their own
        raise ConfigError(f"{str(file)!r} cannot be loaded by onnxruntime {onnxruntime.__version__}: {_reason(error)}. "
                          "Export the model again, with an opset that this version knows, or upgrade "
                          "onnxruntime") from error


def _reason(error: Exception) -> str:
    """Return the message of an error of the library without its codes, file names and C++ signatures."""
    text = " ".join(str(error).split())
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : (Load model from .*? failed:)?", "", text)
    return re.sub(r"/\S+\.(h|cc):\d+ .*?\) (?=[A-Z])", "", text)[:450].rstrip(" .")


def _providers(library: Any, device: str) -> list[Any]:
    """Return the providers for a device: the CPU unless a GPU is named. Raises ConfigError."""
    kind, _, number = device.partition(":")
    available = library.get_available_providers()
    if kind in ("", "cpu"):
        return ["CPUExecutionProvider"]
    if kind != "cuda" or "CUDAExecutionProvider" not in available or not (number or "0").isdecimal():
        raise ConfigError(f"detector.device is {device!r}, and this onnxruntime has {', '.join(available)}: use cpu, "
                          "or cuda with the package onnxruntime-gpu")
    return [("CUDAExecutionProvider", {"device_id": int(number or 0)}), "CPUExecutionProvider"]


def _processor_beside(file: Path) -> dict[str, Any]:
    """Return the preprocessor_config.json beside a model; empty without one. Raises ConfigError."""
    beside = file.with_name("preprocessor_config.json")
    try:
        said = json.loads(beside.read_text("utf-8")) if beside.is_file() else {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{str(beside)!r} cannot be read: {error}. Correct or remove it") from error
    return said if isinstance(said, dict) else {}
