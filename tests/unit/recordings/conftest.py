"""What the tests of recordings share."""

from __future__ import annotations

import pytest

from tests.fixtures.bags import Cdr


@pytest.fixture(scope="module")
def cdr() -> Cdr:
    """Return a serializer by the installed definitions, the project's own messages among them."""
    return Cdr()
