"""Ask a robot about the place it is in: embodied question answering on ROS 2.

    import eqa_nodes as eqa
    print(eqa.ask(eqa.scene("house:9"), "Do I have any fruit left?"))

docs/library.md describes the library; its functions are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eqa_nodes.core.version import __version__
    from eqa_nodes.library.places import ask, history, memory, robot, scene

__all__ = ["__version__", "ask", "history", "memory", "robot", "scene"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from eqa_nodes.core import version as module
    else:
        from eqa_nodes.library import places as module  # type: ignore[no-redef]
    return getattr(module, name)
