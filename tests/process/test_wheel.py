"""A source distribution and a wheel are built, installed into a fresh environment, and used away from the checkout."""

from __future__ import annotations

import configparser
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import eqa_nodes
from tests.fixtures.paths import ROOT

SOURCES = ("eqa_nodes", "sim_bridge", "launch", "resource", "setup.py", "setup.cfg", "pyproject.toml", "package.xml",
           "README.md", "LICENSE")
NOT_SHIPPED = ("__pycache__", "*.pyc", "*.egg-info", "*.nbi", "*.nbc")
BUILD = ("build", "wheel")
INSIDE = """
import json, sys
from importlib import metadata, resources
import eqa_nodes
from eqa_nodes.core.components import HISTORIES
print(json.dumps({"file": eqa_nodes.__file__, "version": metadata.version("eqa-nodes"), "prefix": sys.prefix,
                  "page": len(resources.files("eqa_nodes.console").joinpath("page/index.html").read_text()),
                  "histories": [f"{name}: {HISTORIES.traits(name).looks_like}" for name in HISTORIES]}))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built of it alone."""
    if missing := [name for name in BUILD if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} not installed: pip install 'eqa-nodes[dev]'")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in SOURCES:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns(*NOT_SHIPPED))
        else:
            shutil.copy(path, source / name)
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)], source)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; its dependencies are those of this one."""
    folder = tmp_path_factory.mktemp("fresh") / "env"
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], folder.parent)
    _run([sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--no-deps", "--no-index",
          "--no-compile", str(built[1])], folder.parent)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return folder


def _run(command: list[str], folder: Path, check: bool = True) -> str:
    """Run away from the checkout, without its path, and return what was printed."""
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONHOME")}
    if command[0] != sys.executable:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280,
                          check=False)
    assert not check or done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def _metadata(section: str) -> dict[str, list[str]]:
    """What a section of setup.cfg lists, by key."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return {key: value.split("\n") for key, value in config[section].items()}


def test_every_file_beside_the_code_is_in_the_wheel(installed: Path) -> None:
    """Prompts, page assets, templates, calibrations, launch files, parameter files: whatever a folder holds."""
    site = next(installed.glob("lib/python*/site-packages"))
    ignored = shutil.ignore_patterns(*NOT_SHIPPED, "*.md", "LICENSE*")
    for package in ("eqa_nodes", "sim_bridge"):
        for folder, _, files in os.walk(ROOT / package):
            left_out = ignored(folder, files)
            at = Path(folder).relative_to(ROOT)
            if "__pycache__" not in at.parts:
                missing = [name for name in files if name not in left_out and not (site / at / name).is_file()]
                assert not missing, f"{at}: {missing} are not in the wheel: [options.package_data] of setup.cfg"
    patterns = [pattern for listed in _metadata("options.data_files").values() for pattern in listed if pattern]
    shared = [path for pattern in patterns for path in ROOT.glob(pattern)]
    names = {path.name for path in [*installed.glob("share/**/*"), *installed.glob("lib/eqa_nodes/*")]}
    assert len(shared) > 20 and {path.name for path in shared} <= names
    assert all(os.access(path, os.X_OK) for path in (installed / "lib" / "eqa_nodes").iterdir())
    assert not [p for p in site.glob("*") if p.name in ("tests", "benchmarks", "launch", "docs")]


def test_it_runs_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    said = json.loads(_run([str(installed / "bin" / "python"), "-c", INSIDE], tmp_path))
    assert Path(said["file"]).is_relative_to(installed) and said["version"] == eqa_nodes.__version__
    assert said["page"] > 1000 and any("rtabmap" in line for line in said["histories"])
    eqa = str(installed / "bin" / "eqa")
    assert eqa_nodes.__version__ in _run([eqa, "--version"], tmp_path)
    assert "bridge" in _run([eqa, "graph"], tmp_path)
    _run([eqa, "graph", "--check", str(installed / "share" / "eqa_nodes" / "launch" / "params" / "sim.yaml")], tmp_path)
    answered = _run([eqa, "ask", "Is there a plant?", "--scene", "toy:flat", "--through", "process", "--out",
                     str(tmp_path / "run"), "--max-steps", "5"], tmp_path, check=False)
    assert (tmp_path / "run" / "report.html").stat().st_size > 1000, answered
