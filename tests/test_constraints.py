# SPDX-License-Identifier: Apache-2.0
"""The versions that are installed are pinned twice: by name, and by the digests of their files."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PINNED = (REPOSITORY / "constraints.txt").read_text()
HASHED = (REPOSITORY / "constraints-hashed.txt").read_text()
VERSION = re.compile(r"^([a-z0-9.-]+==[^\s\\]+)", re.MULTILINE)


def test_both_files_name_the_same_versions():
    assert sorted(VERSION.findall(HASHED)) == sorted(VERSION.findall(PINNED)), "run `make hashes`"
    assert len(VERSION.findall(PINNED)) > 200


def test_every_version_has_digests_and_nothing_else():
    named = r"[a-z0-9.-]+==[^\s\\]+( ; [^\n\\]+)?"  # perhaps for some versions of Python alone
    assert re.fullmatch(rf"#[^\n]*\n({named}( \\\n    --hash=sha256:[0-9a-f]{{64}})+\n)+", HASHED)


def test_no_file_says_where_packages_come_from():
    assert "://" not in PINNED + HASHED
