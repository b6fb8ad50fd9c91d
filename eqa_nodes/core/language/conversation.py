"""The conversation of one client: "it", "there" and "the other one" refer to its last question and answer."""

from __future__ import annotations

from eqa_nodes.core.language.query import Exchange
from eqa_nodes.core.language.understanding import understand


class Conversation:
    """Keeps the last question and answer of one client."""

    def __init__(self) -> None:
        self._last: Exchange | None = None

    def question(self, text: str) -> str:
        """Return a question in full words. It is the last one from now on, unless it was not understood."""
        read = understand(text, self._last)
        full = read.question or text
        if read.query is not None:
            self._last = Exchange(full)
        return full

    def answered(self, question: str, answer: str) -> None:
        """Note the answer to a question in full words, unless another question was asked since."""
        if self._last is not None and self._last.question == question:
            self._last = Exchange(question, answer)


class Conversations:
    """The conversations of many clients by a name of each; the oldest ones are forgotten."""

    def __init__(self, most: int = 100) -> None:
        self._most = most
        self._by_name: dict[str, Conversation] = {}

    def of(self, name: str) -> Conversation:
        """Return the conversation of a client. Without a name nothing is remembered."""
        if not name:
            return Conversation()
        self._by_name[name] = found = self._by_name.pop(name, None) or Conversation()
        while len(self._by_name) > self._most:
            del self._by_name[next(iter(self._by_name))]
        return found
