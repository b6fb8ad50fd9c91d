"""Fixtures and settings that all tests share.

A busy machine must not fail a test, so hypothesis has no deadline for an example or for drawing it. A shell ignores
interrupts in background jobs, and child processes inherit that, so interrupts are enabled here.
Each worker runs whole files, the longest ones first, so that no long file is left for the end. The durations of long
tests are in tests/durations.json (tests/fixtures/durations.py).
`--thorough` (or EQA_THOROUGH=1) also runs the tests marked `thorough`, and twenty times the examples of hypothesis.
`--fast` skips the long tests. `--write-durations` measures and rewrites the durations.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.models import make_backend
from eqa_nodes.models.quirks import forget_all
from tests.fixtures.durations import DurationWriter, function_of, read_durations
from tests.fixtures.foreign_bags import Scene, StandardCdr
from tests.fixtures.one_fork_server import one_fork_server
from tests.fixtures.repetition import EXAMPLES

signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this suite."""
    parser.addoption("--rewrite-pages", action="store_true", help="write what tutorials and notebooks print into them, "
                     "with their pictures (make pages)")
    parser.addoption("--thorough", action="store_true", default=os.environ.get("EQA_THOROUGH") == "1",
                     help="run the tests marked `thorough` too, and twenty times the examples of hypothesis")
    parser.addoption("--fast", action="store_true", help="leave out the tests that take long (tests/durations.json)")
    parser.addoption("--write-durations", action="store_true", help="write what the tests take to tests/durations.json")


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of test processes: more than the cores, because tests of graphs mostly wait."""
    return max(1, (os.cpu_count() or 1) * 3 // 2)


def pytest_configure(config: pytest.Config) -> None:
    """Configure hypothesis."""
    examples = EXAMPLES * 10 if config.getoption("thorough") else EXAMPLES // 2
    settings.register_profile("eqa", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples)
    settings.load_profile("eqa")
    if config.getoption("write_durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(DurationWriter(config.rootpath))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip `thorough` tests without --thorough, and long ones with --fast; order files by duration, longest first."""
    seconds = read_durations(config.rootpath)
    left = set[pytest.Item]()
    if not config.getoption("thorough"):
        left |= {item for item in items if item.get_closest_marker("thorough")}
    if config.getoption("fast"):
        left |= {item for item in items if item.get_closest_marker("slow") or function_of(item.nodeid) in seconds}
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]
    files = Counter[str]()
    for function, taken in seconds.items():
        files[function.partition("::")[0]] += taken
    items.sort(key=lambda item: -files[function_of(item.nodeid).partition("::")[0]])


@pytest.fixture(scope="session", autouse=True)
def shared_fork_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Make all graphs that this process starts share one fork server."""
    with one_fork_server(tmp_path_factory.mktemp("fork_server")):
        yield


@pytest.fixture(scope="module")
def standard_cdr() -> StandardCdr:
    """Return a serializer of standard messages."""
    return StandardCdr()


@pytest.fixture
def scene(standard_cdr: StandardCdr) -> Scene:
    """Return a scene that a foreign robot recorded."""
    return Scene(standard_cdr)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    """Yield an empty memory in its first session, in the map "home"."""
    store = MemoryStore(tmp_path / "memory.db")
    store.reset("first", map_name="home")
    yield store
    store.close()


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Yield a function that connects backends to a model server's URL; they are closed at the end."""
    made = []
    forget_all()  # another server may have used the port before
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def make(url: str, **options: Any) -> Any:
        defaults = {"base_url": url, "model": "m", "timeout_s": 20.0, "deadline_s": 20.0, "max_retries": 0}
        made.append(make_backend("openai", "secret-key", **{**defaults, **options}))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


@pytest.fixture
def three_domains(monkeypatch: pytest.MonkeyPatch) -> str:
    """Offer only the ROS domains 23 to 21, whatever other graphs run; return the name of their reservations."""
    own = f"\0eqa_nodes/test/{os.getpid()}/"
    monkeypatch.setattr("eqa_nodes.ros.environment.DOMAINS", range(23, 20, -1))
    monkeypatch.setattr("eqa_nodes.ros.environment.RESERVATION", own)
    return own
