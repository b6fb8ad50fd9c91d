"""What a ROS process needs around it. No ROS is started here."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest

from eqa_nodes.core.errors import EqaError, MissingExtra
from eqa_nodes.ros import environment
from eqa_nodes.ros.environment import (
    clean_shared_memory,
    ensure_ros,
    free_domain,
    held_in_shared_memory,
    launch_variables,
    ros_environment,
)


def test_environment_is_text_and_keeps_the_users_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FASTDDS_DEFAULT_PROFILES_FILE", raising=False)
    values = ros_environment(7, tmp_path)
    assert values["ROS_DOMAIN_ID"] == "7" and values["ROS_LOG_DIR"] == str(tmp_path)
    assert all(isinstance(value, str) for value in values.values())
    assert ElementTree.parse(values["FASTDDS_DEFAULT_PROFILES_FILE"]).getroot().tag.endswith("dds")
    monkeypatch.setenv("FASTDDS_DEFAULT_PROFILES_FILE", "/mine.xml")
    assert ros_environment(7, tmp_path)["FASTDDS_DEFAULT_PROFILES_FILE"] == "/mine.xml"


@pytest.mark.parametrize(("variables", "reach"), [
    ({}, "SYSTEM_DEFAULT"), ({"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp"}, "SYSTEM_DEFAULT"),
    ({"FASTDDS_DEFAULT_PROFILES_FILE": str(environment.SMALL_PROFILE)}, "SYSTEM_DEFAULT"),
    ({"FASTDDS_DEFAULT_PROFILES_FILE": "/mine.xml"}, "LOCALHOST"), ({"ROS_STATIC_PEERS": "10.0.0.2"}, "LOCALHOST"),
    ({"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}, "LOCALHOST")])
def test_discovery_stays_on_this_machine(variables: dict[str, str], reach: str, monkeypatch: pytest.MonkeyPatch,
                                         tmp_path: Path) -> None:
    """Our profile is loopback and shared memory; what it does not apply to, ROS must keep here."""
    for name in ("RMW_IMPLEMENTATION", "FASTDDS_DEFAULT_PROFILES_FILE", "ROS_STATIC_PEERS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    values = ros_environment(7, tmp_path)
    assert values["ROS_AUTOMATIC_DISCOVERY_RANGE"] == reach
    profile = ElementTree.parse(environment.PROFILE).getroot()
    assert {e.text for e in profile.findall(".//{*}transport_descriptor/{*}type")} == {"SHM", "UDPv4"}
    assert [e.text for e in profile.findall(".//{*}address")] == ["127.0.0.1", "127.0.0.1"]  # white list and peers


@pytest.mark.parametrize(("reach", "everywhere"), [("", True), ("SUBNET", True), ("LOCALHOST", False)])
def test_other_machines_hear_what_a_launch_file_starts(reach: str, everywhere: bool,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_wheels_environment", lambda: dict.fromkeys(environment.WHEELS, "1"))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", reach)
    monkeypatch.delenv("FASTDDS_DEFAULT_PROFILES_FILE", raising=False)
    profile = ElementTree.parse(launch_variables()["FASTDDS_DEFAULT_PROFILES_FILE"]).getroot()
    assert (profile.find(".//{*}interfaceWhiteList") is None) == everywhere
    monkeypatch.setenv("FASTDDS_DEFAULT_PROFILES_FILE", "/mine.xml")
    assert launch_variables()["FASTDDS_DEFAULT_PROFILES_FILE"] == "/mine.xml"


def test_libraries_of_wheels_come_first_in_a_fixed_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ros_b.libs", "ros_a.libs", "numpy.libs"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(environment.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/mine:{tmp_path / 'ros_a.libs'}")
    values = ros_environment(7, tmp_path)
    assert values["LD_LIBRARY_PATH"].split(":") == [
        f"{sys.prefix}/lib", f"{tmp_path}/ros_a.libs", f"{tmp_path}/ros_b.libs", "/mine"]
    assert values["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] == "1"


def test_a_distribution_keeps_its_library_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    assert "LD_LIBRARY_PATH" not in ros_environment(7, tmp_path)


def test_what_is_missing_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install 'eqa-nodes\\[ros\\]'"):
        ensure_ros()
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: name == "rclpy" or None)
    with pytest.raises(EqaError, match="eqa_interfaces.*make setup"):
        ensure_ros()


def test_domains_side_by_side_differ_and_are_free_again(three_domains: str) -> None:
    with free_domain() as first, free_domain() as second:
        assert (first, second) == (23, 22)
    with free_domain() as again:
        assert again == 23


@pytest.mark.parametrize("participant_id", [0, 7])  # 7: those before it have left
def test_a_domain_in_which_somebody_speaks_is_avoided(three_domains: str, participant_id: int) -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as participant:
        participant.bind(("127.0.0.1", 7400 + 250 * 23 + 10 + 2 * participant_id))
        with free_domain() as other:
            assert other == 22


def test_what_this_process_has_left_is_collected_when_no_domain_is_left(three_domains: str) -> None:
    class Left:  # as rclpy's nodes and contexts: only the garbage collector takes it away
        def __init__(self) -> None:
            self.itself, self.participant = self, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.participant.bind(("127.0.0.1", 7400 + 250 * 21 + 10))

    with free_domain(), free_domain():
        Left()
        with free_domain() as collected:
            assert collected == 21


def test_no_domain_left_says_so(three_domains: str) -> None:
    with free_domain(), free_domain(), free_domain(), pytest.raises(EqaError, match="21 to 23 are in use"):
        free_domain().__enter__()


def shared_memory_of(folder: Path, name: str) -> list[str]:
    names = [name, f"{name}_el", f"sem.{name}_mutex"]
    for each in names:
        (folder / each).touch()
    return names


def test_only_abandoned_shared_memory_is_removed(tmp_path: Path) -> None:
    dead = shared_memory_of(tmp_path, "fastdds_0123456789abcdef") + shared_memory_of(tmp_path, "fastdds_port7411")
    alive = shared_memory_of(tmp_path, "fastdds_fedcba9876543210")
    others = shared_memory_of(tmp_path, "pulse-shm-1")
    with (tmp_path / alive[1]).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert clean_shared_memory(tmp_path, older_than_s=10) == []
        assert sorted(clean_shared_memory(tmp_path, older_than_s=0)) == sorted(dead)
    assert sorted(os.listdir(tmp_path)) == sorted(alive + others)


def test_what_a_process_held_can_be_removed_alone(tmp_path: Path) -> None:
    ours, other = (shared_memory_of(tmp_path, f"fastdds_0123456789abcde{k}") for k in "12")
    with (tmp_path / ours[1]).open(), (tmp_path / ours[0]).open():
        held = held_in_shared_memory(os.getpid(), tmp_path)
    assert held == {ours[1]} and not held_in_shared_memory(os.getpid(), tmp_path)
    assert sorted(clean_shared_memory(tmp_path, older_than_s=0, held=held)) == sorted(ours)
    assert sorted(os.listdir(tmp_path)) == sorted(other)


def test_shared_memory_of_others_is_left_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared_memory_of(tmp_path, "fastdds_0123456789abcdef")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert clean_shared_memory(tmp_path, older_than_s=0) == []


def test_whoever_takes_a_domain_removes_what_the_dead_left(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(environment, "clean_shared_memory", lambda: asked.append("cleaned"))
    with free_domain():
        assert asked == ["cleaned"]


def test_no_shared_memory_folder_is_nothing_to_clean(tmp_path: Path) -> None:
    assert clean_shared_memory(tmp_path / "absent") == []


@pytest.mark.parametrize("name", ["fastdds", "fastdds_network", "fastdds_small"])
def test_profiles_keep_participants_from_looking_up_types(name: str) -> None:
    """Fast DDS's default fills the network of a graph with Nav2."""
    root = ElementTree.parse(Path(environment.__file__).with_name(f"{name}.xml")).getroot()
    properties = {e.findtext("{*}name"): e.findtext("{*}value") for e in root.iterfind(".//{*}property")}
    assert properties["fastdds.type_propagation"] == "disabled"
    assert properties.get("fastdds.shm.enforce_metatraffic") == (None if "network" in name else "unicast")
