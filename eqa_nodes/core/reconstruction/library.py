"""Import of Open3D, which is an optional extra."""

from __future__ import annotations

from typing import Any

from eqa_nodes.core.errors import ConfigError, MissingExtra


def open3d() -> Any:
    """Return the module. Raises MissingExtra without it, ConfigError if the system lacks a library that it needs."""
    try:
        import open3d as library
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "open3d", "map3d") from error
    except ImportError as error:  # its wheel needs system libraries
        raise ConfigError(f"open3d cannot be loaded ({error}): install that library; on Debian or Ubuntu: "
                          "apt-get install libusb-1.0-0 libgl1") from error
    return library
