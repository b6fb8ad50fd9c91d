"""Device and number format of local models, and named errors for failures on a device."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eqa_nodes.core.errors import ConfigError, ModelError, unknown

DTYPES = ("float32", "float16", "bfloat16")
_FULL = ("out of memory", "not enough memory", "ALLOC_FAILED")  # the last one is from cuBLAS and cuDNN


def device_of(torch: Any, name: str, setting: str) -> Any:
    """Return the device of that name; "" = cuda, else mps, else cpu. Raises ConfigError that names the setting."""
    there = _devices(torch)
    try:
        device = torch.device(name or there[0].removesuffix(":0"))
        (torch.ones(1, device=device) + 1).item()  # a device may exist and yet run nothing, such as "meta"
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"{setting} is {name!r}: {one_line(error)[:200]}. Use {', '.join(there)}, or \"\" for the "
                          "first of these, which are what PyTorch finds here") from error
    return device


def dtype_of(torch: Any, name: str, setting: str) -> Any:
    """Return the dtype of that name. Raises ConfigError that names the setting."""
    if name not in DTYPES:
        raise ConfigError(unknown(setting, name, DTYPES))
    return getattr(torch, name)


def quick_dtype(torch: Any, device: Any) -> str:
    """Return the name of the dtype that is fast on a device. CUDA emulates bfloat16 on cards without it."""
    slow = device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
    return "float32" if device.type == "cpu" else "float16" if slow else "bfloat16"


def placed(torch: Any, model: Any, device: Any, who: str, setting: str) -> Any:
    """Return the model on the device, in evaluation mode. who: "the model NAME"; setting: "model" or "detector".

    Raises ConfigError if it does not fit; the part that was already moved is released.
    """
    try:
        return model.to(device).eval()
    except (RuntimeError, AssertionError) as error:
        model.to("meta")  # releases the weights even if the error and its frames are kept
        free(torch, device)
        raise ConfigError(f"{who} does not fit on {device}: {one_line(error)}. Choose another {setting}.device, "
                          f"{setting}.dtype or a smaller model, or end what else uses the device") from error


def free(torch: Any, device: Any) -> None:
    """Return unused memory to the device, so that other processes can use it."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


@contextmanager
def named_failures(torch: Any, device: Any, who: str, remedy: str) -> Iterator[None]:
    """Turn errors of the libraries into ModelError. who: name of the model; remedy: advice if memory runs out.

    An error keeps its frames and their tensors alive, so they are cleared: the next call needs that memory.
    """
    try:
        yield
    except (RuntimeError, ValueError, IndexError, MemoryError) as error:
        words = one_line(error)
        traceback.clear_frames(error.__traceback__)
        if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(sign in words for sign in _FULL):
            free(torch, device)
            raise ModelError(f"out of memory: {who} on {device} ({words[:120]}): {remedy}") from error
        raise ModelError(f"failed: {who} on {device}: {type(error).__name__}: {words[:200]}"
                         f"{_lasting(torch, error)}") from error


def one_line(error: BaseException) -> str:
    """Return the message of an error as one line of at most 240 characters, without CUDA's general advice."""
    words = str(error)
    return " ".join((words.partition("\n")[0] if words.startswith("CUDA error") else words).split())[:240]


def _lasting(torch: Any, error: Exception) -> str:
    """Return the remedy for an error of a kernel, after which CUDA refuses all further calls of this process."""
    of_kernel = getattr(torch, "AcceleratorError", ())  # PyTorch before 2.8 does not have it
    return ". The GPU takes nothing more from this process: restart it" if isinstance(error, of_kernel) else ""


def _devices(torch: Any) -> list[str]:
    """Return the names of the available devices, the fastest first."""
    cards = [f"cuda:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return [*cards, *(["mps"] if torch.backends.mps.is_available() else []), "cpu"]
