# SPDX-License-Identifier: Apache-2.0
"""What was published, and what has become of it."""

import hashlib
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from stoker.storage.digests import Manifest, describe, find_problems, seal
from stoker.storage.files import UnfitFile, sync
from stoker.storage.root import manifest_file


@pytest.fixture
def output(tmp_path) -> Path:
    folder = tmp_path / "Trainer" / "model" / "1"
    (folder / "variables").mkdir(parents=True)
    (folder / "assets").mkdir()
    (folder / "saved_model.pb").write_text("graph")
    (folder / "variables" / "weights").write_text("1234")
    return folder


@pytest.fixture
def published(output) -> Path:
    publish(output)
    return output


def publish(output):
    seal(str(output)).write(manifest_file(str(output)))


def problems(output, **how):
    found = find_problems(str(output), **how)
    return [(os.path.relpath(path, output), problem) for path, problem in found]


def rewrite(file: Path, text: str) -> None:
    """Another content of the same size, and the same time of modification."""
    times = file.stat()
    file.write_text(text)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_what_was_published_has_no_problem(published):
    assert problems(published) == problems(published, by_digest=True) == []


@pytest.mark.parametrize("by_digest", [False, True])
def test_each_way_to_differ_is_told(published, by_digest):
    (published / "saved_model.pb").write_text("graphs")
    rewrite(published / "variables" / "weights", "1235")
    (published / "variables" / "more").touch()
    (published / "assets").rmdir()
    (published / "assets.extra").mkdir()
    assert problems(published, by_digest=by_digest) == [
        ("saved_model.pb", "resized: 6 bytes, was 5"),
        ("variables/weights", "changed"),
        ("variables/more", "added"),
        ("assets", "missing"),
        ("assets.extra", "added"),
    ]


def test_a_file_behind_a_linked_folder_is_compared_too(output):
    (output / "latest").symlink_to("variables")
    publish(output)
    assert problems(output) == []
    (output / "latest").unlink()
    (output / "latest").mkdir()
    (output / "latest" / "weights").write_text("4321")
    assert problems(output) == [("latest/weights", "changed")]


def test_what_became_unfit_is_told_and_does_not_hang(published, tmp_path):
    (published / "saved_model.pb").unlink()
    os.mkfifo(published / "saved_model.pb")
    (published / "link").symlink_to(tmp_path)
    what = dict(problems(published, by_digest=True))
    assert what["saved_model.pb"] == "a FIFO"
    assert "not part of the artifact" in what["link"]
    assert len(what) == 2


def test_what_is_unfit_is_not_sealed(output):
    os.mkfifo(output / "pipe")
    with pytest.raises(UnfitFile, match="pipe is a FIFO"):
        seal(str(output))


def test_names_need_not_be_utf8(output):
    name = os.fsdecode(b"caf\xe9")
    (output / name).write_text("a")
    publish(output)
    assert problems(output) == []
    (output / name).write_text("b")
    assert problems(output) == [("caf\\xe9", "changed")]
    assert seal(str(output)).digest != Manifest.read(manifest_file(str(output))).digest


def test_a_name_with_a_line_break_is_not_two_files(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    digest = describe(str(one)).digest
    (two / "a").touch()
    (two / "b").touch()
    line = describe(str(two)).files[0].sha256
    (one / f"a\n{line}  b").touch()
    assert len({digest, describe(str(one)).digest, describe(str(two)).digest}) == 3


def test_empty_folders_are_part_of_the_content(output):
    before = describe(str(output)).digest
    (output / "class_0").mkdir()
    assert describe(str(output)).digest != before


def test_a_copy_of_the_root_is_as_good_and_read_once(published, tmp_path):
    shutil.copytree(tmp_path / "Trainer", tmp_path / "copy" / "Trainer")
    shutil.copytree(tmp_path / ".stoker", tmp_path / "copy" / ".stoker")
    copy = tmp_path / "copy" / "Trainer" / "model" / "1"
    manifest = manifest_file(str(copy))
    before = Manifest.read(manifest)
    assert problems(copy) == []
    after = Manifest.read(manifest)
    assert after.files != before.files  # the times of the copies are known now
    assert after.digest == before.digest
    assert problems(copy) == []
    assert Manifest.read(manifest) == after


def test_a_manifest_of_old_tells_what_it_knows(published):
    files = describe(str(published)).files
    lines = "".join(f"{file.sha256}  {file.path}\n" for file in files)
    record = [{"path": file.path, "size": file.size, "sha256": file.sha256} for file in files]
    old = {"digest": hashlib.sha256(lines.encode()).hexdigest(), "files": record}
    Path(manifest_file(str(published))).write_text(json.dumps(old))
    (published / "another_folder").mkdir()
    assert problems(published) == []
    rewrite(published / "saved_model.pb", "other")
    assert problems(published) == [("saved_model.pb", "changed")]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: text[: len(text) // 2],
        lambda text: bytes(range(256)),
        lambda text: b"[]",
        lambda text: b"[" * 100_000,
        lambda text: text.replace(b"saved_model.pb", b"saved_model.px"),
        lambda text: text.replace(b'"path": "saved_model.pb"', b'"path": 7'),
        lambda text: text.replace(b'"size": 5', b'"sizes": 5'),
    ],
)
def test_a_damaged_manifest_is_a_problem_by_itself(published, damage):
    path = Path(manifest_file(str(published)))
    path.write_bytes(damage(path.read_bytes()))
    assert find_problems(str(published)) == [(str(path), "the manifest is damaged")]


def test_part_of_a_manifest_has_paths_below_its_folder(published):
    manifest = Manifest.read(manifest_file(str(published)))
    (weights,) = manifest.below("variables").files
    assert (weights.path, weights.size) == ("weights", 4)
    assert manifest.below(os.curdir) == manifest


@pytest.mark.slow
def test_many_files_are_brought_to_the_disk_together(tmp_path):
    def write_files(folder):
        folder.mkdir()
        for number in range(600):
            (folder / str(number)).write_bytes(os.urandom(2000))
        return folder

    def measure(do):
        started = time.monotonic()
        do()
        return time.monotonic() - started

    plain, sealed = write_files(tmp_path / "plain"), tmp_path / "sealed"
    in_a_row = measure(lambda: [sync(str(path)) for path in plain.iterdir()])
    if in_a_row < 0.5:
        pytest.skip("this disk takes no time to write a file")
    write_files(sealed)
    assert measure(lambda: seal(str(sealed))) < in_a_row / 2
