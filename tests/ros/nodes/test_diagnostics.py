"""What nodes say of themselves on /diagnostics."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.types.questions import Question
from eqa_nodes.nodes.answerer import AnswererNode
from eqa_nodes.nodes.mapper import MapperNode
from eqa_nodes.ros import convert, diagnostics
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.node import REASONS
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.wire.graph import TOPICS

WAIT_S = 40.0
PERIOD_S, WINDOW_S = 0.25, 1.5  # in these tests, so that nobody waits for the real ones


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("diagnostics.PERIOD_S", PERIOD_S), ("diagnostics.WINDOW_S", WINDOW_S),
                          ("rates.WINDOW_S", WINDOW_S)):
        monkeypatch.setattr(f"eqa_nodes.ros.{name}", seconds)


class Listener:
    """Hears /diagnostics, and publishes depth as a camera on the wall's clock would."""

    def __init__(self, ros: Any) -> None:
        self.node = ros.plain("listener")
        self.newest: dict[str, DiagnosticStatus] = {}
        self._heard = threading.Condition()
        self.node.create_subscription(DiagnosticArray, TOPICS["diagnostics"].name, self._on_array, qos("event"))
        topic = TOPICS["camera_info"]
        self._out = self.node.create_publisher(interface(topic.type), topic.name, qos(topic.qos))
        self.showing = True
        self.node.create_timer(0.1, self._show)

    def _show(self) -> None:
        if self.showing:
            self._out.publish(interface(TOPICS["camera_info"].type)(header=convert.header(time.time_ns())))

    def _on_array(self, array: DiagnosticArray) -> None:
        with self._heard:
            self.newest |= {status.name: status for status in array.status}
            self._heard.notify_all()

    def wait(self, name: str, meets: Callable[[DiagnosticStatus], bool]) -> dict[str, str]:
        """Return the values of a status once it is as wanted."""
        with self._heard:
            assert self._heard.wait_for(lambda: name in self.newest and meets(self.newest[name]), WAIT_S), \
                f"{name}: {self.newest.get(name)}"
            return {value.key: value.value for value in self.newest[name].values}


@pytest.fixture
def listener(ros: Any) -> Listener:
    return Listener(ros)


def test_a_silent_camera_is_stale_and_comes_back(ros: Any, listener: Listener) -> None:
    ros.add(MapperNode, node__min_rate_hz=2.0)
    name = f"mapper: {TOPICS['camera_info'].name}"
    values = listener.wait(name, lambda s: s.level == DiagnosticStatus.OK)
    assert float(values["rate [Hz]"]) >= 2.0 and -1.0 < float(values["age, median [s]"]) < WAIT_S
    assert listener.newest[name].hardware_id == "eqa"
    listener.showing = False
    listener.wait(name, lambda s: s.level == DiagnosticStatus.STALE and s.message.startswith("no message for"))
    listener.showing = True
    listener.wait(name, lambda s: s.level == DiagnosticStatus.OK)
    depth = listener.newest[f"mapper: {TOPICS['depth'].name}"]
    assert (depth.level, depth.message) == (DiagnosticStatus.STALE, "no message yet")


def test_old_stamps_are_an_error_where_they_are_judged(ros: Any, listener: Listener) -> None:
    ros.add(MapperNode, node__max_age_s=1e-9)
    listener.wait(f"mapper: {TOPICS['camera_info'].name}", lambda s: s.level == DiagnosticStatus.ERROR)


def test_refusals_queues_and_the_process_are_told(ros: Any, listener: Listener) -> None:
    node = ros.add(MapperNode)
    node.count("observation from the past")
    assert listener.wait("mapper: refusals", lambda s: s.level == DiagnosticStatus.WARN) == {
        "observation from the past": "1"}
    listener.wait("mapper: refusals", lambda s: s.level == DiagnosticStatus.OK and s.message == "none lately")
    assert listener.wait("mapper: queues", lambda s: True) == {"observations that wait for a part": "0"}
    values = listener.wait("mapper: executor", lambda s: True)
    assert float(values["resident memory [MB]"]) > 10.0 and float(values["process CPU [cores]"]) >= 0.0
    for k in range(3 * REASONS):  # reasons may contain numbers
        node.count(f"transform {k} is not finite")
    assert len(node.counts) == REASONS + 1 and node.counts.total() == 3 * REASONS + 1
    node.diagnostics.clear()
    node.diagnostics.gauge("mail", lambda: 7, limit=7)
    full = listener.wait("mapper: queues", lambda s: s.level == DiagnosticStatus.WARN and s.message == "full: mail")
    assert full == {"mail": "7"}
    listener.newest.clear()
    listener.wait("mapper: queues", lambda s: True)
    assert set(listener.newest) == {"mapper: executor", "mapper: refusals", "mapper: queues", "mapper: clock"}


def test_a_distribution_that_passes_the_message_alone_is_heard_too(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "INFORMS", False)
    heard: list[Any] = []
    node = ros.add(MapperNode)
    message = interface(TOPICS["camera_info"].type)()
    node.diagnostics.watched(TOPICS["camera_info"], heard.append, False)(message)
    assert heard == [message] and node.diagnostics.received(TOPICS["camera_info"].name) == 1


def test_a_callback_that_holds_all_others_up_is_told(ros: Any, listener: Listener) -> None:
    node = ros.add(MapperNode)
    listener.wait("mapper: executor", lambda s: s.level == DiagnosticStatus.OK)
    node.create_timer(0.01, lambda: time.sleep(1.5))  # longer than a report may be late
    values = listener.wait("mapper: executor", lambda s: s.level == DiagnosticStatus.WARN)
    assert float(values["held up [s]"]) > 1.0


def test_the_health_of_the_answerer_is_that_of_its_last_call(ros: Any, listener: Listener,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    node = ros.add(AnswererNode)
    listener.wait("answerer: model", lambda s: s.message == "not called yet")
    ask = Remotes(listener.node).service("rank_regions")
    monkeypatch.setattr(node.answerer, "regions", _failing)
    question = convert.question_msg(Question("Where is the cup?"))
    assert ask.exchange(WAIT_S, question=question).error_message == "timed out: no reply"
    values = listener.wait("answerer: model", lambda s: s.level == DiagnosticStatus.ERROR)
    assert (values["calls"], values["failures"], values["last error"]) == ("1", "1", "timed out: no reply")
    monkeypatch.undo()
    ask.call(WAIT_S, question=question)
    values = listener.wait("answerer: model", lambda s: s.level == DiagnosticStatus.OK)
    assert (values["calls"], values["failures"], values["last error"]) == ("2", "1", "timed out: no reply")


def _failing(question: Any) -> None:
    raise ModelError("timed out: no reply")
