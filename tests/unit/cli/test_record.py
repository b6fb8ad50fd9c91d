"""What `eqa record` says of the disk, from the rate of its first seconds."""

from __future__ import annotations

import pytest

from eqa_nodes.cli.record import Record, disk_use


@pytest.mark.parametrize(("rate", "seconds", "max_gb", "said"), [
    (20e6, 0.0, 0.0, "20.0 MB/s: the 100.0 GB that are free last for 1.4 hours"),
    (20e6, 600.0, 0.0, "20.0 MB/s: about 12.0 GB until the end; 100.0 GB are free"),
    (20e6, 600.0, 5.0, "20.0 MB/s: about 5.0 GB until the end; 100.0 GB are free"),
    (20e6, 6000.0, 0.0, "20.0 MB/s: about 120.0 GB until the end; 100.0 GB are free: the disk will be full before; "
                        "record to another one (--out), or less (--compress)"),
    (0.0, 600.0, 0.0, "nothing was written yet; 100.0 GB are free")])
def test_what_a_recording_takes_of_the_disk_is_said(rate: float, seconds: float, max_gb: float, said: str) -> None:
    assert disk_use(rate, Record(seconds=seconds, max_gb=max_gb), 100_000_000_000) == said
