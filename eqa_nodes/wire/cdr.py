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
    """Deserialize a message. Raises BadFrame when it cannot be read."""
    try:
        return store().deserialize_cdr(cdr, type_name)
    except Exception as error:  # the decoder raises arbitrary errors for a damaged message
        raise BadFrame(f"message of type {type_name} and {len(cdr)} bytes cannot be read: {error}") from error


def encoded(message: Any, type_name: str) -> bytes:
    """Serialize a message."""
    return bytes(store().serialize_cdr(message, type_name))


def without(image: Any, hidden: np.ndarray) -> bytes:
    """Return a serialized sensor_msgs/Image with zeros where `hidden`, (H, W) bool, is true.

    Raises BadFrame when the encoding is unknown or the size does not match.
    """
    return encoded(replace(image, data=messages.blacked_out(image, hidden)), IMAGE)
