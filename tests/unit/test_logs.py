"""Tests hear what is logged also beside a ROS distribution, whose launch takes logging over."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.fixtures.logs import LogRecorder, logged
from tests.fixtures.paths import ROOT

TESTS = ROOT / "tests"


class LaunchLogger(logging.Logger):
    """As launch.logging makes it the class of all loggers to come."""

    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.propagate = False


@pytest.fixture
def launch() -> Iterator[logging.Logger]:
    """Do to logging what importing launch does, and return a logger that is made after it."""
    name, before, level = "sim_bridge.made_after_launch", logging.getLoggerClass(), logging.root.level
    logging.setLoggerClass(LaunchLogger)
    logging.root.setLevel(logging.INFO)
    try:
        yield logging.getLogger(name)
    finally:
        logging.setLoggerClass(before)
        logging.root.setLevel(level)
        logging.root.manager.loggerDict.pop(name, None)


def test_what_is_logged_beside_launch_is_heard(launch: logging.Logger) -> None:
    at_root = LogRecorder()
    logging.root.addHandler(at_root)  # as pytest's `caplog` does
    with logged(launch.name) as heard:
        launch.warning("a %s of %d", "loss", 3)
        launch.info("this is below the level")
    launch.warning("after it")
    logging.root.removeHandler(at_root)
    assert heard.text == "a loss of 3" and heard not in launch.handlers
    assert not at_root.records  # which is why no test may wait for them there


def test_no_test_listens_where_launch_lets_nothing_through() -> None:
    """`caplog` is empty beside a ROS distribution, with the pytest (before 9) that comes with it."""
    listening = [file.name for file in TESTS.rglob("*.py") if "caplog" in file.read_text()]
    assert sorted(listening) == ["logs.py", "test_logs.py"]
