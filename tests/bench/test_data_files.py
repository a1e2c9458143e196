"""Broken and hostile data files end in one clear line."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ruleminer.bench.cifar_data import find_archive, read_cifar
from ruleminer.bench.pll_data import benchmark_folder, find_partial_labels, read_partial_labels
from ruleminer.bench.runner import run_bench
from ruleminer.bench.units import BenchOptions
from ruleminer.errors import InputError

from .conftest import cifar_batch, cifar_members, write_archive, write_mat


def fails(call: Any, *arguments: Any) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_mat_file_is_read_with_its_targets_turned(tmp_path: Path) -> None:
    data = read_partial_labels(write_mat(tmp_path / "x.mat", samples=30, features=7, labels=5))
    assert data.features.shape == (30, 7)
    assert data.allowed.shape == (30, 5)
    assert data.allowed.gather(1, data.truth[:, None]).all()


@pytest.mark.parametrize(("samples", "features", "labels"), [(17_472, 279, 171), (22_991, 163, 219)])
def test_files_of_the_shape_of_soccer_player_and_yahoo_news_are_read(
    tmp_path: Path, samples: int, features: int, labels: int
) -> None:
    data = read_partial_labels(write_mat(tmp_path / "x.mat", samples, features, labels))
    assert data.features.shape == (samples, features)
    assert data.allowed.shape == (samples, labels)


def test_a_mat_file_without_its_keys_names_them(tmp_path: Path) -> None:
    message = fails(read_partial_labels, write_mat(tmp_path / "x.mat", target=None, partial_target=None))
    assert "has no partial_target, target (it has data)" in message


def test_label_sets_that_miss_the_true_label_are_refused(tmp_path: Path) -> None:
    partial = np.zeros((4, 60))
    message = fails(read_partial_labels, write_mat(tmp_path / "x.mat", partial_target=partial))
    assert "60 samples misses the true label (first: sample 1)" in message


def test_targets_of_the_wrong_shape_are_refused(tmp_path: Path) -> None:
    message = fails(read_partial_labels, write_mat(tmp_path / "x.mat", data=np.zeros((59, 5))))
    assert "shapes do not fit" in message


def test_several_true_labels_are_refused(tmp_path: Path) -> None:
    message = fails(read_partial_labels, write_mat(tmp_path / "x.mat", target=np.ones((4, 60))))
    assert "sample 1 has 4 true labels, not one" in message


def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    data = np.full((60, 5), np.nan)
    assert "not finite" in fails(read_partial_labels, write_mat(tmp_path / "x.mat", data=data))
    assert "not a matrix of numbers" in fails(read_partial_labels, write_mat(tmp_path / "y.mat", data="text"))


@pytest.mark.parametrize("keep", [0, 50, 200, 900])
def test_a_cut_off_mat_file_is_refused(tmp_path: Path, keep: int) -> None:
    path = write_mat(tmp_path / "x.mat")
    path.write_bytes(path.read_bytes()[:keep])
    assert str(path) in fails(read_partial_labels, path)


def test_missing_data_says_what_is_missing_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEMINER_DATA", str(tmp_path))
    assert str(tmp_path / "pll") in fails(benchmark_folder, None, "pll")
    assert "none of lost.mat" in fails(find_partial_labels, tmp_path)
    assert "no CIFAR-10 archive (cifar-10-python*.tar.gz)" in fails(find_archive, tmp_path, 10)
    assert str(tmp_path / "cifar") in fails(run_bench, "cifar100", BenchOptions(scale="smoke", out=tmp_path / "o"))


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("classes", [10, 100])
def test_an_archive_in_the_official_layout_is_read(tmp_path: Path, classes: int, protocol: int) -> None:
    path = write_archive(tmp_path / f"cifar-{classes}-python.tar.gz", cifar_members(classes, 40, protocol))
    train, test = read_cifar(find_archive(tmp_path, classes), classes)
    assert path.exists()
    assert train.pixels.shape == ((80, 3, 32, 32) if classes == 10 else (40, 3, 32, 32))
    assert len(test.labels) == 40
    assert not train.full
    np.testing.assert_array_equal(train.pixels[0].numpy().ravel(), cifar_batch(40, classes)[b"data"][0])  # type: ignore[index]


def test_a_batch_that_python_2_wrote_is_read(tmp_path: Path) -> None:
    """The official archives: protocol 2, with bytes where Python 3 has text."""

    class Python2(pickle._Pickler):  # type: ignore[name-defined, misc]
        def save(self, obj: object, *rest: object) -> None:
            if isinstance(obj, str):
                obj = obj.encode("latin1")
            if isinstance(obj, bytes):
                self.write(pickle.BINSTRING + len(obj).to_bytes(4, "little") + obj)
            else:
                super().save(obj, *rest)

    members = {}
    for name in ("c/train", "c/test"):
        with (tmp_path / "batch").open("wb") as file:
            Python2(file, 2).dump(cifar_batch(3, 100))
        members[name] = (tmp_path / "batch").read_bytes()
    train, _ = read_cifar(write_archive(tmp_path / "a.tar.gz", members), 100)
    assert train.pixels.shape == (3, 3, 32, 32)


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch hacked",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_hostile_pickle_is_refused_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps({b"data": Hostile()}, protocol)
    message = fails(read_cifar, write_archive(tmp_path / "a.tar.gz", {"c/train": content, "c/test": content}), 100)
    assert "refused, this is no plain CIFAR batch (it asks for" in message
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("what", ["builtins.eval", "numpy.load", "numpy.core.multiarray.fromfile", "_codecs.lookup"])
def test_no_other_global_is_admitted(tmp_path: Path, what: str) -> None:
    module, _, name = what.rpartition(".")
    content = pickle.GLOBAL + f"{module}\n{name}\n".encode() + pickle.STOP
    path = write_archive(tmp_path / "a.tar.gz", {"c/train": content, "c/test": content})
    assert f"it asks for {what}" in fails(read_cifar, path, 100)


def test_a_codec_other_than_latin1_is_refused(tmp_path: Path) -> None:
    content = b"c_codecs\nencode\n(Vx\nVbz2\ntR."
    path = write_archive(tmp_path / "a.tar.gz", {"c/train": content, "c/test": content})
    assert "it asks for the codec bz2" in fails(read_cifar, path, 100)


@pytest.mark.parametrize("keep", [0, 10, 2_000, -20])
def test_a_cut_off_archive_is_refused(tmp_path: Path, keep: int) -> None:
    path = write_archive(tmp_path / "a.tar.gz", cifar_members(100))
    path.write_bytes(path.read_bytes()[:keep])
    assert str(path) in fails(read_cifar, path, 100)


def test_a_cut_off_batch_is_refused(tmp_path: Path) -> None:
    members = {name: content[: len(content) // 2] for name, content in cifar_members(100).items()}
    assert "c" in fails(read_cifar, write_archive(tmp_path / "a.tar.gz", members), 100)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([1], "a dict is expected"),
        ({b"fine_labels": [1]}, "has no data of 3072 bytes per image"),
        ({b"data": np.zeros((2, 3072), np.uint8), b"fine_labels": [1]}, "one label per image"),
        ({b"data": np.zeros((1, 3072), np.uint8), b"fine_labels": [100]}, "not one of 0 … 99"),
    ],
)
def test_a_batch_with_other_content_is_refused(tmp_path: Path, batch: object, message: str) -> None:
    content = pickle.dumps(batch, 2)
    path = write_archive(tmp_path / "a.tar.gz", {"c/train": content, "c/test": content})
    assert message in fails(read_cifar, path, 100)


def test_an_archive_of_the_other_set_is_refused(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.tar.gz", cifar_members(10))
    assert "has no train batches; is it CIFAR-100" in fails(read_cifar, path, 100)


@pytest.mark.data
def test_the_real_files_are_read(real_data: Path) -> None:
    shapes = {"lost": (1122, 108, 16), "MSRCv2": (1758, 48, 23), "BirdSong": (4998, 38, 13)}
    for name, (samples, features, labels) in shapes.items():
        data = read_partial_labels(real_data / "pll" / f"{name}.mat")
        assert (*data.features.shape, data.allowed.shape[1]) == (samples, features, labels)
