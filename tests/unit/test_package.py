"""Metadata, files and imports agree with one another."""

from __future__ import annotations

import ast
import configparser
import json
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

import eqa_nodes
from eqa_nodes.launching import PROGRAMS
from eqa_nodes.wire.graph import NODES
from tests.fixtures.paths import ROOT

INTERFACES = ROOT / "ros2_ws" / "src" / "eqa_interfaces"
UNDERLAY = ROOT / "ros2_ws" / "pip_underlay"
ROS = re.compile(r"rclpy|launch(_ros)?|nav2_simple_commander|\w+_(msgs|srvs|interfaces)")
CORE_MAY_IMPORT = {"numpy", "scipy", "numba", "PIL", "open3d", "safetensors", "tokenizers", "spellchecker",
                   "yaml", "eqa_nodes.core"}
NETWORK = {"asyncio", "ftplib", "http", "imaplib", "poplib", "smtplib", "socket", "socketserver", "ssl", "urllib",
           "xmlrpc"}

# RIHS01 hashes of the genuine definitions of ROS 2 Kilted: with another hash our types would never meet the real ones.
GENUINE = {
    "tf2_msgs/msg/TFMessage": "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "vision_msgs/msg/Detection3DArray": "RIHS01_793f5eab9595ac1c0da07873cc859db42eae51f0ee76056db8562515d830e018",
    "nav2_msgs/action/NavigateToPose": "RIHS01_a56dba8a3234a1215e610180dc703ae25bbf406dded8b54887891c9732857eab",
    "nav2_msgs/srv/GetCostmap": "RIHS01_1c3d7c36488ea60fb6ddf76482faf36cee004e29433fea60b8cee011fcd8ad73",
    "nav2_msgs/srv/ClearEntireCostmap": "RIHS01_553f54f9cadab44553fdf5627433fcb6701f71c1fc2eb55a7b4a004fdeeab952",
    "nav2_msgs/action/Spin": "RIHS01_8463b23d8454c92f735dbc77a62138d4e8570570939e39eab993dd63d8442925",
}


@pytest.fixture(scope="module")
def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def data_files(config: configparser.ConfigParser) -> dict[str, list[str]]:
    return {folder: lines(files) for folder, files in config["options.data_files"].items()}


def requires(text: str) -> set[str]:
    """Names of requirements without extras and versions."""
    return set(re.findall(r"^\s*\"?([a-zA-Z][\w-]*)", text, re.MULTILINE))


def ros_wheel(package: str) -> str:
    return "ros-" + package.replace("_", "-")


def depends(package_xml: Path) -> set[str]:
    return {str(node.text) for node in ElementTree.parse(package_xml).getroot() if node.tag.endswith("depend")}


@pytest.mark.parametrize("file", [ROOT / "package.xml", INTERFACES / "package.xml", INTERFACES / "pyproject.toml",
                                  UNDERLAY / "pyproject.toml", UNDERLAY / "tf2_msgs" / "package.xml",
                                  UNDERLAY / "nav2_msgs" / "package.xml", UNDERLAY / "vision_msgs" / "package.xml"],
                         ids=lambda file: str(file.relative_to(ROOT)))
def test_versions_agree(file: Path) -> None:
    found = re.search(r"^(?:  <version>(.*)</version>|version = \"(.*)\")$", file.read_text(), re.MULTILINE)
    assert found and (found[1] or found[2]) == eqa_nodes.__version__


def test_package_xml_names_what_is_imported_and_its_licence() -> None:
    root = ElementTree.parse(ROOT / "package.xml").getroot()
    assert root.get("format") == "3" and root.findtext("export/build_type") == "ament_python"
    files = [path for folder in ("eqa_nodes", "sim_bridge", "launch") for path in (ROOT / folder).rglob("*.py")]
    ros = {name.split(".")[0] for name in imports_of(files) if ROS.fullmatch(name.split(".")[0])}
    assert {"rclpy", "eqa_interfaces"} <= ros <= depends(ROOT / "package.xml")
    assert root.findtext("license") == "Apache-2.0" and "Apache License" in (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("file", [ROOT / "package.xml", INTERFACES / "package.xml"], ids=lambda file: file.parent.name)
def test_package_xml_is_as_a_release_tool_wants_it(file: Path) -> None:
    """Each dependency is named once for each kind; `ros2 launch` is in a package of its own."""
    root = ElementTree.parse(file).getroot()
    named = [(node.tag, node.text) for node in root if node.tag.endswith("depend")]
    assert sorted(named) == sorted(set(named)) and root.get("format") == "3"
    assert all(root.findtext(tag) for tag in ("name", "version", "description", "license"))
    assert "@" in str(root.find("maintainer").get("email"))  # type: ignore[union-attr]
    assert file.parent != ROOT or "ros2launch" in depends(file)
    assert all(str(url.text).startswith("https://") for url in root.findall("url"))


def test_interfaces_of_the_graph_are_declared_in_both_worlds(setup_cfg: configparser.ConfigParser) -> None:
    from eqa_nodes.wire.graph import ACTIONS, SERVICES, TOPICS

    packages = {port.type.split("/")[0] for table in (TOPICS, SERVICES, ACTIONS) for port in table.values()}
    assert packages <= depends(ROOT / "package.xml")
    wheels = requires(setup_cfg["options.extras_require"]["ros"])
    ours = {"eqa_interfaces", "tf2_msgs", "nav2_msgs", "vision_msgs"}
    assert {ros_wheel(name) for name in packages - ours - {"rcl_interfaces"}} <= wheels  # that one comes with rclpy


@pytest.mark.parametrize(
    "package", [INTERFACES, *(UNDERLAY / name for name in ("tf2_msgs", "nav2_msgs", "vision_msgs"))],
    ids=lambda path: path.name)
def test_interface_packages_declare_what_cmake_finds(package: Path) -> None:
    found = set(re.findall(r"find_package\((\w+)", (package / "CMakeLists.txt").read_text()))
    assert found <= depends(package / "package.xml")
    project = package if package == INTERFACES else UNDERLAY
    built_with = requires((project / "pyproject.toml").read_text().split("requires = [")[1].split("]\n")[0])
    assert {ros_wheel(name) for name in found - {"builtin_interfaces"}} <= built_with


def test_users_install_no_tools_of_developers(setup_cfg: configparser.ConfigParser) -> None:
    """Playwright, mypy, Sphinx and Jupyter are 400 MB; `make test`, `make lint` and `make docs` install them."""
    extras = setup_cfg["options.extras_require"]
    tools = set(requires(extras["dev"])) | set(requires(extras["docs"]))
    (chosen,) = re.findall(r"eqa-nodes\[(.*)\]", extras["all"])
    used = {name for extra in chosen.split(",") for name in requires(extras[extra])}
    assert {"playwright", "mypy", "sphinx", "ipykernel"} <= tools and not {"dev", "docs"} & set(chosen.split(","))
    assert not used & {"playwright", "mypy", "sphinx", "ipykernel", "pytest"}
    made = (ROOT / "Makefile").read_text()
    for verb in ("test", "test-fast", "lint", "docs", "pages"):
        assert re.search(rf"^{verb}: .*\bsetup-dev\b", made, re.MULTILINE), verb


def test_every_node_has_an_executable_and_a_main(setup_cfg: configparser.ConfigParser) -> None:
    scripts = [ROOT / file for file in data_files(setup_cfg)["lib/eqa_nodes"]]
    assert {script.name for script in scripts} == {*NODES, *PROGRAMS}
    assert all(script.resolve() == ROOT / "resource" / "node" for script in scripts)
    targets = [spec.target.partition(":")[0] for spec in NODES.values()]
    for target in (*targets, *(f"eqa_nodes.launching.{name}" for name in PROGRAMS)):
        module = ROOT / (target.replace(".", "/") + ".py")
        functions = {node.name for node in ast.parse(module.read_text()).body if isinstance(node, ast.FunctionDef)}
        assert "main" in functions, f"{module} has no main()"


def test_console_script_is_importable(setup_cfg: configparser.ConfigParser) -> None:
    for line in lines(setup_cfg["options.entry_points"]["console_scripts"]):
        module, function = line.split("=")[1].strip().split(":")
        assert callable(getattr(import_module(module), function))


def test_what_is_not_python_is_shipped(setup_cfg: configparser.ConfigParser) -> None:
    patterns = {package: lines(text) for package, text in setup_cfg["options.package_data"].items()}
    shipped = {path for package, globs in patterns.items() for glob in globs
               for path in (ROOT / package.replace(".", "/")).glob(glob)}
    for folder in ("eqa_nodes", "sim_bridge"):
        other = {path for path in (ROOT / folder).rglob("*")
                 if path.is_file() and path.suffix not in (".py", ".pyc", ".nbi", ".nbc")}
        assert other <= shipped, f"not in package_data of setup.cfg: {sorted(map(str, other - shipped))}"
    installed = {path for globs in data_files(setup_cfg).values() for glob in globs for path in ROOT.glob(glob)}
    assert {path for path in (ROOT / "launch").rglob("*") if path.is_file() and path.suffix != ".pyc"} <= installed


def imports_of(files: Iterable[Path]) -> set[str]:
    """Dotted names that Python files import, wherever in the file."""
    names = set()
    for file in sorted(files):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{file}: relative import"
                names.add(str(node.module))
    return names


def forbidden(names: set[str]) -> set[str]:
    """Return those of the imported names that the core may not use."""
    return {name for name in names
            if not any(name == allowed or name.startswith(allowed + ".") for allowed in CORE_MAY_IMPORT)
            and (name.split(".")[0] not in sys.stdlib_module_names or name.split(".")[0] in NETWORK)}


SIMULATORS = ("sim_bridge.habitat", "sim_bridge.house", "sim_bridge.mesh", "sim_bridge.toy")


def within(name: str, packages: Iterable[str]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def test_core_knows_no_ros_no_simulator_no_network() -> None:
    others = {"rclpy.node", "sim_bridge.simulator", "urllib.request", "eqa_nodes.models"}
    assert forbidden(others | {"math", "numpy.linalg", "eqa_nodes.core.types.views"}) == others
    assert forbidden(imports_of((ROOT / "eqa_nodes" / "core").rglob("*.py"))) == set()


def test_nothing_imports_a_concrete_simulator() -> None:
    """The built-in house's own benchmark and its questions do, which are loaded by the names of their data sets.

    And the imitation of drivers, which looks into a house through any lens, and the patrols of its lives.
    """
    own = {ROOT / "eqa_nodes" / path for path in ("testing/imitation.py", "generate/house_roles.py",
                                           "generate/house_directions.py", "tours/weeks.py")}
    files = [path for path in (ROOT / "eqa_nodes").rglob("*.py")
             if ROOT / "eqa_nodes" / "bench" / "house" not in path.parents and path not in own]
    assert {name for name in imports_of(files) if within(name, SIMULATORS)} == set()


def test_simulators_know_no_ros() -> None:
    files = (ROOT / "sim_bridge").rglob("*.py")
    assert not {name for name in imports_of(files) if ROS.fullmatch(name.split(".")[0])}


def test_a_public_class_has_a_name_of_its_own() -> None:
    found: dict[str, list[str]] = {}
    folders = ("eqa_nodes", "sim_bridge", "benchmarks")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_tests_share_fixtures_and_import_no_other_test() -> None:
    imported = re.compile(r"^\s*(?:from|import) tests\.(?!fixtures\b)[\w.]+", re.MULTILINE)
    assert {f"{path.relative_to(ROOT)}: {line}" for path in (ROOT / "tests").rglob("*.py")
            for line in imported.findall(path.read_text())} == set()


@pytest.mark.parametrize("name", sorted(GENUINE))
def test_standard_types_equal_the_genuine_ones(name: str) -> None:
    package, kind, leaf = name.split("/")
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed: make setup, or source a ROS distribution")
    described = Path(spec.origin).parents[4] / "share" / package / kind / f"{leaf}.json"
    hashes = {entry["type_name"]: entry["hash_string"] for entry in json.loads(described.read_text())["type_hashes"]}
    assert hashes[name] == GENUINE[name]
