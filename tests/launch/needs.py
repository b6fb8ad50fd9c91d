"""Tests that need launch skip themselves where it is absent, with the remedy as the reason."""

from __future__ import annotations

import pytest


def need_launch() -> None:
    """Skip the calling module where launch or the interfaces are missing; call it before importing either.

    launch comes with a ROS distribution, not from PyPI. The bare name would find the checkout's folder of launch files.
    """
    for module in ("launch.actions", "launch_ros.actions", "launch_testing.actions", "eqa_interfaces.action"):
        package = module.split(".")[0]
        pytest.importorskip(module, reason=f"{package} is missing: source a ROS distribution that has it")
