"""AQ-Nav's planner: a graph transformer that scores stopping here and driving to each unvisited place, run by NumPy."""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.policies.topo_graph import FEATURES, NUMBERS, TopoGraph
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.types.questions import Question

FORMAT = 1
BUCKETS = 2048  # of words; 0 stands for none
WORDS, NAMED = 48, 4  # words of a text, and of the name of a room
WEIGHTS = Path(__file__).with_name("weights") / "aqnav.npz"
CLOSED = -1e4  # added to what cannot be attended to
VISITED = NUMBERS.index("visited")
KINDS = ("graph", "local", "gru")  # of planners: see PlannerShape
_NEAR = 0.3  # of `straight`, 3 m
_HERE, _STRAIGHT, _GHOST = NUMBERS.index("here"), NUMBERS.index("straight"), slice(2, 4)  # frontier, floor


class PlannerInput(NamedTuple):
    """What the network reads of one decision: see TopoGraph. words: (WORDS,) int64, names: (n, NAMED) int64."""

    numbers: np.ndarray
    names: np.ndarray
    paths: np.ndarray
    words: np.ndarray


class PlannerShape(NamedTuple):
    """Sizes of a planner, which its file states. keys: layers that score keyframes, 0 = it scores none.

    kind: "graph" attends to all nodes; "local" does not remember: it sees and chooses only what is near (see near_of);
    "gru" reads the visited nodes as a sequence, by GRUs in the place of the attention between nodes.
    """

    width: int = 64
    heads: int = 4
    text_layers: int = 1
    layers: int = 2
    keys: int = 0
    kind: str = "graph"


def input_of(graph: TopoGraph, question: Question) -> PlannerInput:
    """Return the input of the network for a decision: the words of directions and question, and the graph."""
    names = np.array([words_of(name, NAMED) for name in graph.names], np.int64).reshape(-1, NAMED)
    return PlannerInput(graph.numbers, names, graph.paths, text_of(question.text, question.instruction))


@lru_cache(256)
def text_of(question: str, instruction: str) -> np.ndarray:
    """Return the numbers of the words of a question, and of directions before it, (WORDS,) int64; 0 = none."""
    found = np.array(words_of(f"{question} {instruction}", WORDS), np.int64)
    found.flags.writeable = False
    return found


@lru_cache(4096)
def words_of(text: str, most: int) -> tuple[int, ...]:
    """Return numbers of the first words of a text, 1 to BUCKETS - 1, by the hash of each; 0 for the missing ones."""
    words = re.findall(r"[a-z]+|\d+", text.lower())[:most]
    numbers = [1 + zlib.crc32(word.encode()) % (BUCKETS - 1) for word in words]
    return (*numbers, *[0] * (most - len(numbers)))


def near_of(numbers: Any) -> Any:
    """Return which nodes a local planner sees, (..., n) bool: stopping, the present place, and ghosts within 3 m of it.

    All are seen if there is no such ghost. numbers: (..., n, FEATURES), an array or a tensor.
    """
    near = (numbers[..., _STRAIGHT] <= _NEAR) & ((numbers[..., VISITED] <= 0) | (numbers[..., _HERE] > 0))
    return near | ~(near & (numbers[..., _GHOST].sum(-1) > 0)).any(-1)[..., None]


class GraphPlanner:
    """Scores the nodes of a graph for a question. Weights are float32; so are all sums, in a fixed order.

    Layers (post-norm transformer as in ETPNav): words attend to words; nodes attend to each other with a bias that is
    learned from the length of the path between them (graph-aware self-attention), and to the words.
    """

    def __init__(self, weights: Mapping[str, np.ndarray], shape: PlannerShape, trained: str = "") -> None:
        """trained: what the weights were trained on, in words."""
        self.weights, self.shape, self.trained = weights, shape, trained

    @classmethod
    def load(cls, file: Path = WEIGHTS) -> GraphPlanner:
        """Read a file of `eqa learn aqnav`. Raises ConfigError for a missing or broken one, and for other features."""
        try:
            with np.load(file, allow_pickle=False) as stored:
                about = json.loads(str(stored["about"]))
                weights = {name: stored[name].astype(np.float32) for name in stored.files if name != "about"}
        except FileNotFoundError as error:
            raise ConfigError(f"there is no planner {file}: train one with `eqa learn aqnav`") from error
        except (OSError, ValueError, KeyError, BadZipFile, EOFError) as error:
            raise ConfigError(f"{file} is no planner ({type(error).__name__}): name a file that `eqa learn aqnav` "
                              "wrote") from error
        if about.get("format") != FORMAT or about.get("features") != FEATURES:
            raise ConfigError(f"{file} is a planner of format {about.get('format')} with {about.get('features')} "
                              f"features of a node; this version reads format {FORMAT} with {FEATURES}: train it again "
                              "with `eqa learn aqnav`")
        shape = PlannerShape(**about["shape"])
        if shape.kind not in KINDS:
            raise ConfigError(f"{file}: {unknown('kind of planner', shape.kind, KINDS)}")
        return cls(weights, shape, about["trained"])

    def save(self, file: Path) -> str:
        """Write the planner with float16 weights; return the SHA-256 of the file."""
        about = {"format": FORMAT, "features": FEATURES, "shape": self.shape._asdict(), "trained": self.trained}
        data = io.BytesIO()
        np.savez_compressed(data, allow_pickle=False, about=json.dumps(about),
                            **{name: value.astype(np.float16) for name, value in self.weights.items()})
        write_bytes(file, data.getvalue())
        return sha256(data.getvalue()).hexdigest()

    def scores(self, given: PlannerInput) -> np.ndarray:
        """Return the score of each node, (n,): of going there, of stopping for node 0.

        Scores are rounded to thousandths, so that they do not depend on how a machine sums.
        """
        found: np.ndarray = np.round(self._mix("score", self._nodes(given))[:, 0], 3)
        return np.where(near_of(given.numbers), found, np.float32(CLOSED)) if self.shape.kind == "local" else found

    def keyframes(self, given: PlannerInput) -> np.ndarray:
        """Return how likely each visited node shows the room of the answer (TAKS; ExploraQA, 4.3), (n,), 0..1.

        Other nodes have 0. Without `shape.keys` there are no weights for this.
        """
        visited = given.numbers[:, VISITED] > 0
        x, found = self._nodes(given)[visited], np.zeros(len(visited), np.float32)
        for k in range(self.shape.keys):
            x = self._norm(f"keys.{k}.norm", x + self._attend(f"keys.{k}", x, x, np.zeros(1, np.float32)))
            x = self._norm(f"keyed.{k}.norm", x + self._mix(f"keyed.{k}", x))
        found[visited] = np.round(_sigmoid(self._mix("key", x)[:, 0]), 3)
        return found

    def _nodes(self, given: PlannerInput) -> np.ndarray:
        """Return the nodes after all layers, (n, width)."""
        words, said = self._text(given.words)
        x: np.ndarray = given.numbers @ self.weights["numbers.weight"].T + self.weights["numbers.bias"]
        x = self._norm("enter", x + _mean(self.weights["word.weight"], given.names))
        local = np.where(near_of(given.numbers), 0, np.float32(CLOSED)) if self.shape.kind == "local" else np.float32(0)
        for k in range(self.shape.layers):
            if self.shape.kind == "gru":
                other = self._last(f"graph.{k}.gru", x[1:1 + (given.numbers[:, VISITED] > 0).sum()])
            else:
                near = given.paths[None] * self.weights[f"graph.{k}.scale"][:, None, None] + local
                other = self._attend(f"graph.{k}", x, x, near)
            x = self._norm(f"graph.{k}.norm", x + other)
            x = self._norm(f"cross.{k}.norm", x + self._attend(f"cross.{k}", x, words, said))
            x = self._norm(f"mix.{k}.norm", x + self._mix(f"mix.{k}", x))
        return x

    def _text(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the words after the text layers, (WORDS, width), and the bias that hides missing ones."""
        hidden = np.where(words == 0, np.float32(CLOSED), np.float32(0))[None, None]
        hidden[..., 0] = 0  # an empty text has one word to attend to
        x = self._norm("said", self.weights["word.weight"][words] + self.weights["place.weight"])
        for k in range(self.shape.text_layers):
            x = self._norm(f"text.{k}.norm", x + self._attend(f"text.{k}", x, x, hidden))
            x = self._norm(f"spoken.{k}.norm", x + self._mix(f"spoken.{k}", x))
        return x, hidden

    def _attend(self, name: str, of: np.ndarray, to: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """Return multi-head attention, (n, width). bias: (heads or 1, n or 1, m), added to the products."""
        heads, width = self.shape.heads, self.shape.width
        q, k, v = (self._linear(f"{name}.{part}", x).reshape(len(x), heads, -1).transpose(1, 0, 2)
                   for part, x in (("query", of), ("key", to), ("value", to)))
        shares = softmax(q @ k.transpose(0, 2, 1) / np.float32((width // heads) ** 0.5) + bias)
        return self._linear(f"{name}.out", (shares @ v).transpose(1, 0, 2).reshape(len(of), width))

    def _last(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return the state of a GRU after a sequence, (width,)."""
        of_x, of_state = (self.weights[f"{name}.weight_{part}_l0"] for part in ("ih", "hh"))
        given = x @ of_x.T + self.weights[f"{name}.bias_ih_l0"]
        state = np.zeros(of_state.shape[1], np.float32)
        for reset, update, new in given.reshape(len(x), 3, -1):
            was_reset, was_update, was_new = (of_state @ state + self.weights[f"{name}.bias_hh_l0"]).reshape(3, -1)
            keep = _sigmoid(update + was_update)
            state = keep * state + (1 - keep) * np.tanh(new + _sigmoid(reset + was_reset) * was_new)
        return state

    def _mix(self, name: str, x: np.ndarray) -> np.ndarray:
        return self._linear(f"{name}.second", np.maximum(self._linear(f"{name}.first", x), 0))

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        found: np.ndarray = x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return found

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        off = x - x.mean(axis=1, keepdims=True)
        scaled = off / np.sqrt((off * off).mean(axis=1, keepdims=True) + np.float32(1e-5))
        found: np.ndarray = scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return found


def _sigmoid(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = 1 / (1 + np.exp(-x))
    return found


def softmax(x: np.ndarray) -> np.ndarray:
    """Return shares that sum to 1 along the last axis."""
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    found: np.ndarray = raised / raised.sum(axis=-1, keepdims=True)
    return found


def _mean(table: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return the mean vector of the words (n, m) that are there, (n, width)."""
    there = (words > 0).astype(np.float32)[..., None]
    found: np.ndarray = (table[words] * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return found


def best_of(scores: Sequence[float] | np.ndarray, open_: np.ndarray) -> int:
    """Return the node that can be chosen and scores best; the first of equal ones."""
    return int(np.where(open_, scores, -np.inf).argmax())
