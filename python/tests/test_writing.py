"""Files are written whole or not at all, where they belong and as their owner keeps them."""

from __future__ import annotations

import gzip
import os
import stat

import pytest

from stepscope._writing import whole_file, whole_path


def write(path, text=b"new"):
    with whole_file(str(path)) as file:
        file.write(text)


def test_a_file_takes_the_place_of_another(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b"old")
    write(path)
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["t.json"]
    write(tmp_path / "t.json.gz")
    assert gzip.decompress((tmp_path / "t.json.gz").read_bytes()) == b"new"


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b"old")
    with pytest.raises(KeyError):
        with whole_file(str(path)) as file:
            file.write(b"half")
            raise KeyError
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["t.json"]


def test_permissions_stay(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.json").write_bytes(b"old")
    (tmp_path / "link.json").symlink_to("real.json")
    write(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "real.json").read_bytes() == b"new"
    (tmp_path / "to be made.json").symlink_to("made.json")
    write(tmp_path / "to be made.json")
    assert (tmp_path / "made.json").read_bytes() == b"new"


def test_a_link_in_the_place_of_the_new_file_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    monkeypatch.setattr("stepscope._writing.os.urandom", bytes)
    (tmp_path / ".t.json.00000000.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write(tmp_path / "t.json")
    assert victim.read_bytes() == b"mine" and not (tmp_path / "t.json").exists()


def test_devices_and_long_names(tmp_path):
    write("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    name = "x" * 250 + ".json"
    with whole_path(str(tmp_path / name)) as partial:
        assert os.path.basename(partial) != name
    assert os.listdir(tmp_path) == [name]
