"""A run: one folder, in which each stage has a place of its own for its files.

    RUN/dataset     the facts and the rules that derive each (`dataset.py`)
    RUN/structure.json   keys, links, spaces and codes of the database (`structure/`)
    RUN/model       a trained model (`learn/model_files.py`); RUN/.training one in the making
    RUN/decisions.csv    what the user said (`problem/decisions.py`)
    RUN/proposals   the mapping, the evidence and the report (`proposals/stage.py`)

Nobody else joins these names to a path. A run can be given as text or as a path wherever one is asked for. A stage that
writes holds the run while it does (`Run.held`), so that two never mix.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.run_lock import lock
from ruleminer.whole_files import is_aside, remove, settle, sweep, unwritable


@dataclass(frozen=True, slots=True)
class Run:
    """The places in a run folder; what is not there yet has its place all the same."""

    folder: Path

    @classmethod
    def of(cls, place: RunLike) -> Run:
        """The run in a folder, however it is named."""
        return cls(Path(place))

    @property
    def dataset(self) -> Path:
        """What extraction leaves, and learning and proposals read."""
        return self.folder / "dataset"

    @property
    def structure(self) -> Path:
        """What was learnt of the database: its profile, keys and links."""
        return self.folder / "structure.json"

    @property
    def model(self) -> Path:
        """What training leaves; it may be missing."""
        return self.folder / "model"

    @property
    def proposals(self) -> Path:
        """What proposing leaves, unless it is told to write elsewhere."""
        return self.folder / "proposals"

    @property
    def decisions(self) -> Path:
        """What the user said of facts and rules, line by line; proposing replays it."""
        return self.folder / "decisions.csv"

    @property
    def training(self) -> Path:
        """What a training that has not ended has learnt so far; it becomes the model when it ends."""
        return self.folder / ".training"

    @contextmanager
    def held(self, stage: str) -> Iterator[None]:
        """Alone with the run while a stage writes to it; what killed ones left half done is put right first."""
        with lock(self.folder / ".lock", stage):
            try:
                for place in (self.dataset, self.model, self.proposals):
                    settle(place)
                    sweep(place)
                for place in (self.folder, self.training):
                    sweep(place)
                if self.unfinished != self.training:
                    remove(self.training)  # killed before there was anything to go on with
            except OSError as problem:
                raise unwritable(self.folder, problem) from None
            yield

    @property
    def extraction(self) -> Path:
        """What an unfinished extraction has done so far."""
        return self.folder / ".extract"

    @property
    def sizes(self) -> Path:
        """What an unfinished proposal has asked of the database so far."""
        return self.folder / ".propose.json"

    @property
    def has_dataset(self) -> bool:
        """Whether there is a dataset, or one that a killed process had moved aside and `held` puts back."""
        return self.dataset.is_dir() or is_aside(self.dataset)

    @property
    def has_model(self) -> bool:
        """Whether there is a model."""
        return (self.model / "config.json").is_file()

    @property
    def unfinished(self) -> Path | None:
        """The folder of a training that could go on: one in the making, else the model with its checkpoint."""
        folders = (self.training, self.model)
        return next((folder for folder in folders if (folder / "checkpoint.safetensors").is_file()), None)

    def borrow_dataset(self, other: Run) -> None:
        """Share another run's dataset, by a link that stays good when both are moved together."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.dataset.is_symlink():
            self.dataset.symlink_to(os.path.relpath(other.dataset, self.folder), target_is_directory=True)

    def keep_dataset(self) -> None:
        """Refuse to replace a dataset."""
        if self.dataset.exists():
            told = f"{self} holds another dataset already"
            raise InputError(f"{told}; ‹force=True› replaces it, or choose another folder")

    def keep_model(self) -> None:
        """Refuse to replace a model, or a training that could go on."""
        if self.unfinished == self.training:
            told = f"{self} holds a training that has not ended"
            raise InputError(f"{told}: ‹resume=True› goes on with it, ‹force=True› trains anew")
        if self.has_model:
            raise InputError(f"{self} holds a model already: ‹resume=True› goes on with it, ‹force=True› trains anew")

    def __fspath__(self) -> str:
        return str(self.folder)

    def __str__(self) -> str:
        return str(self.folder)


RunLike = str | os.PathLike[str]
"""A run folder's name, its path, or the `Run` itself."""
