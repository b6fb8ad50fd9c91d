"""The Python that is named for Habitat is tried with a deadline."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.core.errors import SimulatorError
from sim_bridge.habitat import session as habitat_devices
from sim_bridge.habitat.session import check_python


@pytest.mark.parametrize(("script", "complaint"), [
    ("exit 1", "has no habitat_sim: name one that has it"), ("sleep 30", "gave no answer within"),
    (None, "is not a program")])
def test_habitats_python_is_tried_with_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None,
                                                  complaint: str) -> None:
    python = tmp_path / "python"
    if script is not None:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
    monkeypatch.setenv("EQA_HABITAT_PYTHON", str(python))
    monkeypatch.setattr(habitat_devices, "_LOOK_DEADLINE_S", 0.5 if script == "sleep 30" else 60.0)
    with pytest.raises(SimulatorError, match=complaint):
        check_python()
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    monkeypatch.setattr(habitat_devices, "_LOOK_DEADLINE_S", 60.0)
    check_python()
