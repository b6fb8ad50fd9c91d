"""Cost of a call of a local model: a model with the shape of Qwen2.5-VL and RANDOM weights, so only time and memory
are measured. Its tokenizer uses bytes; pictures have as many tokens as with the real one.

EQA_LOCAL_SHAPE: tiny, 3b or 7b; default: 3b on a GPU, tiny elsewhere.
"""

from __future__ import annotations

import gc
import io
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.timing import Figure
from eqa_nodes.core.model import Message
from eqa_nodes.models import local, make_backend
from tests.fixtures.tiny_models import save_tiny

PICTURES, TOKENS, REPEATS = 8, 64, 5
SHAPES = {  # hidden size, layers, heads, key-value heads, MLP size, depth and hidden size of the vision encoder
    "tiny": (64, 2, 4, 2, 128, 2, 64), "3b": (2048, 36, 16, 2, 11008, 32, 1280),
    "7b": (3584, 28, 28, 4, 18944, 32, 1280)}


def figures() -> list[Figure]:
    """Return the costs of each kind of call and of loading."""
    import torch

    gpu = torch.cuda.is_available()
    shape = os.environ.get("EQA_LOCAL_SHAPE") or ("3b" if gpu else "tiny")
    with tempfile.TemporaryDirectory() as folder:
        weights = _save(shape, Path(folder), "cuda" if gpu else "cpu")
        began = time.perf_counter()
        model = make_backend("transformers", model=folder, deadline_s=600.0)
        loading = time.perf_counter() - began
        where = f"{shape} ({weights / 1e9:.2f} billion random weights), {str(model.dtype).removeprefix('torch.')}, "
        where += torch.cuda.get_device_name() if gpu else "CPU"
        ask = (Message("system", ("Look.",)), Message("user", (*(_view(n) for n in range(PICTURES)), "What is it?")))
        shown = f"{PICTURES} pictures of 640x480"
        found = [_measured(model, f"{name}, {where}", call) for name, call in (
            (f"{TOKENS} tokens after {shown}", lambda: model.generate(ask, TOKENS)),
            (f"a choice after {shown}", lambda: model.choose(ask, ("yes", "no"))),
            ("a choice without pictures", lambda: model.choose([Message("user", ("Is it?",))], ("yes", "no"))))]
        model.close()
    left = f", {torch.cuda.memory_allocated() / 2**20:.0f} MB on the GPU after it is closed" if gpu else ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [*found, Figure(f"loading, {where}", round(1000 * loading), note=f"peak {peak:.1f} GB of the process{left}")]


def _measured(model: Any, name: str, call: Callable[[], Any]) -> Figure:
    import torch

    spent: dict[str, list[float]] = {"whole": [], "processor": [], "model": []}
    tokens = model.usage.tokens_in
    call()
    tokens = model.usage.tokens_in - tokens
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with _timed(model, spent):
        for _ in range(REPEATS):
            began = time.perf_counter()
            call()
            spent["whole"].append(time.perf_counter() - began)
    whole, processor, inner = (1000 * float(np.median(seconds)) for seconds in spent.values())
    peak = f"; peak {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB on the GPU" if torch.cuda.is_available() else ""
    rest = f"processor {processor:.0f} ms, the rest {whole - processor - inner:.1f} ms"
    return Figure(name, round(whole), f"generate: {inner:.0f} ms", round(whole / inner, 2),
                  f"{rest}; {tokens} tokens in{peak}")


@contextmanager
def _timed(model: Any, spent: dict[str, list[float]]) -> Iterator[None]:
    """Collect the seconds spent in the processor and in the model, including the GPU's."""
    import torch

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            made = work(*arguments, **options)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            spent[name].append(time.perf_counter() - began)
            return made
        return run

    inner, tensors = model._loaded.model, local.tensors
    local.tensors, inner.generate = timed("processor", tensors), timed("model", inner.generate)  # type: ignore[assignment]
    try:
        yield
    finally:
        local.tensors = tensors
        del inner.generate


def _save(shape: str, folder: Path, device: str) -> int:
    """Write the model and return its number of weights. The processor is that of the tests, with the real sizes."""
    import torch
    import transformers as t

    save_tiny("qwen2_5_vl", folder)
    hidden, layers, heads, keys, inner, depth, eye = SHAPES[shape]
    config = t.AutoConfig.from_pretrained(folder)
    given = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
             "num_key_value_heads": keys, "intermediate_size": inner, "vocab_size": 151_936,
             "max_position_embeddings": 32_768, "layer_types": None, "max_window_layers": layers}
    section = [hidden // heads // 8, *[3 * hidden // heads // 16] * 2]
    text = {**config.text_config.to_dict(), **given,
            "rope_parameters": {"rope_type": "default", "mrope_section": section, "rope_theta": 1e6}}
    vision = {**config.vision_config.to_dict(), "depth": depth, "hidden_size": eye, "patch_size": 14, "num_heads": 16,
              "intermediate_size": eye * 8 // 3, "out_hidden_size": hidden, "window_size": 112,
              "fullatt_block_indexes": [depth // 4 * n - 1 for n in range(1, 5)] if depth > 4 else [0]}
    config = type(config)(**{**config.to_dict(), "text_config": text, "vision_config": vision})
    with torch.device(device):
        model = t.AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16)
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = None, 0
    model.save_pretrained(folder)
    images = getattr(t, "Qwen2VLImageProcessor", None) if _has("torchvision") else None
    (images or t.Qwen2VLImageProcessorPil)(patch_size=14, size={"shortest_edge": 3136, "longest_edge": 12_845_056}
                                           ).save_pretrained(folder)
    number = sum(weights.numel() for weights in model.parameters())
    del model
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
    return number


def _has(library: str) -> bool:
    from importlib.util import find_spec

    return find_spec(library) is not None


def _view(seed: int) -> bytes:
    """Return a structured picture of 640x480 as JPEG."""
    small = np.random.default_rng(seed).integers(0, 255, (12, 16, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(small).resize((640, 480), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
    return out.getvalue()
