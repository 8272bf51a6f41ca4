# SPDX-License-Identifier: Apache-2.0
"""Users of one group share a pipeline root: what one has left, the next one takes over."""

import json
import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest
from other_users import run_as, skip_unless_possible

pytestmark = pytest.mark.slow

ALICE, BOB, CAROL = 12001, 12002, 12003
GROUP, OTHER_GROUP = 12000, 12099
SCRIPT = Path(__file__).with_name("shared_root_pipeline.py")


@pytest.fixture(scope="module", autouse=True)
def users():
    skip_unless_possible()


@pytest.fixture
def root():
    """A folder of the group; what is made in it is the group's too."""
    folder = tempfile.mkdtemp(dir="/tmp")  # pytest's own folders are root's alone
    os.chown(folder, ALICE, GROUP)
    os.chmod(folder, 0o2775)
    yield Path(folder)
    shutil.rmtree(folder)


def stoker(user, root, *words, **how):
    return run_as(user, "-m", "stoker", *words, "--root", root, **how)


def test_one_user_goes_on_from_what_a_killed_run_of_another_left(root):
    assert run_as(ALICE, SCRIPT, root, "killed").returncode == -9
    assert json.loads(stoker(BOB, root, "runs", "--json").stdout)[0]["state"] == "died"

    resumed = run_as(BOB, SCRIPT, root)
    assert resumed.returncode == 0, resumed.stderr
    assert "went on" in resumed.stdout
    assert list((root / ".stoker" / "checkpoints" / "Trainer").iterdir()) == []

    again = run_as(ALICE, SCRIPT, root)
    assert again.returncode == 0, again.stderr
    assert "[3/3] Pusher cached" in again.stderr


def test_all_that_the_runner_writes_is_for_the_group_and_nothing_is_for_one_alone(root):
    assert run_as(ALICE, SCRIPT, root).returncode == 0
    found = {
        str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) & 0o060
        for path in root.rglob("*")
        if not path.is_symlink()
    }
    assert [path for path, mode in found.items() if mode != 0o060] == []
    assert {path.stat().st_gid for path in root.rglob("*")} == {GROUP}


def test_who_may_only_read_can_look(root):
    assert run_as(ALICE, SCRIPT, root).returncode == 0
    for words in (["runs"], ["show", "last"], ["verify"]):
        looked = stoker(CAROL, root, *words, group=OTHER_GROUP)
        assert looked.returncode == 0, looked.stderr


def test_a_root_that_its_maker_did_not_share_says_how_to(root):
    assert run_as(ALICE, SCRIPT, root, umask="022").returncode == 0
    refused = run_as(BOB, SCRIPT, root)
    assert refused.returncode == 1
    assert f"chmod -R g+rwX {root}" in refused.stderr


def test_digests_that_another_user_hid_are_made_again(root):
    assert run_as(ALICE, SCRIPT, root).returncode == 0
    digests = root / ".stoker" / "digests.json"
    digests.chmod(0o600)
    (root / "module.py").touch()  # so that there is something to write down
    assert run_as(BOB, SCRIPT, root).returncode == 0


def test_what_another_user_keeps_is_not_cleaned_and_named(root):
    assert run_as(ALICE, SCRIPT, root, "killed").returncode == -9
    cleaned = stoker(BOB, root, "clean")
    assert cleaned.returncode == 1
    assert "could not be removed: parts of it are not yours" in cleaned.stdout
    assert stoker(ALICE, root, "clean").returncode == 0
