"""The executables of the nodes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from eqa_nodes import __version__
from tests.fixtures.paths import ROOT


def test_executable_runs_the_node_it_is_named_after(tmp_path: Path) -> None:
    """The wrapper is copied into a made-up environment, as pip and colcon do, whose Python tells what it was asked."""
    environment, script = tmp_path / "bin", tmp_path / "lib" / "eqa_nodes" / "bridge"
    package = tmp_path / "eqa_nodes" / "wire"
    for folder in (environment, script.parent, package):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "resource" / "node", script)
    (environment / "python").symlink_to(sys.executable)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    (package / "graph.py").write_text(
        "from types import SimpleNamespace\nNODES = {'bridge': SimpleNamespace(target='fake_bridge:Node')}\n")
    (tmp_path / "fake_bridge.py").write_text("import sys\ndef main():\n    print(sys.argv)\n    return 3\n")
    done = subprocess.run([script, "--ros-args"], capture_output=True, text=True, timeout=60, cwd="/",
                          env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=False)
    assert done.stdout.strip() == "['bridge', '--ros-args']", done.stderr
    assert done.returncode == 3


def test_the_citation_names_the_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["version"], cited["license"]) == (__version__, "Apache-2.0")
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
