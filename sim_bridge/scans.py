"""Finds the files of scanned scenes: HM3D, MP3D, Gibson, HSSD, Replica, ReplicaCAD as published, or single files.

A place is "DATASET/ID" ("hm3d/00826-BFRyYbPCCPE", also without the number), searched in one folder of scans in the
layout of their downloaders, or the path of one file (GLB, glTF, OBJ, PLY).
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError, UnknownScene, unknown

SCENES_VARIABLE = "EQA_SCENES"
HABITAT_VARIABLE = "EQA_HABITAT_PYTHON"  # path of a Python interpreter that has habitat_sim
FILES = (".glb", ".gltf", ".obj", ".ply", ".stl")
PART = re.compile(r"(.+) (\d{1,5})\.\d+")  # "sofa 12.0": the name of a part of an exported house
_ID = re.compile(r"\w[\w.+-]*", re.ASCII)  # id of a scene; no path separators and no wildcards
_SPLIT = re.compile(r"(hm3d-)?(train|val|minival|example)\b.*")
_NUMBER = re.compile(r"\d{5}-")  # HM3D's scene number, before the id
_ROOTS = ("", "scene_datasets", "data/scene_datasets", "versioned_data")


class SceneFiles(NamedTuple):
    """The existing files of one scene.

    glb: textures that any reader decodes (also gltf, obj, ply). basis_glb: Basis-compressed textures, for Habitat only.
    semantic_glb, semantic_txt: labels as HM3D keeps them; semantic_ply: as MP3D, Gibson and Replica do, for Habitat
    only. dataset_config: Habitat's scene_dataset_config, which locates the labels. instance: a scene composed of a
    stage and objects, which only Habitat opens; it has no glb.
    """

    place: str
    glb: Path | None = None
    basis_glb: Path | None = None
    navmesh: Path | None = None
    semantic_glb: Path | None = None
    semantic_txt: Path | None = None
    dataset_config: Path | None = None
    semantic_ply: Path | None = None
    instance: Path | None = None

    @property
    def labelled(self) -> bool:
        """Return whether the scene has semantic labels."""
        return bool((self.semantic_glb and self.semantic_txt) or self.semantic_ply or self.instance)


class _Kind(NamedTuple):
    """A published data set: its folders, the folders of one scene, and the stem of that scene's file names.

    composed: whether scenes are stages with objects. configs: dataset configs, those with the most labels first.
    """

    folders: tuple[str, ...]
    homes_of: Callable[[Path, str], Iterable[Path]]
    stem_of: Callable[[str], str]
    configs: tuple[str, ...]
    obtain: str
    composed: bool = False


def _hm3d_homes(folder: Path, scene: str) -> Iterable[Path]:
    """Yield the scene's folder in each split, also if the archives of a split were unpacked side by side."""
    splits = [folder, *sorted(path for path in folder.iterdir() if _SPLIT.fullmatch(path.name))]
    exact = [split / name for split in splits for name in dict.fromkeys((scene, _bare(scene)))]
    return [p for p in exact if p.is_dir()] or [p for split in splits for p in sorted(split.glob(f"*-{_bare(scene)}"))]


def _bare(scene: str) -> str:
    return _NUMBER.sub("", scene, count=1)


def _same(scene: str) -> str:
    return scene


_DOWNLOAD = "python -m habitat_sim.utils.datasets_download"
_HM3D = ("hm3d", "hm3d-0.2/hm3d", "hm3d-0.1/hm3d")
KINDS: dict[str, _Kind] = {
    "hm3d": _Kind(
        _HM3D, _hm3d_homes, _bare,
        ("hm3d_annotated_basis.scene_dataset_config.json", "hm3d_annotated_minival_basis.scene_dataset_config.json",
         "hm3d_annotated_example_basis.scene_dataset_config.json", "hm3d_basis.scene_dataset_config.json",
         "hm3d_minival_basis.scene_dataset_config.json", "hm3d_example_basis.scene_dataset_config.json"),
        "accept Matterport's terms for HM3D (https://matterport.com/habitat-matterport-3d-research-dataset), make an "
        f"API token, then {_DOWNLOAD} --username TOKEN-ID --password TOKEN-SECRET --uids hm3d_val_v0.2 hm3d_train_v0.2 "
        "(Basis textures, for Habitat) or hm3d_val_full hm3d_train_full (with plain GLB files, which `mesh:` wants)"),
    "mp3d": _Kind(
        ("mp3d", "v1/tasks/mp3d", "mp3d_example"), lambda folder, scene: (folder / scene,), _same,
        ("mp3d.scene_dataset_config.json",),
        "sign Matterport3D's terms (https://niessner.github.io/Matterport/), then python2 download_mp.py --task "
        f"habitat -o DIR; one example scene without: {_DOWNLOAD} --uids mp3d_example_scene"),
    "gibson": _Kind(
        ("gibson", "gibson_habitat/gibson"), lambda folder, scene: (folder, folder / scene), _same,
        ("gibson_semantic.scene_dataset_config.json",),
        "agree to Gibson's terms (https://github.com/StanfordVL/GibsonEnv#database) and take its files for Habitat"),
    "hssd": _Kind(
        ("hssd-hab", "hssd"), lambda folder, scene: (folder / "scenes", folder / "navmeshes"), _same,
        ("hssd-hab.scene_dataset_config.json",),
        f"accept the terms at https://huggingface.co/datasets/hssd/hssd-hab, then {_DOWNLOAD} --username NAME "
        "--password TOKEN --uids hssd-hab (Git LFS must be installed)", composed=True),
    "replica": _Kind(
        ("replica", "replica_v1", "replica_dataset"),
        lambda folder, scene: (folder / scene, folder / scene / "habitat"), lambda scene: "mesh",
        ("replica.scene_dataset_config.json",),
        "download.sh of https://github.com/facebookresearch/Replica-Dataset"),
    "replica_cad": _Kind(
        ("replica_cad", "replica_cad_dataset"), lambda folder, scene: (folder / "configs" / "scenes",
                                                                       folder / "navmeshes"), _same,
        ("replicaCAD.scene_dataset_config.json",), f"{_DOWNLOAD} --uids replica_cad_dataset", composed=True),
}
_SUFFIXES: dict[str, tuple[str, ...]] = {
    "glb": FILES, "basis_glb": (".basis.glb",), "navmesh": (".basis.navmesh", ".navmesh", "_semantic.navmesh"),
    "semantic_glb": (".semantic.glb",), "semantic_txt": (".semantic.txt",), "semantic_ply": ("_semantic.ply",)}


def find_scan(place: str, folder: Path | None = None) -> SceneFiles:
    """Return the files of a scene. folder: folder of scans, None = environment variable EQA_SCENES.

    Raises UnknownScene, which says what is missing, where it was searched, and how to obtain it.
    """
    if folder is None and os.environ.get(SCENES_VARIABLE):
        folder = Path(os.environ[SCENES_VARIABLE])
    try:
        if place.endswith(FILES):
            return _single(place, folder)
        return _published(place, folder)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL byte
        raise UnknownScene(f"cannot look for the scene {place!r}: {error}") from error


def obtain(place: str) -> str:
    """Return how to obtain a scene's data set, "" for a single file."""
    kind = KINDS.get(place.partition("/")[0])
    return "" if kind is None or place.endswith(FILES) else kind.obtain


def fault_of(file: Path) -> str:
    """Return what is wrong with a file according to its first bytes and size, "" if they look right."""
    with file.open("rb") as stream:
        head = stream.read(12)
    size = file.stat().st_size
    if head.startswith(b"version http"):
        return f"{file} is the pointer of a file that Git LFS has not brought: git lfs pull in its folder"
    if file.suffix != ".glb":
        return "" if size else f"{file} is empty"
    if not head.startswith(b"glTF"):
        return f"{file} is not a GLB file"
    promised = max(12, int.from_bytes(head[8:12], "little"))
    return f"{file} ends early: it has {size} of {promised} bytes; obtain it again" if size < promised else ""


def has_labels(scan: SceneFiles) -> bool:
    """Return whether `mesh:` finds labels: semantic files, or part names such as "sofa 12.0" in a single glTF file, of
    which only the list of parts is read."""
    if scan.semantic_glb is not None and scan.semantic_txt is not None:
        return True
    if scan.glb is None or not scan.place.endswith((".glb", ".gltf")):
        return False
    with scan.glb.open("rb") as stream:
        length = int.from_bytes(stream.read(20)[12:16], "little") if scan.glb.suffix == ".glb" else -1
        try:
            nodes = json.loads(stream.read(length))["nodes"]
            return all(PART.fullmatch(node.get("name", "")) for node in nodes if "mesh" in node)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return True  # the reader that opens this file reports what is wrong with it


def check_labels(simulator: str, scan: SceneFiles) -> None:
    """Raise ConfigError if this simulator finds no labels in a scan; answerers that use labels need them."""
    if not (scan.labelled if simulator == "habitat" else has_labels(scan)):
        raise ConfigError(f"the scene {scan.place!r} has no labels, and answers are to be made from them: take the "
                          "answerer vlm, label what is seen with a detector, or obtain its semantic files")


def _single(place: str, folder: Path | None) -> SceneFiles:
    """Return a file and its companions: the path as given, else relative to the folder of scans."""
    path = Path(place)
    outside = path.is_absolute() or ".." in path.parts
    tried = [path] if folder is None or outside else [path, folder / path, folder / "scenes" / path]
    file = next((p for p in tried if p.is_file()), None)
    if file is None:
        raise UnknownScene(f"there is no scene file {' nor '.join(str(p.absolute()) for p in tried)}")
    stem = file.name[:-len(file.suffix)].removesuffix(".basis")
    scan = _gather(place, stem, [file.parent])
    basis = file.name.endswith(".basis.glb")
    return scan._replace(glb=scan.glb if basis else file, dataset_config=_config(scan, [file.parent]))


def _published(place: str, folder: Path | None) -> SceneFiles:
    name, slash, scene = place.partition("/")
    if name not in KINDS or not slash:
        raise UnknownScene(f"{place!r} is not a scene: {unknown('data set of scans', name, KINDS)}; or give the path "
                           f"of a file ({', '.join(FILES)})")
    if not _ID.fullmatch(scene):
        raise UnknownScene(f"{scene!r} is not the id of a scene of {name}: letters, digits, '-', '_', '.' and '+' only")
    kind = KINDS[name]
    if folder is None:
        raise UnknownScene(f"the folder of scans, which {place!r} needs, is not configured: name it (--scenes DIR or "
                           f"{SCENES_VARIABLE}). To obtain the scene: {kind.obtain}")
    if not folder.is_dir():
        raise UnknownScene(f"there is no folder of scans {folder}: name the right one with --scenes or "
                           f"{SCENES_VARIABLE}. To obtain {place!r}: {kind.obtain}")
    tried = [*(folder / root / sub for root, sub in product(_ROOTS, kind.folders)), folder]
    for home in filter(Path.is_dir, tried):
        scan = _in_home(place, scene, kind, home)
        if scan.glb or scan.basis_glb or scan.instance:
            return scan
    wanted = f"{scene}.scene_instance.json" if kind.composed else _wanted(kind.stem_of(scene), name)
    raise UnknownScene(f"the scene {place!r} is not in {folder}: looked for {wanted} as the published files lie, in "
                       f"{', '.join(str(p.relative_to(folder)) for p in tried[:3])} and the like. "
                       f"To obtain it: {kind.obtain}")


def _wanted(stem: str, name: str) -> str:
    return {"hm3d": f"{stem}.basis.glb or {stem}.glb", "replica": "mesh.ply"}.get(name, f"{stem}.glb")


def _in_home(place: str, scene: str, kind: _Kind, home: Path) -> SceneFiles:
    homes = list(kind.homes_of(home, scene))
    scan = _gather(place, kind.stem_of(scene), homes)
    if kind.composed:
        scan = scan._replace(glb=None, basis_glb=None, instance=_first(homes, f"{scene}.scene_instance.json"))
    return scan._replace(dataset_config=_config(scan, [*homes, home]))


def _gather(place: str, stem: str, homes: Sequence[Path]) -> SceneFiles:
    found = {slot: _first(homes, *(stem + suffix for suffix in suffixes)) for slot, suffixes in _SUFFIXES.items()}
    return SceneFiles(place, found["glb"], found["basis_glb"], found["navmesh"], found["semantic_glb"],
                      found["semantic_txt"], semantic_ply=found["semantic_ply"])


def _first(homes: Iterable[Path], *names: str) -> Path | None:
    return next((home / name for home in homes for name in names if (home / name).is_file()), None)


def _config(scan: SceneFiles, homes: Sequence[Path]) -> Path | None:
    """Return Habitat's config of the data set, at most two folders above the scene: with labels, or without.

    HM3D's annotated config lists only scenes that have labels.
    """
    names = [name for kind in KINDS.values() for name in kind.configs]
    names.sort(key=lambda name: ("annotated" in name) != scan.labelled)
    above = [up for home in homes for up in (home, *home.parents[:2])]
    return next((up / name for name in names for up in above if (up / name).is_file()), None)


_SET, _TILE = 0x4D534554, 0x444E4156  # magic numbers: "MSET" of the file, "DNAV" of a Recast tile
_HEADER = struct.Struct("<3i 5f 2i")  # magic, version, tiles; origin, tile size, maximum tiles and polygons
_SETTINGS_BYTES = 56  # in version 2, after the header
_OF_TILE = struct.Struct("<Ii")  # reference, bytes
_IN_TILE = struct.Struct("<i 68x 6f")  # magic; after counts and the robot's size, the box: minimum, maximum
_MOST_TILES = 1 << 16


class NavmeshBox(NamedTuple):
    """Bounding box of a navigation mesh in metres, Habitat's axes (y up)."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    @property
    def plan_m2(self) -> float:
        """Return the area of the box on the floor plan, which HM-EQA calls the size of a scene."""
        return (self.high[0] - self.low[0]) * (self.high[2] - self.low[2])


def read_box(path: Path) -> NavmeshBox:
    """Return the box around all tiles, like Habitat's PathFinder.get_bounds.

    Raises OSError if the file cannot be read, ValueError if it is not a navigation mesh of version 1 or 2.
    """
    with path.open("rb") as file:
        magic, version, tiles, *_ = _HEADER.unpack(_read(file, _HEADER.size, path))
        if magic != _SET or version not in (1, 2) or not 0 < tiles <= _MOST_TILES:
            raise ValueError(f"{path} is not a navigation mesh of Habitat (version 1 or 2)")
        if version == 2:
            _read(file, _SETTINGS_BYTES, path)
        boxes = [_box(file, path) for _ in range(tiles)]
    corners = np.array(boxes, np.float64)
    low, high = corners[:, 0].min(axis=0).tolist(), corners[:, 1].max(axis=0).tolist()
    found = NavmeshBox((low[0], low[1], low[2]), (high[0], high[1], high[2]))
    if not all(math.isfinite(a) and math.isfinite(b) and a <= b for a, b in zip(found.low, found.high, strict=True)):
        raise ValueError(f"{path} has an invalid bounding box: {found}")
    return found


def _box(file: BinaryIO, path: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    _, size = _OF_TILE.unpack(_read(file, _OF_TILE.size, path))
    magic, *box = _IN_TILE.unpack(_read(file, _IN_TILE.size, path))
    if magic != _TILE or size < _IN_TILE.size:
        raise ValueError(f"{path} contains an invalid tile")
    file.seek(size - _IN_TILE.size, 1)
    return tuple(box[:3]), tuple(box[3:])


def _read(file: BinaryIO, size: int, path: Path) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{path} ends too early")
    return data
