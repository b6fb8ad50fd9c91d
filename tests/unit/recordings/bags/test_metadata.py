"""metadata.yaml as `ros2 bag info` and `ros2 bag play` of Kilted decode it.

The fields, their types and the names of policies are those of rosbag2_storage (include/rosbag2_storage/yaml.hpp,
src/rosbag2_storage/qos.cpp) and of rmw's rmw_qos_*_policy_from_str. A field that is missing there raises in the tool.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcap.reader import make_reader

from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.recordings.bags.writer import BagTopic, BagWriter, Qos
from tests.fixtures.bags import SECOND, TYPES, Cdr, needs_messages, topics_of

pytestmark = needs_messages

POLICIES = {"history": {"keep_last", "keep_all", "system_default"},
            "reliability": {"reliable", "best_effort", "system_default", "best_available"},
            "durability": {"transient_local", "volatile", "system_default", "best_available"},
            "liveliness": {"automatic", "manual_by_topic", "system_default", "best_available"}}
NEWEST = 9  # version of the format that Kilted reads


def decoded(text: str) -> dict[str, Any]:
    """Return the facts of a bag, as strictly as the tool decodes them. Raises KeyError, AssertionError."""
    facts: dict[str, Any] = yaml.safe_load(text)
    assert facts["version"] == NEWEST and isinstance(facts["storage_identifier"], str)
    spanned(facts)
    for topic in facts["topics_with_message_count"]:
        natural(topic["message_count"])
        said = topic["topic_metadata"]
        assert all(isinstance(said[name], str) for name in ("name", "type", "serialization_format"))
        assert re.fullmatch(r"RIHS01_[0-9a-f]{64}", said["type_description_hash"])
        for profile in said["offered_qos_profiles"]:
            offered(profile)
    assert all(isinstance(facts[name], str) for name in ("compression_format", "compression_mode", "ros_distro"))
    assert facts["relative_file_paths"] == [file["path"] for file in facts["files"]]
    for file in facts["files"]:
        spanned(file)
    custom = facts["custom_data"] or {}
    assert all(isinstance(word, str) for pair in custom.items() for word in pair)
    return facts


def spanned(facts: dict[str, Any]) -> None:
    natural(facts["duration"]["nanoseconds"])
    natural(facts["starting_time"]["nanoseconds_since_epoch"])
    natural(facts["message_count"])


def offered(profile: dict[str, Any]) -> None:
    """Assert that a profile is one of version 9: numbers in place of names would make it one of version 8."""
    assert all(profile[name] in known for name, known in POLICIES.items()), profile
    natural(profile["depth"])
    for name in ("deadline", "lifespan", "liveliness_lease_duration"):
        natural(profile[name]["sec"])
        natural(profile[name]["nsec"])
    assert isinstance(profile["avoid_ros_namespace_conventions"], bool)


def natural(number: object) -> None:
    assert type(number) is int and 0 <= number < 1 << 64, number


def facts_of(bag: Path) -> str:
    """Return what metadata.yaml says, below its one name."""
    return yaml.safe_dump(yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"])


@pytest.mark.parametrize("custom", [{}, {"episode": "e7", "scene": ""}])
def test_metadata_is_what_the_tools_decode(cdr: Cdr, tmp_path: Path, custom: dict[str, str]) -> None:
    best = Qos(reliability="best_effort", durability="transient_local", depth=1)
    topics = {**topics_of(*TYPES), "/map": BagTopic(TYPES["/map"], best)}
    writer = BagWriter(tmp_path / "bag", topics, custom_data=custom)
    writer.write("/question", 5 * SECOND, cdr.text("Where is the kettle?"))
    writer.close()
    facts = decoded(facts_of(tmp_path / "bag"))
    assert len(facts["topics_with_message_count"]) == len(topics) and facts["message_count"] == 1
    with (tmp_path / "bag" / "bag_0.mcap").open("rb") as stream:
        inside = next(record for record in make_reader(stream).iter_metadata() if record.name == "rosbag2")
    within = decoded(inside.metadata["serialized_metadata"])  # where the folder's metadata.yaml is missing
    assert within["topics_with_message_count"] == facts["topics_with_message_count"]


def test_metadata_of_a_mended_bag_is_what_the_tools_decode(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of("/question"))
    writer.write("/question", 5 * SECOND, cdr.text("Where?"))
    writer.close()
    before = decoded(facts_of(tmp_path / "bag"))
    (tmp_path / "bag" / "metadata.yaml").unlink()
    recover(tmp_path / "bag")
    after = decoded(facts_of(tmp_path / "bag"))
    assert after["topics_with_message_count"] == before["topics_with_message_count"]
