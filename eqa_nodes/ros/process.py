"""Nodes in this process, an executor thread each: how they begin, and how they end in order."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions

from eqa_nodes.core.errors import EqaError
from eqa_nodes.ros.environment import CLOSED, END_S, POLL_S, READY, STOP_DEADLINE_S, use_small_segment
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode, executor_of
from eqa_nodes.ros.run import end_with_launch
from eqa_nodes.ros.spinning import spin
from eqa_nodes.wire.graph import ACTIONS, NODES, SERVICES, TOPICS

IMAGE = "sensor_msgs/msg/Image"
QUIET_S = 0.5  # to confirm what peers say that end at the same moment: who dies while writing holds them up for seconds
JOIN_S = 1.0  # for callbacks that run


def run(makers: Sequence[Callable[[], EqaNode]], wait: Callable[[], object], args: list[str] | None = None, *,
        together: Callable[[], object] | None = None) -> int:
    """Run nodes until `wait` returns. Returns 2, after one clear line, when one cannot begin; else ends the process.

    They let go of what they do while ROS still lives, so that a drive is called off; then files are closed, and others
    are told that they go. together: the whole graph ends with them, so nobody is told; this waits until all may go.
    """
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        nodes = [make() for make in makers]
        for node in nodes:
            if node.config.node.autostart:
                node.bring_up()
    except EqaError as error:
        print(f"eqa: {error}", flush=True)
        rclpy.try_shutdown()
        return 2
    ending = threading.Event()
    executors = [executor_of(node) for node in nodes]
    threads = [threading.Thread(target=_spin_or_die, args=(executor, ending), daemon=True) for executor in executors]
    for thread in threads:
        thread.start()
    wait()
    ending.set()
    _end(nodes, executors, threads)
    if together is None:
        _leave(nodes)
    else:
        together()
    sys.stdout.flush()
    os._exit(0)  # threads of an executor may wait for an answer that never comes; Python would wait for them


def run_node(make: Callable[[], EqaNode], args: list[str] | None = None) -> int:
    """Run one node until SIGINT or SIGTERM."""
    return run([make], until_signal(), args)


def until_signal() -> Callable[[], object]:
    """Return what waits for SIGINT or SIGTERM; a second one must not tear a bag that is being ended."""
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    end_with_launch()
    return asked.wait


def _end(nodes: Sequence[EqaNode], executors: Sequence[Any], threads: Sequence[threading.Thread]) -> None:
    threading.Timer(END_S, os._exit, (1,)).start()  # whatever hangs
    for node in nodes:
        node.halt()
    _invalidate(rclpy.get_default_context())
    for executor in executors:
        executor.wake()
    end = time.monotonic() + JOIN_S
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    for node in nodes:
        node.close()


def _leave(nodes: Sequence[EqaNode]) -> None:
    for node in nodes:
        node.destroy_node()
    time.sleep(QUIET_S)


def _invalidate(context: Any) -> None:
    """End all that waits, and nothing else: rclpy's own shutdown also destroys nodes and publishers.

    That writes to peers, and one that dies meanwhile, holding a lock in shared memory, holds up the rest for seconds.
    """
    with context.handle:
        context.handle.shutdown()


def _spin_or_die(executor: Any, ending: threading.Event) -> None:
    """Spin; a node whose executor fails must not linger as a process that answers nobody."""
    try:
        spin(executor)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        if not ending.is_set():  # else it failed for want of what the end has closed
            os._exit(3)


def node_class(name: str) -> Any:
    """Return the class of a node of the graph."""
    module, _, cls = NODES[name].target.partition(":")
    return getattr(import_module(module), cls)


def prepare(name: str) -> None:
    """Import what a node needs. Type support of messages is part of that: rosidl's parser takes 0.2 s and 30 MB."""
    node_class(name)
    spec = NODES[name]
    ports = [TOPICS[key].type for key in (*spec.publishes, *spec.subscribes, *spec.apart, *spec.frames)]
    ports += [(SERVICES.get(key) or ACTIONS[key]).type for key in (*spec.serves, *spec.calls)]
    for type_name in ports:
        type(interface(type_name)).__import_type_support__()
    if kernels := sys.modules.get("eqa_nodes.core.kernels"):
        kernels.start_compiler()


def run_nodes(names: Sequence[str], params: Path) -> int:
    """Run nodes in this process until standard input closes. Returns the exit code of one that cannot begin."""
    if not any(TOPICS[key].type == IMAGE for name in names for key in NODES[name].publishes):
        use_small_segment()
    parent, by_hand = os.getppid(), False

    def together() -> None:
        """Wait for the end of the others: the parent kills all at one moment, if it lives."""
        print(CLOSED, flush=True)
        end = time.monotonic() + STOP_DEADLINE_S
        while os.getppid() == parent and not by_hand and time.monotonic() < end:
            time.sleep(POLL_S)

    def wait() -> None:
        nonlocal by_hand
        print(READY, flush=True)
        try:
            sys.stdin.read()  # until the parent closes it, or dies
        except KeyboardInterrupt:
            by_hand = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    return run([node_class(name) for name in names], wait, ["--ros-args", "--params-file", str(params)],
               together=together)
