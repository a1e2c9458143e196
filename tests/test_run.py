"""A run folder as a value: each stage's files have one place, however the folder is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.run import Run


def test_each_stage_has_its_place(tmp_path: Path) -> None:
    run = Run(tmp_path)
    places = [run.dataset, run.model, run.proposals, run.extraction, run.sizes]
    assert [place.name for place in places] == ["dataset", "model", "proposals", ".extract", ".propose.json"]
    assert {place.parent for place in places} == {tmp_path}
    assert list(tmp_path.iterdir()) == [], "to ask for a place makes nothing"


def test_a_run_is_named_by_text_by_path_or_by_itself(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert Run.of(str(tmp_path)) == Run.of(tmp_path) == Run.of(run) == run
    assert (Path(run), str(run)) == (tmp_path, str(tmp_path))


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    assert not run.has_dataset
    assert not run.has_model
    run.keep_dataset()
    run.keep_model()
    for place in (run.dataset, run.model):
        place.mkdir(parents=True)
    (run.model / "config.json").touch()
    assert run.has_dataset
    assert run.has_model
    with pytest.raises(InputError, match="holds another dataset already"):
        run.keep_dataset()
    with pytest.raises(InputError, match="holds a model already"):
        run.keep_model()


def test_a_borrowed_dataset_moves_with_its_owner(tmp_path: Path) -> None:
    owner, guest = Run(tmp_path / "runs" / "owner"), Run(tmp_path / "runs" / "guest")
    owner.dataset.mkdir(parents=True)
    (owner.dataset / "manifest.json").write_text("{}")
    guest.borrow_dataset(owner)
    guest.borrow_dataset(owner)
    (tmp_path / "runs").rename(tmp_path / "moved")
    assert (Run(tmp_path / "moved" / "guest").dataset / "manifest.json").read_text() == "{}"
