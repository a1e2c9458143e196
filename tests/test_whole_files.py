"""Files and folders: whole or not at all, nothing through links, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ruleminer import whole_files
from ruleminer.errors import InputError
from ruleminer.run import Run
from ruleminer.whole_files import settle, swap, sweep, sweep_dead, whole_folder, write_whole, writing


def filled(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "file").write_text(text)
    return folder


def stop() -> None:
    """What goes wrong in the midst of writing."""
    raise KeyError


@pytest.fixture(params=["at once", "in two steps"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system can, and as one does that cannot exchange two names."""
    if request.param == "in two steps":
        monkeypatch.setattr(whole_files, "_exchanged", lambda one, other: False)


def test_a_folder_takes_the_place_of_another_only_when_it_is_complete(tmp_path: Path) -> None:
    place = filled(tmp_path / "place", "old")
    with pytest.raises(KeyError), whole_folder(place) as fresh:
        (fresh / "file").write_text("half") and stop()
    assert (place / "file").read_text() == "old"
    with whole_folder(place) as fresh:
        (fresh / "other").write_text("new")
    assert [path.name for path in place.iterdir()] == ["other"]
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_what_the_user_put_there_stays(tmp_path: Path) -> None:
    place = filled(tmp_path / "place", "ours")
    filled(place / "notes", "mine")
    (place / "link").symlink_to("/nowhere")
    with whole_folder(place, lambda name: name == "file") as fresh:
        (fresh / "file").write_text("new")
    assert (place / "file").read_text() == "new"
    assert (place / "notes" / "file").read_text() == "mine"
    assert (place / "link").is_symlink()


@pytest.mark.parametrize("name", [".place.fresh", ".place.old"])
@pytest.mark.parametrize("kind", ["link", "file", "folder"])
def test_what_lies_at_a_temporary_name_is_no_hindrance_and_no_victim(tmp_path: Path, name: str, kind: str) -> None:
    treasure = filled(tmp_path / "treasure", "gold")
    place = filled(tmp_path / "run" / "place", "old")
    odd = place.with_name(name)
    if kind == "link":
        odd.symlink_to(treasure)
    elif kind == "file":
        odd.write_text("x")
    else:
        filled(odd, "x")
    with whole_folder(place) as fresh:
        (fresh / "file").write_text("new")
    assert (place / "file").read_text() == "new"
    assert [(path.name, path.read_text()) for path in treasure.iterdir()] == [("file", "gold")]
    assert [path.name for path in place.parent.iterdir()] == ["place"]


def test_a_folder_that_was_moved_aside_is_put_back(tmp_path: Path) -> None:
    old = filled(tmp_path / ".place.old", "old")
    settle(tmp_path / "place")
    assert (tmp_path / "place" / "file").read_text() == "old"
    assert not old.exists()


def test_a_dataset_that_was_moved_aside_counts_and_is_put_back_by_the_next_stage(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    filled(run.folder / ".dataset.old", "old")
    assert run.has_dataset
    with run.held("train"):
        assert (run.dataset / "file").read_text() == "old"


def test_a_borrowed_folder_is_replaced_and_its_owner_keeps_it(tmp_path: Path) -> None:
    owner = filled(tmp_path / "owner", "gold")
    (tmp_path / "place").symlink_to(owner)
    swap(filled(tmp_path / "fresh", "new"), tmp_path / "place")
    assert (tmp_path / "place" / "file").read_text() == "new"
    assert (owner / "file").read_text() == "gold"


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    write_whole(tmp_path / "new" / "file", "one\n")
    with pytest.raises(KeyError), writing(tmp_path / "new" / "file") as part:
        part.write_text("half") and stop()
    assert (tmp_path / "new" / "file").read_text() == "one\n"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]


def test_what_dead_processes_left_goes_and_what_living_ones_write_stays(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    dead, living = tmp_path / f".a.loading-{child.pid}", tmp_path / f".a.loading-{os.getppid()}.wal"
    filled(dead, "x")
    for file in (living, tmp_path / ".a.loading-", tmp_path / ".ab.loading-1"):
        file.write_text("x")
    sweep_dead(tmp_path, ".a.loading-")
    assert not dead.exists()
    assert len(list(tmp_path.iterdir())) == 3
    sweep_dead(tmp_path / "nowhere", ".a")


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file/below", "x" * 300, "file/a/b"):
        with pytest.raises(InputError, match="cannot be written"):
            write_whole(tmp_path / name, "")
        with pytest.raises(InputError, match="cannot be written"), whole_folder(tmp_path / name):
            pass


def test_the_next_stage_sweeps_what_a_killed_one_left(tmp_path: Path) -> None:
    run = Run(tmp_path)
    filled(run.proposals, "good")
    (run.proposals / ".report.html.abc.part").write_text("half")
    (run.folder / ".structure.json.x.part").write_text("half")
    filled(run.training, "begun, and no checkpoint yet")
    with run.held("train"):
        pass
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "proposals"]
    sweep(tmp_path / "nowhere")
