"""Repairs a bag after a killed recorder or a full disk: `python -m eqa_nodes.recordings.bags.recover FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from eqa_nodes.core.errors import EqaError, StorageError
from eqa_nodes.core.storage.text import by_number
from eqa_nodes.recordings.bags.mcap_file import FileFacts, read_facts, seal
from eqa_nodes.recordings.bags.writer import BagTopic, metadata, write_metadata
from eqa_nodes.wire.graph import Qos


def recover(folder: Path) -> int:
    """Repair unclosed files up to their first damage and write metadata.yaml; return the number of messages.

    Files are repaired in place, which needs little space and can be repeated after an interruption. A complete bag is
    not changed (-1). Raises StorageError when the folder has no MCAP file, is being recorded, or the disk is full.
    """
    folder = Path(folder)
    try:
        return _recovered(folder)
    except EqaError:
        raise
    except Exception as error:
        raise StorageError(f"{folder} cannot be recovered: {type(error).__name__}: {error}") from error


def _recovered(folder: Path) -> int:
    paths = sorted(folder.glob("*.mcap"), key=lambda path: by_number(path.name))
    closed = (folder / "metadata.yaml").is_file()
    if not paths and not closed:
        raise StorageError(f"{folder} holds no .mcap file: nothing to recover")
    torn = [path for path in paths if read_facts(path) is None]
    if closed and not torn:
        return -1
    try:
        for path in torn:
            seal(path)
        found = [_facts(path) for path in paths]
        if not closed:
            topics = {name: topic for _, known in reversed(found) for name, topic in known.items()}
            write_metadata(folder, metadata([facts for facts, _ in found], topics, {}))
    except OSError as error:
        raise StorageError(f"{folder} cannot be recovered ({error}): free space there, and repeat it") from error
    return sum(sum(facts.counts.values()) for facts, _ in found)


def _facts(path: Path) -> tuple[FileFacts, dict[str, BagTopic]]:
    found = read_facts(path)
    if found is None:
        raise StorageError(f"{path} was repaired, but there is no room for its index: free space, and repeat the "
                           "command")
    facts, topics = found
    return facts, {name: BagTopic(schema.name, _qos(channel.metadata), schema.data.decode())
                   for name, (schema, channel) in topics.items()}


def _qos(channel: dict[str, str]) -> Qos:
    offered: list[dict[str, Any]] = yaml.safe_load(channel.get("offered_qos_profiles", "")) or []
    return Qos(**{name: offered[0][name] for name in Qos._fields}) if offered else Qos()


def main() -> int:
    """Recover the bags named on the command line."""
    try:
        for name in sys.argv[1:]:
            count = recover(Path(name))
            print(f"{name}: {'is whole' if count < 0 else f'{count} messages recovered'}")
    except EqaError as error:
        print(error, file=sys.stderr)
        return 1
    return 0 if sys.argv[1:] else 2


if __name__ == "__main__":
    sys.exit(main())
