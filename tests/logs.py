"""What is logged, heard at the logger itself.

pytest's `caplog` listens at the root of all loggers. Where a ROS distribution is sourced, its pytest plugins import
launch, whose logging makes every logger that comes after it keep its records to itself: nothing reaches the root. (From
9 on pytest listens at such loggers too, if they are there when a test begins.)
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class Heard(logging.Handler):
    """Keeps the records that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record, once: those of a logger may reach that of its package too."""
        if all(record is not kept for kept in self.records):
            self.records.append(record)

    @property
    def text(self) -> str:
        """Return all messages, a line each."""
        return "\n".join(record.getMessage() for record in self.records)


@contextmanager
def logged(*modules: str, level: int = logging.WARNING) -> Iterator[Heard]:
    """Hear what modules log, from a level on, whatever has been done to logging."""
    heard, loggers = Heard(), [logging.getLogger(module) for module in modules]
    before = [(logger, logger.level, logger.disabled) for logger in loggers]
    for logger in loggers:
        logger.addHandler(heard)
        logger.setLevel(level)
        logger.disabled = False
    try:
        yield heard
    finally:
        for logger, number, disabled in before:
            logger.removeHandler(heard)
            logger.setLevel(number)
            logger.disabled = disabled
