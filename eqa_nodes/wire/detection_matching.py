"""Finds for each image the detections that another node made from it, by stamp."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

SKIPPED = "images without detections: the detector passed over them"
LATE = "images without detections: too many waited for the detector"
STRAY = "detections whose stamp matches no image"


class DetectionMatching:
    """Images and messages of detections wait for each other, whichever comes first; both arrive in stamp order.

    A message with the stamp of an image belongs to it. Others belong to the nearest image within the tolerance, once a
    later message and a later image show that none can be nearer. Images are handed on in stamp order: when one is, the
    earlier ones no longer wait. At most `bound` images and messages wait. dropped: called with the reason for each one
    that is dropped.
    """

    def __init__(self, tolerance_ns: int, bound: int, dropped: Callable[[str], None]) -> None:
        self._tolerance_ns, self._bound, self._dropped = tolerance_ns, bound, dropped
        self.clear()

    def clear(self) -> None:
        """Forget everything that waits (a new episode begins)."""
        self._images: dict[int, Any] = {}
        self._messages: dict[int, Any] = {}
        self._newest_image = self._newest_message = -1

    @property
    def waiting(self) -> int:
        """Return the number of images that wait for their detections."""
        return len(self._images)

    def put_image(self, stamp_ns: int, image: Any) -> list[tuple[Any, Any]]:
        """Add an image; return the images that now have their message, in stamp order, each with it."""
        self._images[stamp_ns] = image
        self._newest_image = max(self._newest_image, stamp_ns)
        return self._matched()

    def put_message(self, stamp_ns: int, message: Any) -> list[tuple[Any, Any]]:
        """Add a message of detections; return the same as put_image."""
        self._messages[stamp_ns] = message
        self._newest_message = max(self._newest_message, stamp_ns)
        return self._matched()

    def _matched(self) -> list[tuple[Any, Any]]:
        near = sorted((abs(m - i), i, m) for i in self._images for m in self._messages
                      if abs(m - i) <= self._tolerance_ns)
        partners: dict[int, int] = {}  # message by image, also of pairs that a later arrival may still part
        for _, image, message in near:
            if image not in partners and message not in partners.values():
                partners[image] = message
        sure = sorted(i for i, m in partners.items()
                      if i == m or (self._newest_message >= i and self._newest_image >= m))
        found = [(self._images.pop(i), self._messages.pop(partners[i])) for i in sure]
        self._drop_hopeless(sure[-1] if sure else -1, {m for i, m in partners.items() if i not in sure}, partners)
        return found

    def _drop_hopeless(self, last: int, awaited: set[int], partners: Iterable[int]) -> None:
        """Drop what can no longer have a partner. last: stamp of the newest image that was handed on, -1 = none."""
        passed = self._newest_message - self._tolerance_ns
        for image in [i for i in self._images if i < last or (i < passed and i not in partners)]:
            del self._images[image]
            self._dropped(SKIPPED)
        over = self._newest_image - self._tolerance_ns
        for message in [m for m in self._messages if m not in awaited and m < over]:
            del self._messages[message]
            self._dropped(STRAY)
        for waiting, reason in ((self._images, LATE), (self._messages, STRAY)):
            for oldest in sorted(waiting)[:-self._bound]:
                del waiting[oldest]
                self._dropped(reason)
