"""Closes loops: anchors that show the same place are registered to each other, and pieces are joined where they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.ndimage import zoom

from eqa_nodes.core.reconstruction.config import PoseSearchConfig
from eqa_nodes.core.reconstruction.odometry import information, moved, register
from eqa_nodes.core.reconstruction.rgbd import RgbdView
from eqa_nodes.core.reconstruction.tracking import PoseAnchor, PoseLink

_NEAR_M, _NEAR_DEG = 1.2, 40.0  # farther apart, two views share too little
_APART = 4  # anchors in succession between two that are compared with one
_ALIKE = 0.75  # correlation of two small images
_SIZE = (12, 16)
_SURER = 0.85  # agreement that joins two pieces, whose place nothing else foretells
_SAME_M, _SAME_DEG = 0.15, 4.0  # within which two joints of two pieces say the same
_JOINTS = 12  # most pairs of anchors that are tried for two pieces

Tried = set[tuple[int, int]]


def close_loops(anchors: Sequence[PoseAnchor], poses: Sequence[np.ndarray], config: PoseSearchConfig, tried: Tried,
                progress: Callable[[int], None] = lambda done: None) -> list[PoseLink]:
    """Return links between anchors of one piece that are near each other, by `poses`, or look alike.

    poses: common_from_camera (4, 4) of each anchor; tried: pairs that are left out; what is compared is added.
    """
    alike, found = likeness([anchor.view for anchor in anchors]), list[PoseLink]()
    for j in range(len(anchors)):
        for i in _candidates(j, anchors, poses, alike, config.loops):
            if (j, i) in tried:
                continue
            tried.add((j, i))
            guess = np.linalg.inv(poses[i]) @ poses[j]
            found += (_link(anchors, j, i, guess, config)
                      or (_link(anchors, j, i, guess, config, wide=True) if alike[j, i] > _ALIKE else []))
        progress(j + 1)
    return found


def join_pieces(anchors: Sequence[PoseAnchor], pieces: Sequence[int], config: PoseSearchConfig) -> list[PoseLink]:
    """Return links between pieces that show the same place; two that say the same are wanted for each pair.

    pieces: numbers of those that are tried.
    """
    links = list[PoseLink]()
    if len(pieces) < 2:
        return links
    alike, surer = likeness([anchor.view for anchor in anchors]), replace(config, min_agreement=_SURER)
    of = np.array([anchor.piece for anchor in anchors])
    for at, one in enumerate(pieces):
        for other in pieces[at + 1:]:
            between = np.where((of[:, None] == other) & (of[None, :] == one), alike, -1.0)
            best = np.argsort(-between, axis=None)[:_JOINTS]
            pairs = [(int(k // len(of)), int(k % len(of))) for k in best if between.flat[k] > _ALIKE / 2]
            joints = [link for j, i in pairs for link in _link(anchors, j, i, np.eye(4), surer, wide=True)]
            links += _consistent(anchors, joints)
    return links


def likeness(views: Sequence[RgbdView]) -> np.ndarray:
    """Return (n, n) how much the small images of views look alike: correlation of brightness and of inverse depth."""
    def described(image: np.ndarray) -> np.ndarray:
        small: np.ndarray = zoom(image, (_SIZE[0] / image.shape[0], _SIZE[1] / image.shape[1]), order=1).ravel()
        small = small - small.mean()
        return small / max(float(np.linalg.norm(small)), 1e-6)

    grey = np.array([described(view.grey) for view in views])
    near = np.array([described(np.where(view.depth_m > 0, 1 / np.maximum(view.depth_m, 0.3), 0)) for view in views])
    alike: np.ndarray = (grey @ grey.T + near @ near.T) / 2
    return alike


def _candidates(j: int, anchors: Sequence[PoseAnchor], poses: Sequence[np.ndarray], alike: np.ndarray,
                most: int) -> Iterator[int]:
    """Yield earlier anchors of the same piece to compare with anchor j, at most so many, spread in time."""
    ranked = list[tuple[float, int]]()
    for i in range(j - 1):
        metres, degrees = moved(np.linalg.inv(poses[i]) @ poses[j])
        if metres < _NEAR_M and degrees < _NEAR_DEG:
            ranked.append((metres / _NEAR_M + degrees / _NEAR_DEG, i))
        elif alike[j, i] > _ALIKE and metres < 3 * _NEAR_M:
            ranked.append((3.0 - alike[j, i], i))
    chosen = list[int]()
    for _, i in sorted(ranked):
        if len(chosen) < most and all(abs(i - other) >= _APART for other in chosen):
            chosen.append(i)
            yield i


def _link(anchors: Sequence[PoseAnchor], j: int, i: int, guess: np.ndarray, config: PoseSearchConfig,
          wide: bool = False) -> list[PoseLink]:
    """Return the link of two anchors, none where they do not fit."""
    source, target = anchors[j].view, anchors[i].view
    motion = register(source, target, guess, config, wide)
    if motion.refused:
        return []
    weight = information(source, target, motion.target_from_source, config.range_m)
    return [PoseLink(j, i, motion.target_from_source, weight, True)]


def _consistent(anchors: Sequence[PoseAnchor], joints: Sequence[PoseLink]) -> list[PoseLink]:
    """Return the largest group of links that say the same of where a piece lies in the other; none of fewer than two.
    """
    poses = [anchors[k.target].piece_from_camera @ k.target_from_source
             @ np.linalg.inv(anchors[k.source].piece_from_camera) for k in joints]
    groups = [[link for link, pose in zip(joints, poses, strict=True) if _same(one, pose)] for one in poses]
    best = max(groups, key=len, default=[])
    return best if len(best) >= 2 else []


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    metres, degrees = moved(np.linalg.inv(a) @ b)
    return metres < _SAME_M and degrees < _SAME_DEG
