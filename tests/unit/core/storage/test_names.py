"""Names that data chose make no path outside: ids of questions and episodes, histories, files of a run, bags."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.running.predictions import PREDICTIONS
from eqa_nodes.bench.running.runner import EPISODES, run_benchmark
from eqa_nodes.bench.samples import check_samples
from eqa_nodes.config.graph import merged
from eqa_nodes.core.errors import ConfigError, EqaError, StorageError, UnknownScene
from eqa_nodes.core.storage.text import by_number, file_name, inside
from eqa_nodes.core.types.questions import Answer, Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import EM, EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.history_views import ViewSelection
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.runners.sources import source_finder
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup
from tests.fixtures.histories import walk
from tests.fixtures.scripted_runner import ScriptedRunner
from tests.fixtures.synthetic_run import make_run

HOSTILE = ("../../x", "/etc/passwd", "..", ".", "a/../../b", "~/x", "-rf", "con", "NUL.txt", "line\nbreak", "c:\\x",
           "..\\..\\x", "x" * 5000, "ünï ¢öde", ".hidden", "trailing.", "$(id)", "%2e%2e/x", "a\0b", "\u202egnp.exe")
WHOLE = tuple(name for name in HOSTILE if "\0" not in name)  # what a data set may hold


@given(st.text(st.characters()) | st.sampled_from(HOSTILE))
def test_any_text_makes_one_file_of_a_plain_name(text: str) -> None:
    name = file_name(text)
    assert name not in (".", "..") and name == Path(name).name and len(name) <= 100
    assert name.isascii() and name.isprintable() and name[0] not in "-." and " " not in name
    assert file_name(name) == name


@given(st.lists(st.text(st.characters(), max_size=4) | st.sampled_from(HOSTILE), unique=True, max_size=20))
def test_different_texts_stay_different(texts: list[str]) -> None:
    assert len({file_name(text) for text in texts}) == len(texts)


@pytest.mark.parametrize("plain", ["house-3-q7", "00826-BFRyYbPCCPE", "q_1.2", "7"])
def test_a_plain_name_stays_as_it_is(plain: str) -> None:
    assert file_name(plain) == plain


@given(st.text(st.characters(), min_size=1) | st.sampled_from(HOSTILE) | st.lists(
    st.sampled_from(["..", "a", "b", "", "/", "\0"]), min_size=1).map("/".join))
def test_what_lies_inside_stays_inside(name: str) -> None:
    folder = Path("/data/histories")
    with suppress(StorageError):
        path = inside(folder, name)
        assert ".." not in path.parts and path.is_relative_to(folder) and "\0" not in str(path)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../b", "..\\x", "c:\\x", "a\0", "", "x" * 300])
def test_what_lies_outside_is_refused(name: str) -> None:
    with pytest.raises(StorageError, match="must be relative"):
        inside(Path("data"), name)


def files_under(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_a_run_of_hostile_ids_writes_into_its_folder_only(tmp_path: Path) -> None:
    samples = [Sample(name, "Where is it?", "there") for name in WHOLE]
    runner = ScriptedRunner({name: EpisodeResult(name, Answer("there", 1.0), trace=EpisodeTrace(answer=Answer("there")))
                             for name in WHOLE})
    out = tmp_path / "deep" / "down" / "run"
    run_benchmark(samples, runner, out, task=EM, preflight=lambda sample: None)
    write_report(out)
    assert files_under(tmp_path) == files_under(out)
    folders = sorted(path.name for path in (out / EPISODES).iterdir() if path.is_dir())
    assert folders == [f"{i:04d}-{file_name(name)}" for i, name in enumerate(WHOLE)]


def test_the_memory_of_a_hostile_id_lies_in_its_folder(tmp_path: Path) -> None:
    memory = tmp_path / "a" / "memory"
    with closing(InProcessRunner(merged(None, {"memory": {"folder": str(memory)}}), Limits(steps=1))) as runner:
        result = runner.run(Sample("../../stolen", "Where is the plant?", "", scene="toy:flat"))
    assert not result.answer.error
    assert {path.parent for path in files_under(tmp_path)} == {memory}


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
@pytest.mark.parametrize("field", ["id", "question", "scene"])
def test_text_that_is_none_is_refused_with_its_data_set(text: str, field: str) -> None:
    fields = {"id": "q", "question": "Where is it?", "answer": "there", "scene": "", field: text}
    with pytest.raises(ConfigError, match="invalid character"):
        check_samples([Sample(**fields)])


@pytest.mark.parametrize("name", ["../secret", "/etc", "hm3d/../../secret"])
def test_a_history_outside_the_named_folder_is_not_opened(name: str, tmp_path: Path) -> None:
    write_bag(walk(2), tmp_path / "secret")
    (tmp_path / "histories").mkdir()
    find = source_finder(tmp_path / "histories", (64, 48), ViewSelection("uniform", 4, False))
    with pytest.raises(StorageError, match="must be relative"):
        find(Sample("q", "Where is it?", "there", metadata={"episode_history": name}))


@pytest.mark.parametrize("name", ["../../secret.zip", "/etc/passwd"])
def test_the_trace_of_a_strange_run_is_read_from_its_folder_only(name: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    lines = [json.loads(line) for line in (run / PREDICTIONS).read_text().splitlines()]
    (run / PREDICTIONS).write_text("".join(json.dumps({**line, "trace": name}) + "\n" for line in lines))
    pages = write_report(run).parent.rglob("*.html")
    assert any("must be relative" in page.read_text() for page in pages)


def test_a_bag_names_files_of_its_own_folder_only(tmp_path: Path) -> None:
    write_bag(walk(2), tmp_path / "other")
    write_bag(walk(3), tmp_path / "bag")
    file = tmp_path / "bag" / "metadata.yaml"
    facts = yaml.safe_load(file.read_text())
    for key in ("relative_file_paths", "files"):
        facts["rosbag2_bagfile_information"][key] = ["../other/other_0.mcap"] if key != "files" else []
    file.write_text(yaml.safe_dump(facts))
    with pytest.raises(StorageError, match="missing"):
        open_history(tmp_path / "bag")


def test_metadata_that_grows_when_it_is_read_is_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    laughs = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'ha'}]" for i in range(60))
    (tmp_path / "bag" / "metadata.yaml").write_text(f"{laughs}\nrosbag2_bagfile_information: *a59\n")
    with pytest.raises(StorageError, match="cannot be read"):
        open_history(tmp_path / "bag")


@pytest.mark.parametrize("scene", ["house:../../x", "house:", "house:/etc/passwd", "toy:../flat", "../x", "",
                                   "os:system", "house:1\n", "house:99999999999"])
def test_a_hostile_scene_is_unknown(scene: str) -> None:
    with pytest.raises(EqaError) as found, closing(open_simulator(scene)) as simulator:
        simulator.reset(EpisodeSetup(scene, "e", None, 0, RobotModel()))
    assert isinstance(found.value, UnknownScene)


def test_files_are_sorted_by_their_numbers() -> None:
    names = ["10.png", "2.png", "img_10.png", "img_9.png", "1.png", "01.png", f"{'9' * 200}.png", "a.png"]
    assert sorted(names, key=by_number) == ["01.png", "1.png", "2.png", "10.png", f"{'9' * 200}.png",
                                            "a.png", "img_9.png", "img_10.png"]
