"""Makes a whole bag of what a killed or full recorder left: `python -m eqa_nodes.bags.recover FOLDER`."""

from __future__ import annotations

import shutil
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from mcap.exceptions import McapError
from mcap.records import Channel, Chunk, McapRecord, Message, Schema
from mcap.stream_reader import StreamReader, breakup_chunk

from eqa_nodes.bags.bounded import unpacked
from eqa_nodes.bags.writer import BagTopic, BagWriter, Qos
from eqa_nodes.core.errors import EqaError, StorageError

# What reading beyond the last whole chunk raises: cut short, or blocks that a power cut left empty.
_TORN = (McapError, StorageError, struct.error, ValueError, ArithmeticError, RuntimeError, EOFError, MemoryError)


def recover(folder: Path) -> int:
    """Rewrite the bag up to its first damage, with index and metadata.yaml; return the number of messages it has.

    A bag that is whole stays as it is (-1). Raises StorageError when the folder holds no MCAP file or no space is left.
    Do not call it on a bag that is still being recorded.
    """
    folder = Path(folder)
    if (folder / "metadata.yaml").is_file():
        return -1
    try:
        return _recovered(folder)
    except EqaError:
        raise
    except Exception as error:  # damage makes the libraries raise whatever they stumble over
        raise StorageError(f"{folder} cannot be recovered: {type(error).__name__}: {error}") from error


def _recovered(folder: Path) -> int:
    source = next(iter(sorted(folder.glob("*.mcap"))), None)
    if source is None:
        raise StorageError(f"{folder} holds no .mcap file: nothing to recover")
    part = folder / ".recovering"
    shutil.rmtree(part, ignore_errors=True)  # what an interrupted recovery left
    writer = BagWriter(part / folder.name, _topics(source), free_bytes=source.stat().st_size + (64 << 20))
    for topic, stamp_ns, cdr in _messages(source):
        writer.write(topic, stamp_ns, cdr)
    writer.close()
    writer.file.replace(folder / writer.file.name)
    if source.name != writer.file.name:
        source.unlink()
    (writer.folder / "metadata.yaml").replace(folder / "metadata.yaml")
    shutil.rmtree(part)
    return sum(writer.counts.values())


def _messages(path: Path) -> Iterator[tuple[str, int, bytes]]:
    topics: dict[int, str] = {}
    for record in _records(path):
        if isinstance(record, Channel):
            topics[record.id] = record.topic
        elif isinstance(record, Message) and record.channel_id in topics:
            yield topics[record.channel_id], record.log_time, record.data


def _topics(path: Path) -> dict[str, BagTopic]:
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    topics: dict[str, BagTopic] = {}
    for record in _records(path):
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            channels[record.id] = record
        elif isinstance(record, Message) and record.channel_id in channels:
            channel = channels[record.channel_id]
            if channel.topic not in topics and (schema := schemas.get(channel.schema_id)):
                topics[channel.topic] = BagTopic(schema.name, _qos(channel.metadata), schema.data.decode())
    return topics


def _records(path: Path) -> Iterator[McapRecord]:
    """Yield what is whole, up to the first damage: that is what recovering means."""
    with path.open("rb") as stream:
        try:
            for record in StreamReader(stream, emit_chunks=True, record_size_limit=path.stat().st_size).records:
                if isinstance(record, Chunk):
                    yield from breakup_chunk(unpacked(record), validate_crc=True)
                else:
                    yield record
        except _TORN:
            return


def _qos(metadata: dict[str, str]) -> Qos:
    offered: list[dict[str, Any]] = yaml.safe_load(metadata.get("offered_qos_profiles", "")) or []
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
