"""Serializes and deserializes standard messages without ROS."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.wire import messages

IMAGE = "sensor_msgs/msg/Image"


@cache
def store() -> Any:
    """Return the definitions of the standard messages."""
    return get_typestore(Stores.ROS2_HUMBLE)


def decoded(cdr: bytes, type_name: str) -> Any:
    """Return a serialized message. Raises BadFrame when it cannot be read."""
    try:
        return store().deserialize_cdr(cdr, type_name)
    except Exception as error:  # a damaged message makes the decoder raise whatever it stumbles over
        raise BadFrame(f"message of type {type_name} and {len(cdr)} bytes cannot be read: {error}") from error


def encoded(message: Any, type_name: str) -> bytes:
    """Return a message serialized."""
    return bytes(store().serialize_cdr(message, type_name))


def without(image: Any, hidden: np.ndarray) -> bytes:
    """Return a serialized sensor_msgs/Image with zeros where `hidden`, (H, W) bool, is true.

    Raises BadFrame when its pixels are not known: their encoding, or their size.
    """
    return encoded(replace(image, data=messages.blacked_out(image, hidden)), IMAGE)
