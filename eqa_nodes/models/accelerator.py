"""Device and number format of local models: cuda, mps or cpu, chosen by what is available."""

from __future__ import annotations

from typing import Any

from eqa_nodes.core.errors import ConfigError, unknown

DTYPES = ("float32", "float16", "bfloat16")


def device_of(torch: Any, name: str, setting: str) -> Any:
    """Return the device of that name; "" = cuda, else mps, else cpu. Raises ConfigError that names the setting."""
    if not name:
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"{setting} is {name!r}: {' '.join(str(error).split())[:200]}. Use cuda, mps, cpu, or \"\" "
                          "for what there is") from error
    return device


def dtype_of(torch: Any, name: str, setting: str) -> Any:
    """Return the dtype of that name. Raises ConfigError that names the setting."""
    if name not in DTYPES:
        raise ConfigError(unknown(setting, name, DTYPES))
    return getattr(torch, name)


def quick_dtype(torch: Any, device: Any) -> str:
    """Return the dtype that a device multiplies fast in."""
    slow = device.type == "cuda" and not torch.cuda.is_bf16_supported()
    return "float32" if device.type == "cpu" else "float16" if slow else "bfloat16"
