"""What happens to an episode when the Habitat worker dies, hangs, lies, or cannot be started."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from eqa_nodes.core.errors import BadPose, ConfigError, SimulatorError, UnknownScene
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Frame
from eqa_nodes.testing.waiting import gone, until
from sim_bridge.habitat import session as habitat_session
from sim_bridge.habitat import wire
from sim_bridge.habitat.session import GPU, PYTHON, Device, WorkerLost, WorkerProcess, check_python, device_for
from sim_bridge.habitat.simulator import HabitatSimulator
from sim_bridge.simulator import Driving, EpisodeSetup, Viewing
from tests.fixtures import habitat_scans, habitat_tape
from tests.fixtures.logs import logged

SMALL = RobotModel(camera=CameraModel(width=40, height=30))
ACTIONS = (Action.MOVE_FORWARD, Action.TURN_LEFT, Action.MOVE_FORWARD, Action.LOOK_DOWN, Action.MOVE_FORWARD,
           Action.TURN_RIGHT, Action.MOVE_FORWARD)
SCRIPTED = Path(habitat_tape.__file__).with_name("habitat_scripted.py")
real = pytest.mark.skipif(not habitat_tape.REAL, reason=f"needs habitat_sim: set {PYTHON} to a Python that has it")


@pytest.fixture
def scene(tmp_path: Path) -> str:
    """Return a scene whose file looks whole; nobody reads it."""
    (tmp_path / "flat.glb").write_bytes(b"glTF" + (2).to_bytes(4, "little") + (12).to_bytes(4, "little"))
    return f"habitat:{tmp_path / 'flat.glb'}"


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Callable[..., HabitatSimulator]]:
    """Return what opens a simulator over a scripted worker."""
    opened = []

    def open_(**script: object) -> HabitatSimulator:
        text = json.dumps({"file": str(tmp_path / f"starts{len(opened)}"), **script})
        sim = HabitatSimulator(start=partial(WorkerProcess, command=(sys.executable, str(SCRIPTED), text)))
        opened.append(sim)
        return sim

    yield open_
    for sim in opened:
        sim.close()


def test_a_view_from_elsewhere_is_looked_at(scripted: Callable[..., HabitatSimulator], scene: str) -> None:
    sim = scripted()
    own = sim.reset(EpisodeSetup(scene, start=Pose2(1.0, 0.5, 0.0), robot=SMALL)).frame
    assert isinstance(sim, Viewing) and isinstance(sim, Driving)
    far = own.map_from_base._replace(xyz=(3.0, 2.0, 0.4))
    same_place, elsewhere, moved = sim.view(own.map_from_base), sim.view(far), sim.act(Action.MOVE_FORWARD).frame
    assert (same_place.depth_m == own.depth_m).all() and same_place.stamp_ns > own.stamp_ns
    assert elsewhere.map_from_base == far and (elsewhere.depth_m != own.depth_m).any()
    assert moved.pose.distance(own.pose) == pytest.approx(SMALL.move_m)


def run(sim: HabitatSimulator, scene: str, before: Callable[[int], None] = lambda step: None) -> list[Frame]:
    frames = [sim.reset(EpisodeSetup(scene, start=Pose2(1.0, 0.5, 0.0), robot=SMALL)).frame]
    for step, action in enumerate(ACTIONS):
        before(step)
        frames.append(sim.act(action).frame)
    return frames


def same(a: list[Frame], b: list[Frame]) -> bool:
    return len(a) == len(b) and all(
        (p.map_from_base, p.stamp_ns, p.rgb.tobytes(), p.depth_m.tobytes())
        == (q.map_from_base, q.stamp_ns, q.rgb.tobytes(), q.depth_m.tobytes()) for p, q in zip(a, b, strict=True))


def worker_of(sim: HabitatSimulator) -> int:
    worker = sim._session._worker
    assert isinstance(worker, WorkerProcess)
    return worker.pid


@pytest.mark.parametrize(("op", "what"), [("open", "die"), ("snap", "die"), ("floor", "die"), ("walk", "die"),
                                          ("look", "die"), ("walk", "garbage"), ("walk", "hang")])
def test_a_lost_worker_ends_its_episode_and_the_next_reset_starts_another(
        scripted: Callable[..., HabitatSimulator], scene: str, monkeypatch: pytest.MonkeyPatch, op: str, what: str
        ) -> None:
    undisturbed = run(scripted(), scene)
    if what == "hang":
        monkeypatch.setattr(habitat_session, "CALL_S", 3.0)
    sim = scripted(at={op: what})
    if op == "open":  # nothing was driven yet, so it is opened once more
        assert same(run(sim, scene), undisturbed)
        return
    with pytest.raises(WorkerLost, match=f"{op!r}"):
        run(sim, scene)
    with pytest.raises(SimulatorError, match="reset"):
        sim.act(Action.MOVE_FORWARD)
    again = run(sim, scene)
    assert [f.depth_m.tobytes() for f in again] == [f.depth_m.tobytes() for f in undisturbed]


@pytest.mark.parametrize("op", ["open", "walk"])
def test_a_worker_that_always_dies_is_given_up_with_its_last_words(scripted: Callable[..., HabitatSimulator],
                                                                   scene: str, op: str) -> None:
    sim = scripted(at={op: "die"}, starts=100)
    with pytest.raises(SimulatorError, match=f"SIGKILL at '{op}'") as failure:
        run(sim, scene)
    assert "the last words" in str(failure.value)


def test_what_the_worker_refuses_is_no_loss(scripted: Callable[..., HabitatSimulator], scene: str) -> None:
    sim = scripted(at={"open": "refuse"}, starts=1)
    with pytest.raises(SimulatorError, match=r"flat.glb.*cannot open: Scripted: no"):
        run(sim, scene)


def test_a_gpu_that_was_only_found_is_left_for_the_cpu(scripted: Callable[..., HabitatSimulator], scene: str) -> None:
    sim = scripted(at={"open": "gpu"}, starts=100)
    sim._device = Device(0, chosen=False)
    with logged("sim_bridge.habitat.simulator") as heard:
        run(sim, scene)
    assert "GPU 0" in heard.text
    sim = scripted(at={"open": "gpu"}, starts=100)
    sim._device = Device(0, chosen=True)
    with pytest.raises(SimulatorError, match="open"):
        run(sim, scene)


def test_another_protocol_is_named(scripted: Callable[..., HabitatSimulator], scene: str) -> None:
    with pytest.raises(SimulatorError, match="protocol 7"):
        run(scripted(protocol=7), scene)


@pytest.mark.parametrize("library", ["libEGL.so.1", "libOpenGL.so.0"])
def test_missing_libraries_name_the_packages(scripted: Callable[..., HabitatSimulator], scene: str,
                                             library: str) -> None:
    with pytest.raises(SimulatorError, match="libegl1 libopengl0 libgl1-mesa-dri"):
        run(scripted(**{"import": f"ImportError: {library}: cannot open shared object file"}), scene)


def test_a_python_without_habitat_is_named(scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON, "/no/such/python")
    with pytest.raises(SimulatorError, match="/no/such/python"):
        HabitatSimulator().reset(EpisodeSetup(scene))
    if importlib.util.find_spec("habitat_sim") is not None:
        pytest.skip("this Python has habitat_sim")
    monkeypatch.setenv(PYTHON, sys.executable)
    with pytest.raises(SimulatorError, match=r"habitat_sim.*--habitat-python"):
        HabitatSimulator().reset(EpisodeSetup(scene))
    monkeypatch.delenv(PYTHON)
    with pytest.raises(SimulatorError, match=PYTHON):
        HabitatSimulator().reset(EpisodeSetup(scene))
    monkeypatch.setenv(PYTHON, "false")  # a program that is no Python
    with pytest.raises(SimulatorError, match="code 1"):
        HabitatSimulator().reset(EpisodeSetup(scene))


def test_a_scene_that_is_not_there_or_cut_off_is_named(tmp_path: Path) -> None:
    sim = HabitatSimulator(tmp_path)
    with pytest.raises(UnknownScene, match="hm3d/00001"):
        sim.reset(EpisodeSetup("habitat:hm3d/00001-Nowhere"))
    (tmp_path / "cut.glb").write_bytes(b"glTF" + (2).to_bytes(4, "little") + (1000).to_bytes(4, "little"))
    with pytest.raises(SimulatorError, match=r"cut.glb.*12 of 1000 bytes"):
        sim.reset(EpisodeSetup(f"habitat:{tmp_path / 'cut.glb'}"))


def test_nothing_is_left_behind(scripted: Callable[..., HabitatSimulator], scene: str) -> None:
    def belongings() -> tuple[set[str], int]:
        return set(os.listdir("/dev/shm")), len(os.listdir("/proc/self/fd"))

    run(scripted(), scene)  # what Python itself opens once
    shared, descriptors = belongings()
    sim = scripted()
    run(sim, scene)
    pid = worker_of(sim)
    os.kill(pid, signal.SIGKILL)
    run(sim, scene)
    pids = [pid, worker_of(sim)]
    sim.close()
    sim.close()
    until(lambda: all(map(gone, pids)))
    now = belongings()
    assert now[1] == descriptors
    assert not {name for name in now[0] - shared if "eqa" in name or "habitat" in name}


def test_the_worker_ends_with_a_parent_that_is_killed(tmp_path: Path, scene: str) -> None:
    script = json.dumps({"file": str(tmp_path / "starts"), "at": {"walk": "hang"}})
    code = f"""
from functools import partial
from sim_bridge.habitat.simulator import HabitatSimulator
from sim_bridge.habitat.session import WorkerLost, WorkerProcess
from sim_bridge.simulator import EpisodeSetup
from eqa_nodes.core.types.floor import Action
sim = HabitatSimulator(start=partial(WorkerProcess, command=({sys.executable!r}, {str(SCRIPTED)!r}, {script!r})))
sim.reset(EpisodeSetup({scene!r}))
print(sim._session._worker.pid, flush=True)
sim.act(Action.MOVE_FORWARD)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: gone(pid))


@pytest.mark.parametrize(("setting", "worker", "device"), [
    ("cpu", 0, Device(-1, True)), ("1", 0, Device(1, True)), ("0,1", 1, Device(1, True)), ("0, 1", 2, Device(0, True))])
def test_gpus_are_taken_in_turn(monkeypatch: pytest.MonkeyPatch, setting: str, worker: int, device: Device) -> None:
    monkeypatch.setenv(GPU, setting)
    assert device_for(worker) == device
    monkeypatch.setenv("EQA_WORKER", str(worker))
    assert device_for() == device


def test_a_gpu_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(GPU, "fast")
    with pytest.raises(ConfigError, match="fast"):
        device_for()


@real
def test_real_files_that_are_odd_are_named(tmp_path: Path) -> None:
    import trimesh

    whole = next(habitat_scans.scans().glob("hm3d/val/*/*.glb")).read_bytes()
    (tmp_path / "garbled.glb").write_bytes(whole[:2000] + bytes(60_000) + whole[62_000:])
    trimesh.Scene(trimesh.creation.box((4, 3, 0.01))).export(tmp_path / "wall.glb")
    (tmp_path / "house.glb").write_bytes(whole)
    (tmp_path / "house.navmesh").write_bytes(b"no mesh" * 20)
    sim = HabitatSimulator()
    with pytest.raises(SimulatorError, match="has no floor|up axis point up"):  # 0.3.3 dies of it, others tell
        sim.reset(EpisodeSetup(f"habitat:{tmp_path / 'wall.glb'}"))
    with pytest.raises(SimulatorError, match="garbled.glb"):
        sim.reset(EpisodeSetup(f"habitat:{tmp_path / 'garbled.glb'}"))
    with pytest.raises(BadPose, match="fits nowhere"):
        sim.reset(EpisodeSetup(f"habitat:{tmp_path / 'house.glb'}", robot=RobotModel(radius_m=4.0)))
    assert sim.reset(EpisodeSetup(f"habitat:{tmp_path / 'house.glb'}")).frame.depth_m.max() > 0  # without that mesh
    sim.close()


@pytest.mark.parametrize(("script", "complaint"), [
    ("exit 1", "has no habitat_sim: name one that has it"), ("sleep 30", "gave no answer within"),
    (None, "is not a program")])
def test_habitats_python_is_tried_with_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None,
                                                  complaint: str) -> None:
    python = tmp_path / "python"
    if script is not None:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
    monkeypatch.setenv(PYTHON, str(python))
    monkeypatch.setattr(habitat_session, "_LOOK_DEADLINE_S", 0.5 if script == "sleep 30" else 60.0)
    with pytest.raises(SimulatorError, match=complaint):
        check_python()
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    monkeypatch.setattr(habitat_session, "_LOOK_DEADLINE_S", 60.0)
    check_python()


def test_a_process_ends_with_its_life_line_whatever_it_does() -> None:
    code = (f"import sys; sys.path.insert(0, {str(Path(wire.__file__).parent)!r}); import ctypes, wire\n"
            "wire.end_with(int(sys.argv[1])); print('ready', flush=True)\n"
            "ctypes.PyDLL(None).sleep(600)")  # holds Python's lock, as a call into a simulator does
    reading, writing = os.pipe()
    child = subprocess.Popen([sys.executable, "-c", code, str(reading)], pass_fds=[reading], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    assert child.poll() is None
    os.close(writing)
    assert child.wait(60.0) == -signal.SIGIO
    late = subprocess.run([sys.executable, "-c", code, str(reading)], pass_fds=[reading], timeout=60.0)
    assert late.returncode != 0  # it was closed before
    os.close(reading)
    child.stdout.close()
