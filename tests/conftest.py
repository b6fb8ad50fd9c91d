"""What all tests share: fixtures of several folders, and settings.

A busy machine is no failure, so hypothesis sets no deadline on an example, nor on drawing it. A shell ignores
interrupts in what it starts in the background, and so would every process that a test interrupts.

A worker takes whole files, in the order of SECONDS, so that no long one comes last and is waited for.

`--thorough` (or EQA_THOROUGH=1) repeats more: the tests marked `thorough`, and ten times the examples of hypothesis.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.models import make_backend
from eqa_nodes.models.dialect import forget_all
from tests.fixtures.foreign_bags import Scene, StandardCdr
from tests.fixtures.repetition import EXAMPLES

signal.signal(signal.SIGINT, signal.default_int_handler)
SECONDS = {  # what a file takes, about, on two busy cores; all others take less
    "process/test_tutorials.py": 180,
    "ros/system/test_lockstep.py": 125, "ros/system/test_faults.py": 105, "ros/system/test_lifelong.py": 100,
    "ros/system/test_drivers.py": 90, "ros/system/test_queue.py": 89, "ros/system/test_chaos.py": 84,
    "ros/system/test_permission.py": 82, "browser/test_console_graph.py": 72, "process/test_documented.py": 67,
    "ros/system/test_nav2_sim.py": 62, "models/test_perceived_graph.py": 56, "ros/system/test_assistant.py": 55,
    "process/test_bench_workers.py": 55, "ros/system/test_record.py": 51, "ros/system/test_amcl.py": 48,
    "models/test_served_model.py": 46, "ros/system/test_replay.py": 42, "process/test_notebooks.py": 41,
    "process/test_site.py": 40, "process/test_calibrate.py": 37, "ros/system/test_workers.py": 36,
    "ros/nodes/test_doctor_robot.py": 31, "unit/core/mapping/test_stairs.py": 29, "ros/system/test_attached.py": 29,
    "ros/system/test_security_keys.py": 28, "ros/system/test_robot_world.py": 26, "browser/test_human.py": 26,
    "ros/system/test_scanned_scenes.py": 25, "ros/system/test_library.py": 25, "ros/system/test_model_explores.py": 24,
    "process/test_wheel.py": 24, "ros/system/test_cli.py": 22, "ros/system/test_examples.py": 21,
    "browser/test_console.py": 20, "process/test_memory_kills.py": 19,
    "browser/test_hostile_pages.py": 19, "browser/test_console_place.py": 19,
    "unit/core/policies/test_policies_robust.py": 17, "ros/nodes/test_bridge_localised.py": 17,
    "process/test_streaming.py": 17, "unit/sim_bridge/house/test_multi_target.py": 16,
    "unit/core/language/test_targets.py": 16, "ros/system/test_poster.py": 16, "ros/system/test_clarifying.py": 16,
    "ros/nodes/test_security_endpoints.py": 14, "unit/core/storage/test_text_patterns.py": 13,
    "ros/nodes/test_nav2_stopping.py": 12, "process/test_examples.py": 12}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --thorough and --rewrite-pages."""
    parser.addoption("--rewrite-pages", action="store_true", help="write what tutorials and notebooks print into them, "
                     "with their pictures (make pages)")
    parser.addoption("--thorough", action="store_true", default=os.environ.get("EQA_THOROUGH") == "1",
                     help="run the tests marked `thorough` too, and ten times the examples of hypothesis")


def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes run tests: more than there are cores, because tests of graphs mostly wait."""
    return max(1, (os.cpu_count() or 1) * 3 // 2)


def pytest_configure(config: pytest.Config) -> None:
    """Set hypothesis up."""
    examples = EXAMPLES * (10 if config.getoption("thorough") else 1)
    settings.register_profile("eqa", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples)
    settings.load_profile("eqa")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is only run with --thorough; begin with the files that take long."""
    if not config.getoption("thorough"):
        left = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]
    items.sort(key=lambda item: -SECONDS.get(item.nodeid.partition("::")[0].removeprefix("tests/"), 0))


@pytest.fixture(scope="module")
def standard_cdr() -> StandardCdr:
    """Return a serializer of standard messages."""
    return StandardCdr()


@pytest.fixture
def scene(standard_cdr: StandardCdr) -> Scene:
    """Return what another robot recorded."""
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
    """Return a function that makes backends of a model server's URL, which are closed at the end."""
    made = []
    forget_all()  # a port may have been another server's
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
    """Offer the ROS domains 23 to 21 only, whatever other graphs are running; return the name of their reservations."""
    own = f"\0eqa_nodes/test/{os.getpid()}/"
    monkeypatch.setattr("eqa_nodes.ros.environment.DOMAINS", range(23, 20, -1))
    monkeypatch.setattr("eqa_nodes.ros.environment.RESERVATION", own)
    return own
