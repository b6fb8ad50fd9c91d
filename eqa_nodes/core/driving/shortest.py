"""Shortest paths on a cost grid in integers, from one cell to all others."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.kernels import njit

# Moves of 8 directions and the 8 between them: paths come within 3 % of the straight line.
_MOVES = np.array([(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1),
                   (1, 2), (2, 1), (1, -2), (2, -1), (-1, 2), (-2, 1), (-1, -2), (-2, -1)])

_BORDER = 2  # forbidden cells round the map: no move reaches beyond them, so none needs a check of its own
_PRECISION = 16  # a cost of 1 in whole numbers, which sum without rounding and sort without division
_CELL_BITS = 10
_CELL = 1 << _CELL_BITS  # the length of a cell; times a cost of 1 the cheapest move, and so the width of a bucket
_WIDTH_BITS = _CELL_BITS + 4
_SLOTS = 64  # buckets in a ring, a power of two: more than the dearest move (cost 25, length sqrt 5) spans
_NEVER = np.iinfo(np.int32).max
_LENGTHS = np.ceil(np.hypot(_MOVES[:, 0], _MOVES[:, 1]) * _CELL).astype(np.int32)


class ShortestPaths:
    """The cheapest paths from one cell to all others, in 16 directions.

    metres: (rows, columns) float64, the cost of the path to each cell, metres times weight, inf where none leads.
    """

    def __init__(self, cost: np.ndarray, source: tuple[int, int], resolution_m: float) -> None:
        """Take the cost of a metre in each cell, (rows, columns): 1 to 25, inf = forbidden."""
        shut = np.isinf(cost)
        padded = np.pad(np.rint(np.where(shut, 0.0, cost) * _PRECISION).astype(np.int32), _BORDER)
        self._columns = int(padded.shape[1])
        self._cost, self._moves = padded.ravel(), _moves(self._columns)
        self._spent = _dijkstra(self._cost, _clear(padded), self._flat(source), *self._moves)
        inside = self._spent.reshape(padded.shape)[_BORDER:-_BORDER, _BORDER:-_BORDER]
        self.metres = np.where(inside == _NEVER, np.inf, inside * (resolution_m / (_PRECISION * _CELL)))

    def path_to(self, cell: tuple[int, int]) -> np.ndarray:
        """Return the cells (n, 2) of the path from the source to a cell that can be reached."""
        path = _descend(self._cost, self._spent, self._flat(cell), *self._moves)[::-1]
        return np.stack([path // self._columns - _BORDER, path % self._columns - _BORDER], axis=1)

    def _flat(self, cell: tuple[int, int]) -> int:
        return (cell[0] + _BORDER) * self._columns + cell[1] + _BORDER


def _moves(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (16, 3) int32: where a move ends, and the two cells that it must also be able to pass, in flat indices.

    A diagonal passes the two cells beside it, a knight's move the two between its ends, a straight move none. The
    second array has the lengths of the moves, (16,) int32, in cells / _CELL.
    """
    table = []
    for dy, dx in _MOVES.tolist():
        my, mx = (dy // 2 if abs(dy) == 2 else 0), (dx // 2 if abs(dx) == 2 else 0)
        if abs(dy) + abs(dx) == 3:
            table.append((dy * columns + dx, my * columns + mx, (dy - my) * columns + dx - mx))
        else:
            table.append((dy * columns + dx, dy * columns, dx))
    return np.array(table, np.int32), _LENGTHS


def _clear(cost: np.ndarray) -> np.ndarray:
    """Return, flat, which cells have nothing shut within two: no move from there needs a look at what it passes."""
    open_cells = cost > 0
    rows = open_cells.copy()
    clear = np.zeros_like(open_cells)
    for k in (1, 2):
        rows[:, k:] &= open_cells[:, :-k]
        rows[:, :-k] &= open_cells[:, k:]
    clear[2:-2] = rows[:-4] & rows[1:-3] & rows[2:-2] & rows[3:-1] & rows[4:]
    return clear.ravel()


@njit()
def _dijkstra(cost: np.ndarray, clear: np.ndarray, source: int, moves: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return what the cheapest path to each flat cell costs, (n,) int32; `cost` has a border of forbidden cells (0).

    Dijkstra with buckets as wide as the cheapest move (Dial 1969): what is in the lowest bucket cannot be improved by
    anything else in it, so the order within a bucket does not matter, and nothing needs to be sorted.
    """
    spent = np.full(cost.size, _NEVER, np.int32)
    head = np.full(_SLOTS, -1, np.int32)  # of the cells in a bucket, which are linked both ways
    before, after = np.full(cost.size, -1, np.int32), np.full(cost.size, -1, np.int32)
    spent[source], head[0] = 0, source
    waiting, bucket = 1, 0
    while waiting > 0:
        slot = bucket % _SLOTS
        while head[slot] >= 0:
            at = head[slot]
            head[slot] = after[at]
            if after[at] >= 0:
                before[after[at]] = -1
            waiting -= 1
            reached, here, free = spent[at], cost[at], clear[at]
            for m in range(lengths.size):
                to = at + moves[m, 0]
                there = cost[to]
                if not free and (there == 0 or cost[at + moves[m, 1]] == 0 or cost[at + moves[m, 2]] == 0):
                    continue
                total = reached + (((here + there) * lengths[m]) >> 1)
                known = spent[to]
                if total >= known:
                    continue
                spent[to] = total
                target = (total >> _WIDTH_BITS) % _SLOTS
                if known != _NEVER:
                    old = (known >> _WIDTH_BITS) % _SLOTS
                    if old == target:
                        continue
                    if before[to] >= 0:
                        after[before[to]] = after[to]
                    else:
                        head[old] = after[to]
                    if after[to] >= 0:
                        before[after[to]] = before[to]
                else:
                    waiting += 1
                before[to], after[to] = -1, head[target]
                if head[target] >= 0:
                    before[head[target]] = to
                head[target] = to
        bucket += 1
    return spent


@njit()
def _descend(cost: np.ndarray, spent: np.ndarray, at: int, moves: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the flat cells from one down to the source."""
    path = [at]
    while spent[at] > 0:
        best, before = _NEVER, at
        for m in range(lengths.size):
            to = at + moves[m, 0]
            if cost[to] == 0 or cost[at + moves[m, 1]] == 0 or cost[at + moves[m, 2]] == 0 or spent[to] >= spent[at]:
                continue
            total = spent[to] + (((cost[at] + cost[to]) * lengths[m]) >> 1)
            if total < best:
                best, before = total, to
        at = before
        path.append(at)
    return np.array(path)
