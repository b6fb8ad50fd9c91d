"""No code comes from data: what could run some is called only in the places that are listed here, with reasons."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.recordings.bags.writer import definition
from tests.fixtures.paths import ROOT

SOURCES = sorted([*(ROOT / "eqa_nodes").rglob("*.py"), *(ROOT / "sim_bridge").rglob("*.py"),
                  *(ROOT / "launch").rglob("*.py")])
MODULES = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle", "jsonpickle", "code", "codeop",
           "pty", "telnetlib", "imp", "lxml", "xml.sax", "xml.dom", "xml.etree.ElementTree.parse"}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv", "os.execvp", "os.spawnv",
         "pickle.load", "pickle.loads", "yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load",
         "torch.load", "tempfile.mktemp", "builtins.eval", "builtins.exec",
         "ElementTree.parse", "ElementTree.fromstring", "ElementTree.XML", "ElementTree.iterparse"}
ENDS = {"extractall", "import_module", "run_module", "run_path", "exec_module", "create_subprocess_exec",
        "create_subprocess_shell", "from_string", "literal_eval"}
PROGRAMS = {"subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call",
            "subprocess.check_output"}

BAD = {"shell": "True", "allow_pickle": "True", "trust_remote_code": "True", "weights_only": "False"}
WANTED = ((("np", "load"), "allow_pickle"), (("from_pretrained",), "trust_remote_code"),
          (("Environment",), "autoescape"))

# file -> calls that are allowed there
ALLOWED = Counter({
    ("eqa_nodes/cli/verbs.py", "import_module"): 1,  # a verb's module, which the table there names
    ("eqa_nodes/ros/process.py", "import_module"): 1,  # a node's class, which graph.py names
    ("eqa_nodes/ros/fork_server.py", "subprocess.Popen"): 1,  # this Python, a module of this package
    ("eqa_nodes/ros/nav2/__init__.py", "import_module"): 1,  # one of two commanders, which a table names
    # built-in names, entry points of installed packages, and module:Class, which the user types
    ("eqa_nodes/core/registry.py", "import_module"): 1,
    ("eqa_nodes/runners/function.py", "import_module"): 1,  # --agent module:function, which the user types
    ("eqa_nodes/ros/interfaces.py", "import_module"): 1,  # package.msg of an installed interface; the form is checked
    ("eqa_nodes/testing/imitation.py", "import_module"): 1,  # a constant: the built-in house
    ("eqa_nodes/voice/audio.py", "subprocess.Popen"): 1,  # arecord, as a list of words
    ("eqa_nodes/voice/audio.py", "subprocess.run"): 1,  # espeak-ng; what is read aloud goes to its input
    ("eqa_nodes/bench/running/manifest.py", "subprocess.run"): 1,  # git, as a list of words that are constants
    ("sim_bridge/habitat/session.py", "subprocess.run"): 1,  # the Python that the user names for Habitat, a constant
    ("sim_bridge/habitat/session.py", "subprocess.Popen"): 1,  # the same, a script of this package
    ("sim_bridge/habitat/worker.py", "exec_module"): 1,  # a file of this package, where the package is not installed
    ("eqa_nodes/recordings/formats/agent_state.py", "import pickle"): 1,  # an unpickler with its own table of classes
    ("eqa_nodes/bench/published_writing.py", "import pickle"): 1,  # numbers and texts are written for others' scorers
    ("eqa_nodes/bench/readers/hm_eqa.py", "literal_eval"): 1,  # values only, of a text of bounded length
    ("eqa_nodes/learn/checkpoints.py", "import pickle"): 1,  # its error, which torch.load raises
    ("eqa_nodes/learn/checkpoints.py", "torch.load"): 1,  # with weights_only: tensors, numbers and texts
    ("eqa_nodes/perception/class_names.py", "literal_eval"): 1,  # the same, names in the metadata of a model
})


def name_of(call: ast.Call) -> str:
    return ast.unparse(call.func)


def risks(tree: ast.AST) -> list[str]:
    """Return the risky calls of a module, and how they are meant where their options decide."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{name}" for name in names)]
            found += [f"import {name}" for name in names if name in MODULES]
        if not isinstance(node, ast.Call):
            continue
        name, options = name_of(node), {k.arg: ast.unparse(k.value) for k in node.keywords if k.arg}
        last = name.rpartition(".")[2]
        if name in CALLS or name in PROGRAMS or last in ENDS:
            found.append(last if last in ENDS else name)
        found += [f"{name} with {option}" for option, bad in BAD.items() if options.get(option) == bad]
        found += [f"{name} without {option}" for ends, option in WANTED if last == ends[-1] and name.endswith(
            ".".join(ends)) and option not in options and (last != "Environment" or "loader" in options)]
    return found


def test_what_could_run_code_stands_in_the_listed_places_only() -> None:
    found = Counter((str(path.relative_to(ROOT)), risk) for path in SOURCES
                    for risk in risks(ast.parse(path.read_text())))
    assert found == ALLOWED


@pytest.mark.parametrize("source", [
    "eval(x)", "exec(x)", "import pickle", "from pickle import loads", "yaml.load(x)", "os.system(x)", "torch.load(x)",
    "subprocess.run(x, shell=True)", "np.load(x)", "np.load(x, allow_pickle=True)", "archive.extractall(x)",
    "AutoModel.from_pretrained(x)", "AutoModel.from_pretrained(x, trust_remote_code=True)", "template.from_string(x)",
    "importlib.import_module(x)", "from xml.etree.ElementTree import parse", "ElementTree.fromstring(x)",
    "jinja2.Environment(loader=x)", "import lxml"])
def test_the_search_finds(source: str) -> None:
    assert risks(ast.parse(source))


@pytest.mark.parametrize("source", ["yaml.safe_load(x)", "re.compile(x)", "np.load(x, allow_pickle=False)",
                                    "Environment(autoescape=True)", "model.eval()"])
def test_the_search_lets_pass(source: str) -> None:
    assert not risks(ast.parse(source))


def test_templates_switch_escaping_off_nowhere() -> None:
    templates = [path for suffix in ("*.j2", "*.html") for path in (ROOT / "eqa_nodes").rglob(suffix)]
    assert templates
    for path in templates:
        text = path.read_text()
        assert "|safe" not in text.replace(" ", "") and "autoescape false" not in text, path


@pytest.mark.parametrize("name", ["../../etc/msg/passwd", "os/path/join", "std_msgs/msg/../../x", "/msg/", "a/msg/b/c",
                                  "std_msgs/msg/String\n", ""])
def test_a_type_that_a_peer_made_up_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is not the name"):
        definition(name)
