"""Colour words of the built-in house, as a person would recognise them on a wall or a sofa."""

from __future__ import annotations

from functools import cache

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown

# sRGB; softer than the web's pure colours, and far enough apart to be told from each other in any light.
COLOURS = {
    "white": "#f2f1ec", "black": "#232325", "grey": "#8f9194", "gray": "#8f9194", "dark grey": "#55585c", "light grey": "#c3c5c7",
    "silver": "#b9bdc2", "gold": "#c9a13b", "red": "#b8312f", "dark red": "#7d2026", "orange": "#d9772b", "yellow": "#e0bf3c",
    "green": "#4e8a4a", "dark green": "#2f5a3c", "light green": "#9cc48e", "olive": "#75773c", "teal": "#2f8085",
    "turquoise": "#46b3ae", "blue": "#3565a8", "dark blue": "#25406f", "light blue": "#92bbdb", "navy": "#25345c",
    "purple": "#77508f", "violet": "#77508f", "lilac": "#b79fc9", "pink": "#d98ba3", "magenta": "#b33a7c", "brown": "#7a5235",
    "dark brown": "#4d3424", "light brown": "#ad8158", "beige": "#d9c7a5", "cream": "#efe6cf", "tan": "#c49f74",
}


@cache
def linear_rgb(colour: str) -> tuple[float, float, float]:
    """Return linear RGB 0..1 of a colour word or #rrggbb. Raises ConfigError for anything else."""
    text = COLOURS.get(colour, colour)
    try:
        if len(text) != 7 or text[0] != "#":
            raise ValueError(text)
        srgb = np.array([int(text[i:i + 2], 16) for i in (1, 3, 5)]) / 255.0
    except ValueError:
        raise ConfigError(unknown("colour", colour, COLOURS) + " or #rrggbb") from None
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return (float(linear[0]), float(linear[1]), float(linear[2]))
