"""Class names from files and from metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.perception.class_names import parse_class_names, read_class_names

CUP_AND_BED = {0: "cup", 1: "double bed"}


@pytest.mark.parametrize(("name", "text"), [
    ("a.txt", "cup\ndouble  bed\n\n"), ("a.names", "\ufeffcup\r\ndouble bed"), ("a.json", '["cup", "double bed"]'),
    ("a.json", '{"id2label": {"0": "cup", "1": "double bed"}, "architectures": ["Detr"]}'),
    ("a.yaml", "names:\n  0: cup\n  1: double bed\npath: data\n"), ("a.yml", "- cup\n- double bed\n"),
    ("a.yaml", "0: cup\n1: double bed\n")])
def test_a_file_may_be_lines_json_or_yaml(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_class_names(tmp_path / name) == CUP_AND_BED


@pytest.mark.parametrize("text", ["{0: 'cup', 1: 'double bed'}", '["cup", "double bed"]', "('cup', 'double bed')",
                                  '{"0": "cup", "1": "double bed"}'])
def test_metadata_are_a_python_or_json_literal(text: str) -> None:
    assert parse_class_names(text, "m.onnx") == CUP_AND_BED


def test_metadata_are_never_executed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="which is no list or dictionary: give detector.names"):
        parse_class_names(f"__import__('pathlib').Path({str(tmp_path / 'x')!r}).touch()", "m.onnx")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(("name", "text", "said"), [
    ("a.txt", "", "has no class names"), ("a.txt", "cup\n\nbed", "1: '': each class needs"),
    ("a.json", "{", "neither JSON nor YAML"), ("a.json", "7", "has no class names"),
    ("a.yaml", "cup: 0", "'cup': 0: each class needs a number from 0"), ("a.json", "[[1]]", "each class needs"),
    ("a.txt", "\udcff", "cannot be read")])
def test_a_file_without_usable_names_is_named(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=said):
        read_class_names(tmp_path / name)
    with pytest.raises(ConfigError, match=r"gone.txt' cannot be read .*one name a line"):
        read_class_names(tmp_path / "gone.txt")
