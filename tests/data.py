"""Where optional test data lies: EQA_TEST_DATA, or shared/data beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_data(name: str) -> Path:
    """Return the path of a data file or folder; skips the test where it is absent."""
    root = Path(os.environ.get("EQA_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    path = root / name
    if not path.exists():
        pytest.skip(f"test data {name!r} is not there: set EQA_TEST_DATA to the folder that holds it")
    return path
