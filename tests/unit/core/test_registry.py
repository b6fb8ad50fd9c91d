"""Names of components: built in, of installed packages, of a module; and what is wrong with each, in words."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eqa_nodes.config.nodes import ExplorerSettings
from eqa_nodes.config.parameters import build, parameters_of
from eqa_nodes.config.policies import make_policy, policy_parameters
from eqa_nodes.core.components import BACKENDS, POLICIES
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.registry import Registry
from eqa_nodes.core.traits import Traits
from sim_bridge.registry import has_simulator, simulator_of

GROUP = "eqa_nodes.policies"
MODULE = '''
from dataclasses import dataclass
from eqa_nodes.core.settings import setting
from eqa_nodes.core.policies.frontier_policy import RandomPolicy
from eqa_nodes.core.traits import PolicyTraits

@dataclass(frozen=True)
class Config:
    pace: int = setting(3, "how fast")

class Walk(RandomPolicy):
    traits = PolicyTraits(config=Config)
    def __init__(self, config=None, robot=None):
        super().__init__(None, robot)
        self.config = config

class Strange(RandomPolicy):
    traits = "none"
'''


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that packages are found in, with a module acme_walk."""
    (tmp_path / "acme_walk.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("acme_walk", None)
    return tmp_path


def install(site: Path, package: str, entries: str, group: str = GROUP) -> None:
    """Put the metadata of a package there, as pip does."""
    info = site / f"{package}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entries}\n")
    sys.path[:] = [*sys.path[1:], sys.path[0]]  # what is installed is looked up anew when the path changes


def test_a_package_adds_a_policy_with_its_parameters(site: Path) -> None:
    install(site, "acme", "walk-far = acme_walk:Walk")
    assert "walk-far" in POLICIES
    described = {p.name: p for p in parameters_of(ExplorerSettings)}["params.walk_far.pace"]
    assert (described.default, described.description) == (3, "how fast")
    settings = build(ExplorerSettings, {"policy": "walk-far", "params.walk_far.pace": 5})
    policy = make_policy(settings.policy, settings.params, settings.robot)
    assert policy.config.pace == 5  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"params\.walk_far\.pice"):
        build(ExplorerSettings, {"params.walk_far.pice": 5})


def test_a_class_of_a_module_needs_no_package(site: Path) -> None:
    assert type(make_policy("acme_walk:Walk")).__name__ == "Walk" and "acme_walk:Walk" not in POLICIES
    settings = build(ExplorerSettings, {"policy": "acme_walk:Walk", "params.Walk.pace": 7})
    assert make_policy(settings.policy, settings.params).config.pace == 7  # type: ignore[attr-defined]
    assert "params.Walk.pace" in {p.name for p in parameters_of(type(settings))} and settings.params.best.leg_m == 3.0
    with pytest.raises(ConfigError, match=r"params\.Walk\.pace"):
        build(ExplorerSettings, {"params.Walk.pace": 7})
    with pytest.raises(ConfigError, match=r"policy 'acme_walk:Run' cannot be imported: .*Run"):
        make_policy("acme_walk:Run")
    with pytest.raises(ConfigError, match="No module named 'acme_run'"):
        make_policy("acme_run:Run")
    with pytest.raises(ConfigError, match=r"traits are 'none': expected a PolicyTraits"):
        POLICIES.traits("acme_walk:Strange")


def test_a_name_that_two_claim_is_refused_and_both_are_named(site: Path) -> None:
    install(site, "acme", "best = acme_walk:Walk\nwalk = acme_walk:Walk")
    install(site, "other", "walk = acme_walk:Walk")
    with pytest.raises(ConfigError, match=r"'best' is registered by eqa-nodes \(.*\) and by acme 1\.2 \(acme_"):
        make_policy("best")
    with pytest.raises(ConfigError, match=r"acme 1\.2 .* and by other 1\.2"):
        make_policy("walk")
    assert type(make_policy("topo")).__name__ == "TopoPolicy"


def test_a_broken_package_is_named_when_it_is_asked_for_and_listing_goes_on(site: Path) -> None:
    (site / "broken.py").write_text("import nothing_of_that_name\n")
    install(site, "acme", "broken = broken:Policy\nwalk = acme_walk:Walk")
    assert {"broken", "walk", "best"} <= set(POLICIES)
    assert hasattr(policy_parameters(), "walk") and not hasattr(policy_parameters(), "broken")
    with pytest.raises(ConfigError, match=r"'broken' of the package acme 1\.2 \(broken:Policy\).*nothing_of_that_name"):
        make_policy("broken")


def test_an_unknown_name_lists_the_known_ones_and_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"unknown policy 'bst' \(did you mean best\?\): known are aqnav, best, "
                       r".*topo; .*package\.module:Class"):
        POLICIES.check("bst")
    monkeypatch.setattr("eqa_nodes.core.registry.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"openai \(pip install 'eqa-nodes\[vlm\]'\), scripted, simulated, trans"):
        BACKENDS["gpt"]


def test_a_component_is_registered_for_this_process_alone() -> None:
    registry = Registry("thing", "eqa_nodes.nothing", {"list": "builtins:list"}, Traits())
    registry["mine"] = dict
    assert list(registry) == ["list", "mine"] and len(registry) == 2 and registry.make("mine") == {}
    assert registry["list"] is list and registry.get("yours") is None and registry.traits("mine") == Traits()
    del registry["mine"]
    assert list(registry) == ["list"]


@pytest.mark.parametrize(("scene", "simulator", "opens"), [
    ("house:7", "house", True), ("mesh:C:x", "mesh", True), ("maze:Maze:3", "maze:Maze", True),
    ("moon:3", "moon", False), ("nowhere", "", False)])
def test_what_opens_a_scene(scene: str, simulator: str, opens: bool) -> None:
    assert simulator_of(scene) == simulator and has_simulator(scene) == opens


def test_a_page_of_names_is_not_listed_where_one_is_like_the_wrong_one() -> None:
    few, many = ["params.side", "policy"], [f"params.side_{i}" for i in range(60)]
    assert unknown("parameter", "params.sied", few) == ("unknown parameter 'params.sied' (did you mean params.side?): "
                                                        "known are params.side, policy")
    assert unknown("parameter", "params.sied_7", many).endswith("(did you mean params.side_7 or params.side_57?)")
    assert unknown("parameter", "xyzzy", many).count("params.side_") == 60
