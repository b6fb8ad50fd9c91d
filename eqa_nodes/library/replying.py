"""A function of the user's replies to what the robot asks while it works on a question."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable

from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.types.inquiries import NO_REPLY, Inquiry

Reply = Callable[[Inquiry], int]  # the number of an option, from 1; 0 = no reply


def replying(reply: Reply | None, hand_in: Callable[[str, int], None]) -> Callable[[Inquiry], None]:
    """Return what hears inquiries, and replies to the open ones in a thread each. A reply that comes too late warns."""
    def asked(inquiry: Inquiry) -> None:
        if reply is None or (option := reply(inquiry)) == NO_REPLY:
            return
        try:
            hand_in(inquiry.id, option)
        except EqaError as error:
            warnings.warn(f"the reply to {inquiry.text!r} did not count: {error}", stacklevel=2)

    def heard(inquiry: Inquiry) -> None:
        if inquiry.open:
            threading.Thread(target=asked, args=(inquiry,), name="reply", daemon=True).start()

    return heard
