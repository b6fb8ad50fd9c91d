"""`eqa history render`: published agent states -> a history, rendered in a simulator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import PLACES, SimulatorOptions
from eqa_nodes.cli.history import export_of, write_history
from eqa_nodes.cli.options import FOLDER, argument, group, option

if TYPE_CHECKING:
    from eqa_nodes.tours.rendered import PosedPath


@dataclass(frozen=True, kw_only=True)
class RenderStates:
    """Renders published agent states, such as OpenEQA's of HM3D, in a simulator, and writes the history. Of a folder of
    such folders each becomes a folder in OUT; those that are complete there are left as they are.
    """

    states: Path = argument("folder of NNNNN.pkl, or a folder of such folders (hm3d-v0)", metavar="STATES")
    out: Path = argument("output folder", metavar="OUT", writes=FOLDER)
    scene: str = option("", f"render in this scene (default: the scan of HM3D that the states name); {PLACES}")
    to: str = option("openeqa", "form: openeqa, bag", complete=lambda: ("openeqa", "bag"))
    image: str = option("", "size of the camera image in pixels (default: as the states say)", metavar="WxH")
    scans: SimulatorOptions = group(SimulatorOptions, "scans")

    def run(self) -> int:
        """Render each folder and write it."""
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.tours.rendered import RenderedHistory, read_states, state_folders

        self.scans.set_environment()
        export_of(self.to)
        folders = state_folders(self.states)
        if self.scene and len(folders) > 1:
            raise ConfigError(f"--scene {self.scene} names one scene, {self.states} holds {len(folders)} histories: "
                              "give the folder of one of them")
        for folder in folders:
            out = self.out if folder == self.states else self.out / folder.name
            path = self._sized(read_states(folder, self.scene, self.scans.simulator))
            if self.to == "openeqa" and self._complete(out, len(path.poses)):
                continue
            write_history(RenderedHistory(path), self.to, out)
        return 0

    def _sized(self, path: PosedPath) -> PosedPath:
        from eqa_nodes.config.run import with_image

        return replace(path, robot=with_image(path.robot, self.image))

    def _complete(self, out: Path, frames: int) -> bool:
        """Return whether a folder holds so many frames already."""
        from eqa_nodes.core.errors import StorageError
        from eqa_nodes.recordings.formats.openeqa_folder import OpenEqaFolder

        try:
            return len(OpenEqaFolder(out)) == frames
        except StorageError:
            return False  # writing says what is wrong with it
