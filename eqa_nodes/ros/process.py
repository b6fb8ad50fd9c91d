"""Runs nodes in this process, with one executor thread each, and ends them in order."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
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
QUIET_S = 0.5  # time to acknowledge peers that end simultaneously: a process that dies while writing blocks them
OF_EVERY_NODE = ("lifecycle_msgs/srv/ChangeState", "type_description_interfaces/srv/GetTypeDescription")
JOIN_S = 1.0  # deadline for running callbacks to end


def run(makers: Sequence[Callable[[], EqaNode]], wait: Callable[[], object], args: list[str] | None = None, *,
        together: Callable[[], object] | None = None) -> int:
    """Run nodes until `wait` returns. Prints an error and returns 2 if one cannot start; else ends the process.

    Nodes are deactivated while ROS is still running, so that a drive is cancelled; then files are closed, and the nodes
    are destroyed. together: the whole graph ends, so nodes are not destroyed; it returns when the process may exit.
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
    with suppress(KeyboardInterrupt):  # which may come as soon as a node works, before `wait` is reached
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
    os._exit(0)  # executor threads may wait for an answer that never arrives; Python would wait for them


def run_node(make: Callable[[], EqaNode], args: list[str] | None = None) -> int:
    """Run one node until SIGINT or SIGTERM."""
    return run([make], until_signal(), args)


def until_signal() -> Callable[[], object]:
    """Return a function that waits for SIGINT or SIGTERM. A second signal does not interrupt the closing of a bag."""
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    end_with_launch()
    return asked.wait


def _end(nodes: Sequence[EqaNode], executors: Sequence[Any], threads: Sequence[threading.Thread]) -> None:
    threading.Timer(END_S, os._exit, (1,)).start()  # exit even if something hangs
    for node in nodes:
        node.halt()
    _invalidate(rclpy.get_default_context())
    for executor in executors:
        executor.wake()
    end = time.monotonic() + JOIN_S
    for thread in threads:
        if thread.is_alive():
            thread.join(max(0.0, end - time.monotonic()))
    for node in nodes:
        node.close()


def _leave(nodes: Sequence[EqaNode]) -> None:
    for node in nodes:
        node.destroy_node()
    time.sleep(QUIET_S)


def _invalidate(context: Any) -> None:
    """End all waits and nothing else: rclpy's own shutdown also destroys nodes and publishers.

    Destruction writes to peers; a peer that dies meanwhile with a shared-memory lock blocks the others for seconds.
    """
    with context.handle:
        context.handle.shutdown()


def _spin_or_die(executor: Any, ending: threading.Event) -> None:
    """Spin; end the process if the executor fails, since its node would no longer answer."""
    try:
        spin(executor)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        if not ending.is_set():  # otherwise it failed because of the shutdown
            os._exit(3)


def node_class(name: str) -> Any:
    """Return the class of a node of the graph."""
    module, _, cls = NODES[name].target.partition(":")
    return getattr(import_module(module), cls)


def prepare(name: str) -> None:
    """Import a node's modules and the type support of its messages: rosidl's parser takes 0.2 s and 30 MB."""
    node_class(name)
    spec = NODES[name]
    ports = [TOPICS[key].type for key in (*spec.publishes, *spec.subscribes, *spec.apart, *spec.frames)]
    ports += [(SERVICES.get(key) or ACTIONS[key]).type for key in (*spec.serves, *spec.calls)]
    for type_name in (*ports, *OF_EVERY_NODE):
        type(interface(type_name)).__import_type_support__()
    if kernels := sys.modules.get("eqa_nodes.core.kernels"):
        kernels.start_compiler()


def run_nodes(names: Sequence[str], params: Path) -> int:
    """Run nodes in this process until standard input closes. Returns the exit code if one cannot start."""
    if not any(TOPICS[key].type == IMAGE for name in names for key in NODES[name].publishes):
        use_small_segment()
    parent, by_hand = os.getppid(), False

    def together() -> None:
        """Wait for the other processes: the parent, if alive, kills all of them at the same time."""
        print(CLOSED, flush=True)
        end = time.monotonic() + STOP_DEADLINE_S
        while os.getppid() == parent and not by_hand and time.monotonic() < end:
            time.sleep(POLL_S)

    def interrupt(*_: object) -> None:
        nonlocal by_hand
        by_hand = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    def wait() -> None:
        print(READY, flush=True)
        sys.stdin.read()  # until the parent closes it, or dies
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
        signal.signal(signal.SIGINT, interrupt)
    return run([node_class(name) for name in names], wait, ["--ros-args", "--params-file", str(params)],
               together=together)
