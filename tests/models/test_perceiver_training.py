"""Training of the perceiver: a step depends on the seed and its number alone, losses fall, and files are complete."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from tests.fixtures.needs import need_training
from tests.fixtures.perceiver_weights import save_weights
from tests.fixtures.training_views import write_boxes

need_training()

import onnxruntime
import torch

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.core.perception.vectors import open_words
from eqa_nodes.learn.export import HeadScales, scales_of, write_perceiver
from eqa_nodes.learn.network import FEATURES, VECTOR, PerceiverNetwork, Sizes, of_pixels
from eqa_nodes.learn.perceiver_run import PerceiverRun, draw_all, finish, scenes_of, train
from eqa_nodes.learn.pool import batches, room_kind, vocabulary_of
from eqa_nodes.learn.start import begin_with
from eqa_nodes.learn.training import Training, TrainingConfig, possible_states, rate_at
from eqa_nodes.learn.training_inputs import augmented
from eqa_nodes.learn.views import ViewsConfig, draw_views
from eqa_nodes.perception import open_detector
from eqa_nodes.perception.words import space_of

SMALL = TrainingConfig(steps=6, batch=2)


@pytest.fixture
def files(tmp_path):
    return [write_boxes(tmp_path / f"{k}.npz", seed=k) for k in range(3)]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_the_vocabulary_has_the_names_of_the_views(files):
    known = vocabulary_of(files)
    assert known.kinds == ("", "suitcase", "toy box") and known.states_of == {"toy box": ("open",)}
    assert known.rooms == ("", "bedroom")  # the second bedroom is one
    assert room_kind("second bedroom", known.rooms) == "bedroom" and room_kind("attic", known.rooms) == "attic"
    assert possible_states(known).tolist() == [[True, False], [True, False], [True, True]]


def test_a_batch_numbers_surroundings_by_view_and_then_the_objects(files):
    batch = next(batches(files, vocabulary_of(files), 3, 0))
    assert batch.classes.shape == (9, 5) and not batch.classes[:3].any() and batch.classes[3:, 0].all()
    for n, segments in enumerate(batch.segments):
        assert set(np.unique(segments).tolist()) == {n, 3 + 2 * n, 4 + 2 * n}
        assert batch.rgb[n, 1::2, 1::2][segments == 3 + 2 * n].mean(0).argmax() == 0  # the first one is the red box


def test_batches_continue_where_a_run_was_interrupted(files):
    known = vocabulary_of(files)
    every = list(islice(batches(files, known, 2, 5), 9))
    later = list(islice(batches(files, known, 2, 5, first=4), 5))
    assert all(np.array_equal(a.rgb, b.rgb) for a, b in zip(every[4:], later, strict=True))


def test_too_few_views_for_a_batch_are_named(files):
    with pytest.raises(ConfigError, match="too few views for one batch of 100"):
        next(batches(files, vocabulary_of(files), 100, 0))


def test_a_mirrored_view_has_mirrored_segments(files):
    batch = next(batches(files, vocabulary_of(files), 4, 0))
    planes, segments = augmented(batch, np.random.default_rng(0))
    turned = [k for k in range(4) if not np.array_equal(segments[k], batch.segments[k])]
    assert 0 < len(turned) < 4
    for k in range(4):
        red = segments[k] == segments[k][segments[k] >= 4].min()
        assert planes[k, 0, 1::2, 1::2][red].mean() > planes[k, 2, 1::2, 1::2][red].mean() + 0.2


def test_an_interrupted_run_ends_with_the_same_weights(files, tmp_path):
    whole = Training(tmp_path / "whole", files, SMALL)
    list(whole.steps())
    begun = Training(tmp_path / "parts", files, SMALL)
    list(islice(begun.steps(), 3))
    begun.save()
    ended = Training(tmp_path / "parts", files, SMALL)
    assert ended.step == 3
    list(ended.steps())
    for a, b in zip(whole.averaged.state_dict().values(), ended.averaged.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_other_settings_do_not_continue_a_run(files, tmp_path):
    Training(tmp_path, files, SMALL).save()
    with pytest.raises(ConfigError, match="continue with the same settings"):
        Training(tmp_path, files, TrainingConfig(steps=7, batch=2))


def test_a_loss_that_is_no_number_ends_the_run_before_the_weights_change(files, tmp_path):
    training = Training(tmp_path, files, SMALL)
    training.save()
    with torch.no_grad():
        next(training.network.backbone.parameters()).fill_(torch.nan)
    with pytest.raises(ModelError, match="the loss of step 1 is nan"):
        next(training.steps())
    assert Training(tmp_path, files, SMALL).step == 0
    assert all(bool(torch.isfinite(v).all()) for v in Training(tmp_path, files, SMALL).network.state_dict().values())


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"PK\x03\x04 cut"])
def test_a_checkpoint_that_cannot_be_read_is_named(files, tmp_path, content):
    (tmp_path / "checkpoint.pt").write_bytes(content)
    with pytest.raises(ConfigError, match=r"checkpoint\.pt cannot be read .*: delete it"):
        Training(tmp_path, files, SMALL)


def test_training_learns_to_tell_two_boxes_apart(files, tmp_path):
    training = Training(tmp_path, files, TrainingConfig(steps=40, batch=4, rate=3e-3))
    losses = [float(loss.pixels.detach()) for _, loss in training.steps()]
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])


def test_the_learning_rate_rises_and_falls():
    rates = [rate_at(step, 4000) for step in range(4000)]
    assert rates[0] < 0.01 and max(rates) == rates[299] == 1.0 and rate_at(0, 10) == 1.0 and rates[-1] < 1e-4


def test_the_written_models_compute_what_the_network_computes(files, tmp_path):
    training = Training(tmp_path, files, SMALL)
    list(training.steps())
    network, known = training.averaged.eval(), training.vocabulary
    write_perceiver(network, known, HeadScales((1.0, 1.0, 1.0, 2.0, 1.0), 1.0), tmp_path / "weights", "a test")
    pixels = onnxruntime.InferenceSession(tmp_path / "weights" / "perceiver.onnx")
    picture = np.random.default_rng(0).random((1, 6, 240, 320), np.float32)
    kind, confidence, features = pixels.run(["kind", "confidence", "features"], {"picture": picture})
    with torch.no_grad():
        wanted = of_pixels(*network.backbone(torch.from_numpy(picture))[:2])
        shares = network.kinds(wanted.permute(0, 2, 3, 1)).softmax(3)
    assert np.abs(features - wanted.numpy()).max() < 2e-2 and kind.dtype == np.uint8
    assert np.abs(confidence - shares.amax(3).numpy()).max() < 1e-2
    heads = onnxruntime.InferenceSession(tmp_path / "weights" / "heads.onnx")
    pooled = np.random.default_rng(1).random((3, 2 * FEATURES), np.float32)
    *logits, vector = heads.run(["kind", "colour", "material", "state", "room", "vector"], {"pooled": pooled})
    with torch.no_grad():
        *said, same = network.heads(torch.from_numpy(pooled))
    assert np.abs(vector - same.numpy()).max() < 1e-2
    assert np.abs(logits[0] - said[0].numpy()).max() < 1e-2 and np.abs(2 * logits[3] - said[3].numpy()).max() < 1e-2
    about = json.loads(dict(pixels.get_modelmeta().custom_metadata_map)["perceiver"])
    assert about["kinds"] == list(known.kinds) and about["format"] == 1


def save_run(files, folder):
    """Train, write the weights, and return their folder."""
    training = Training(folder, files, SMALL)
    list(training.steps())
    write_perceiver(training.averaged, training.vocabulary, HeadScales((1.0,) * 5, 1.0), folder / "weights", "a test")
    return folder / "weights"


def test_a_run_begins_with_the_weights_of_another_one_and_keeps_what_they_compute(files, tmp_path):
    training = Training(tmp_path, files, SMALL)
    list(training.steps())
    known = training.vocabulary
    write_perceiver(training.averaged, known, HeadScales((1.0,) * 5, 1.0), tmp_path / "weights", "a test")
    more = replace(known, kinds=("", "a new kind", *reversed(known.kinds[1:])))
    torch.manual_seed(5)
    network = PerceiverNetwork(Sizes(*map(len, more.names())))
    begin_with(network, more, str(tmp_path / "weights"), islice(batches(files, known, 2, 0), 2))
    picture = torch.from_numpy(np.random.default_rng(0).random((1, 6, 240, 320), np.float32))
    with torch.no_grad():
        wanted, found = (of_pixels(*one.eval().backbone(picture)[:2]) for one in (training.averaged, network))
        logits = [one.kinds(wanted.permute(0, 2, 3, 1)) for one in (training.averaged, network)]
    assert torch.allclose(wanted, found, atol=2e-2)
    order = [more.kinds.index(kind) for kind in known.kinds]
    assert torch.allclose(logits[0], logits[1][..., order], atol=2e-2)
    variances = [m.running_var for m in network.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert len({round(float(v[0]), 4) for v in variances}) > len(variances) / 2, "they are those of the views"


def test_a_run_that_begins_with_other_weights_says_so(files, tmp_path):
    folder = save_run(files, tmp_path / "first")
    (folder / "report.md").write_text("# How these weights were trained\n\non cups\n")
    run = PerceiverRun(tmp_path / "second", ("house:1",), ("house:2",), training=SMALL, start=str(folder))
    (run.folder / "views").mkdir(parents=True)
    for file, name in zip(files, ("house_1", "house_2"), strict=False):
        (run.folder / "views" / f"{name}.npz").write_bytes(file.read_bytes())
    assert [point.step for point in train(run)] == [SMALL.steps]
    report = (finish(run) / "report.md").read_text()
    assert f"begun with the weights {folder}" in report
    assert report.endswith(f"\n## Before: the weights `{folder}`\n\non cups\n") and report.count("\n# ") == 0


def test_weights_of_another_network_are_not_begun_with(files, tmp_path):
    known = Training(tmp_path, files, SMALL).vocabulary
    other = replace(known, kinds=("", "cup", "lamp"))
    with pytest.raises(ConfigError, match="is of another network"):
        begin_with(PerceiverNetwork(Sizes(*map(len, other.names()))), other, str(save_weights(tmp_path / "tiny")), ())


def test_temperatures_are_found_for_every_head(files, tmp_path):
    training = Training(tmp_path, files, SMALL)
    found = scales_of(training.averaged, training.vocabulary, batches(files, training.vocabulary, 2, 0), 1)
    assert len(found.temperatures) == 5 and all(0.5 <= t <= 4 for t in found.temperatures) and found.length > 0


def test_scenes_are_ranges_names_or_folders(tmp_path):
    assert scenes_of("house:2-4, toy:3") == ("house:2", "house:3+1", "house:4", "toy:3")
    (tmp_path / "flat.glb").touch()
    assert scenes_of(str(tmp_path)) == (f"mesh:{tmp_path / 'flat.glb'}",)
    for text in ("", str(tmp_path / "empty")):
        with pytest.raises(ConfigError, match="names no scenes"):
            scenes_of(text)


def test_a_run_draws_trains_and_writes_weights(tmp_path):
    run = PerceiverRun(tmp_path, ("house:3",), ("house:900",), ViewsConfig(1, 6), TrainingConfig(steps=2, batch=2),
                       workers=1)
    shown = []
    assert draw_all(run, lambda *done: shown.append(done)) == {} and len(shown) == 2
    points = list(train(run))
    assert points[-1].step == 2 and 0 <= points[-1].validation["pixels"] <= 1
    assert list(train(run)) == []  # it is done
    folder = finish(run)
    about = json.loads((folder / "perceiver.json").read_text())
    assert set(about["sha256"]) == {"perceiver.onnx", "heads.onnx", "words.npz"}
    assert "2 steps of 2 views" in about["trained"]
    assert "| pixels |" in (folder / "report.md").read_text()
    (shown, _), *_ = draw_views("house:3", ViewsConfig(1, 1))
    assert isinstance(open_detector(DetectorConfig("perceiver", str(folder)), ()).detect(shown, {}), list)
    with np.load(folder / "words.npz", allow_pickle=False) as stored:
        kind = str(stored["kind_names"][1])
    fit = open_words(space_of(folder)).fit(f"the {kind}", np.eye(VECTOR))
    assert fit is not None and ((fit > 0) & (fit < 1)).all()


def test_scenes_without_labels_are_named(tmp_path):
    run = PerceiverRun(tmp_path, ("toy:nowhere",), ("toy:nowhere",), ViewsConfig(1, 2), SMALL, workers=1)
    with pytest.raises(ConfigError, match="no views for training"):
        draw_all(run, lambda *done: None)
