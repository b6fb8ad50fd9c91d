"""Local models on a GPU: they say what they say on the CPU, threads do not mix, and memory comes back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.model import Message
from eqa_nodes.core.perception.detection import Detection, DetectorConfig
from eqa_nodes.models import make_backend
from eqa_nodes.perception import open_detector
from eqa_nodes.perception.loading import PictureEmbedder
from tests.fixtures import tiny_detectors, tiny_models
from tests.fixtures.frames import frame
from tests.fixtures.needs import need_gpu
from tests.fixtures.tiny_models import jpeg, save_tiny

need_gpu()

import torch

MENU = ("red", "blue", "green")
NAMES = ("chair", "coffee table", "bed", "cup")
MB = 2**20


def asked(number: int, *sizes: tuple[int, int]) -> tuple[Message, ...]:
    pictures = [jpeg(width, height, number) for width, height in sizes or ((48, 40), (90, 30))]
    return Message("system", ("Look.",)), Message("user", (*pictures, f"What is number {number}?"))


def backend(folder: Path, device: str, dtype: str = "float32", **options: Any) -> Any:
    """Return the model with weights of its last layer so large that it is sure of what it says."""
    made = make_backend("transformers", model=str(folder), device=device, dtype=dtype, **options)
    with torch.no_grad():
        made._loaded.model.lm_head.weight *= 8.0
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny("qwen2_5_vl", tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def detectors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("detectors")
    return {kind: tiny_detectors.save_tiny(kind, root / kind) for kind in tiny_detectors.KINDS}


@pytest.mark.parametrize("kind", tiny_models.KINDS)
@pytest.mark.parametrize(("dtype", "off"), [("float32", 1e-3), ("bfloat16", 0.05)])
def test_the_gpu_chooses_as_the_cpu_does(kind: str, dtype: str, off: float, tmp_path: Path) -> None:
    if kind == "smolvlm2" and find_spec("num2words") is None:
        pytest.skip("num2words is not installed: pip install 'eqa-nodes[local]'")
    here, there = backend(save_tiny(kind, tmp_path), "cpu"), backend(tmp_path, "cuda", dtype)
    spread, worst = 0.0, 0.0
    for number in range(6):
        wanted, found = (np.array(b.choose(asked(number), MENU).probabilities) for b in (here, there))
        spread, worst = max(spread, float(np.ptp(wanted))), max(worst, float(np.abs(wanted - found).max()))
        if dtype == "float32":
            assert here.generate(asked(number), 8) == there.generate(asked(number), 8)
    print(f"{kind} {dtype}: probabilities {worst:.2g} off, spread {spread:.2g}")
    assert worst < off and spread > 0.2


def test_the_default_is_the_gpu_in_bfloat16_and_a_card_may_be_named(folder: Path) -> None:
    model = make_backend("transformers", model=str(folder))
    assert (model.device.type, model.dtype) == ("cuda", torch.bfloat16)
    assert make_backend("transformers", model=str(folder), device="cuda:0").choose(asked(1), MENU).how == "logits"


@pytest.mark.parametrize("name", ["auto", "gpu", f"cuda:{torch.cuda.device_count()}"])
def test_a_device_that_there_is_not_is_named_with_those_that_there_are(folder: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"model.device is '{name}'.*Use cuda:0, .*cpu, or"):
        make_backend("transformers", model=str(folder), device=name)
    with pytest.raises(ConfigError, match=f"detector.device is '{name}'.*Use cuda:0, .*cpu, or"):
        PictureEmbedder(DetectorConfig(embedder=str(folder), device=name))
    assert make_backend("transformers", model=str(folder), device="cuda").generate(asked(1), 2).tokens_out == 2


def test_the_seed_decides_on_the_gpu_too(folder: Path) -> None:
    warm = backend(folder, "cuda", temperature=3.0)
    torch.manual_seed(5)
    expected = torch.rand(3, device="cuda")
    torch.manual_seed(5)
    texts = [warm.generate(asked(1), 20, seed).text for seed in (0, 1, 0)]
    assert texts[0] == texts[2] != texts[1]
    assert torch.equal(torch.rand(3, device="cuda"), expected), "the random numbers of others"


def test_threads_do_not_mix_up_replies(folder: Path) -> None:
    model = backend(folder, "cuda", "bfloat16")
    calls: list[Callable[[int], Any]] = [lambda n: model.generate(asked(n, *[(40, 40)] * (1 + n % 3)), 8),
                                         lambda n: model.choose(asked(n), MENU)]
    wanted = [calls[n % 2](n) for n in range(12)]
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: calls[n % 2](n)})) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert [found.get(n) for n in range(12)] == wanted


@pytest.mark.parametrize("kind", ["owlvit", "owlv2", "grounding-dino"])
def test_detectors_find_the_same(detectors: dict[str, Path], kind: str) -> None:
    here, there = (detected(detectors, kind, device) for device in ("cpu", "cuda"))
    assert len(here) == len(there) > 3
    off = max(abs(a.score - b.score) for a, b in zip(here, there))
    apart = max(float(np.abs(np.subtract(a.box, b.box)).max()) for a, b in zip(here, there))
    unlike = 1.0 - min(float(a.vector @ b.vector) for a, b in zip(here, there))  # type: ignore[operator]
    differing = max(float(np.mean(a.mask != b.mask)) for a, b in zip(here, there))
    print(f"{kind}: scores {off:.2g} off, boxes {apart:.0f} px, masks {differing:.2g}, vectors {unlike:.2g}")
    assert [d.name for d in here] == [d.name for d in there]
    assert off < 1e-3 and apart <= 1 and differing < 0.01 and unlike < 1e-3


def detected(detectors: dict[str, Path], kind: str, device: str, **more: Any) -> list[Detection]:
    config = DetectorConfig("transformers", str(detectors[kind]), threshold=0.0, device=device, batch=5,
                            segmenter=str(detectors["sam"]), embedder=str(detectors["clip"]), **more)
    pixels = np.random.default_rng(1).integers(0, 255, (48, 64, 3), np.uint8)
    found = list(open_detector(config, NAMES).detect(replace(frame(1), rgb=pixels), {}))
    return sorted(found, key=lambda d: (d.name, d.box))


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_embeddings_are_the_same(detectors: dict[str, Path], kind: str) -> None:
    crops = [np.random.default_rng(n).integers(0, 255, (3 + n, 9, 3), np.uint8) for n in range(5)]
    vectors = []
    for device, dtype in (("cpu", ""), ("cuda", ""), ("cuda", "bfloat16")):
        embedder = PictureEmbedder(DetectorConfig(embedder=str(detectors[kind]), device=device, dtype=dtype))
        vectors.append(np.concatenate([embedder.pictures(crops), embedder.texts(["a chair", "a bed"])]))
    same = [float((vectors[0] * other).sum(axis=1).min()) for other in vectors[1:]]
    print(f"{kind}: least cosine {same[0]:.6f} in float32, {same[1]:.6f} in bfloat16")
    assert same[0] > 0.9999 and same[1] > 0.99


@contextmanager
def full() -> Iterator[None]:
    """Take all memory of the card but for a few hundred kB."""
    torch.cuda.empty_cache()
    ballast, size = [], 2**32
    while size >= MB // 2:
        try:
            ballast.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            size //= 2
    try:
        yield
    finally:
        ballast.clear()
        torch.cuda.empty_cache()


def test_a_full_card_has_a_name_and_the_next_call_works_again(folder: Path) -> None:
    model = backend(folder, "cuda", batch=64)
    long = [Message("user", (f"{n} " * 600,)) for n in range(64)]
    expected, before = model.generate(asked(1), 8), torch.cuda.memory_allocated()
    with full(), pytest.raises(ModelError, match=r"^out of memory: .* on cuda.*model.batch 1") as kept:
        model.generate_many([[message] for message in long], 4)
    assert kept.value.__cause__ is not None and torch.cuda.memory_allocated() <= before + MB
    assert model.generate(asked(1), 8) == expected
    assert len(model.generate_many([[message] for message in long], 4)) == 64


def test_a_detector_on_a_full_card_has_a_name_and_works_again(detectors: dict[str, Path]) -> None:
    embedder = PictureEmbedder(DetectorConfig(embedder=str(detectors["clip"]), device="cuda", batch=2000))
    crops = [np.full((9, 9, 3), n % 256, np.uint8) for n in range(2000)]
    with full(), pytest.raises(ModelError, match=r"^out of memory: .*detector.batch 1"):
        embedder.pictures(crops)
    assert embedder.pictures(crops).shape == (2000, 16)


def test_a_model_that_does_not_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    save_tiny("smolvlm", tmp_path, wide=True)
    before = torch.cuda.memory_allocated()
    with full(), pytest.raises(ConfigError, match=r"does not fit on cuda.*model.dtype") as kept:
        make_backend("transformers", model=str(tmp_path), device="cuda")
    assert kept.value.__cause__ is not None and torch.cuda.memory_allocated() <= before
    make_backend("transformers", model=str(tmp_path), device="cuda").close()


def test_memory_comes_back_when_a_model_is_closed(folder: Path, tmp_path: Path) -> None:
    backend(folder, "cuda").generate(asked(1), 4)  # what cuBLAS keeps for the whole process
    save_tiny("smolvlm", tmp_path, wide=True)
    before = torch.cuda.memory_allocated()
    for _ in range(3):
        model = make_backend("transformers", model=str(tmp_path), device="cuda")
        model.generate(asked(1), 4)
        held = torch.cuda.memory_allocated() - before
        model.close()
        after = torch.cuda.memory_allocated() - before
        print(f"held {held / MB:.1f} MB, after {after / MB:.1f} MB")
        assert held > 4 * MB and after < MB // 2
