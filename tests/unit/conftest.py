"""Unit tests start no process, open no browser and import neither ROS nor torch: tests that do stand elsewhere.

The guard sees what the running test does. Libraries that were imported for tests of other folders in the same run are
not held against it: `make test-fast` runs this folder alone, and is exact.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
LIBRARIES = {"rclpy", "torch", "transformers", "playwright"}
EVENTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"}
_begun: list[str] = []
_known: set[str] = set()  # libraries that an earlier test has failed for


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in EVENTS and arguments[1:2] != (["uname", "-p"],):  # platform.processor() asks once in a process
        _begun.append(f"{event} {arguments[:2]}")


sys.addaudithook(_note)


@pytest.fixture(scope="module", autouse=True)
def nothing_begun() -> Iterator[None]:
    """Forget what tests of other folders began; manifests of runs name no commit here: git is a process."""
    _begun.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eqa_nodes.bench.running.manifest._git", lambda *words: "")
        yield


@pytest.fixture(scope="session")
def alone(request: pytest.FixtureRequest) -> bool:
    """Tell whether only tests of this folder run."""
    return all(HERE in item.path.parents for item in request.session.items)


@pytest.fixture(autouse=True)
def guard(alone: bool, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that starts a process or loads a library that unit tests do without."""
    monkeypatch.setattr(BaseProcess, "start", lambda process: pytest.fail(f"a unit test starts {process}"))
    yield
    begun = _begun.copy()
    _begun.clear()
    assert not begun, f"a unit test starts a process: {begun}"
    loaded = LIBRARIES & sys.modules.keys() - _known if alone else set()
    _known.update(loaded)
    assert not loaded, f"a unit test imports {sorted(loaded)}"
