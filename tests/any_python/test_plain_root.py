# SPDX-License-Identifier: Apache-2.0
"""A root with brackets in its path has another name in workers, where TensorFlow loads models."""

import json
import os

from stoker.any_python.surroundings import PlainRoot


def test_a_task_has_the_other_name_and_its_outcome_the_real_one(tmp_path):
    real = tmp_path / 'a [1]"ü'
    real.mkdir()
    root = PlainRoot(str(real))
    task = [str(real), str(real / "model"), f"{real}x/model", str(tmp_path)]
    entered = json.loads(root.enter(json.dumps(task)))
    link = entered[0]
    try:
        assert "[" not in link
        assert os.path.samefile(link, real)
        assert entered[1:] == [f"{link}/model", *task[2:]]
        assert PlainRoot(str(real)).enter('"x"') == '"x"'
        assert json.loads(root.leave(json.dumps(entered))) == task
    finally:
        os.unlink(link)


def test_other_roots_keep_their_name(tmp_path):
    for root_dir in (str(tmp_path / "a*?"), ""):
        root = PlainRoot(root_dir)
        assert not root.is_renamed
        assert root.enter(root_dir) == root.leave(root_dir) == root_dir


def test_a_link_that_somebody_else_has_made_is_not_followed(tmp_path):
    real = tmp_path / "a[1]"
    real.mkdir()
    link = PlainRoot(str(real)).enter(json.dumps(str(real))).strip('"')
    os.unlink(link)
    os.symlink("/elsewhere", link)
    try:
        other = PlainRoot(str(real)).enter(json.dumps(str(real))).strip('"')
        assert other != link
        assert os.readlink(other) == str(real)
        os.unlink(other)
    finally:
        os.unlink(link)
