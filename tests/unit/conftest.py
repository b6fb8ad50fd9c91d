"""What several files of unit tests begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eqa_nodes.core.memory import MemoryStore
from tests.unit.foreign_fixture import Scene, StandardCdr


@pytest.fixture(scope="module")
def cdr() -> StandardCdr:
    """Return a serializer of standard messages."""
    return StandardCdr()


@pytest.fixture
def scene(cdr: StandardCdr) -> Scene:
    """Return what another robot recorded."""
    return Scene(cdr)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    """Yield an empty memory in its first session, in the map "home"."""
    store = MemoryStore(tmp_path / "memory.db")
    store.reset("first", map_name="home")
    yield store
    store.close()
