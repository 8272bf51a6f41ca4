# SPDX-License-Identifier: Apache-2.0
"""How users lay out their module files, and how those fail; no TensorFlow is needed for it."""

import sys
from pathlib import Path

import pytest
from training import served, train, write

from stoker.artifacts import State
from stoker.dsl import Pipeline
from stoker.errors import StepFailed
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow

WRITES = """
import os

{imports}

def run_fn(fn_args):
  os.makedirs(fn_args.serving_model_dir)
  with open(os.path.join(fn_args.serving_model_dir, 'said'), 'w') as f:
    f.write({said})
"""


def said(run):
    return Path(served(run), "said").read_text()


@pytest.mark.parametrize(
    ("imports", "expression", "others"),
    [
        ("import features", "features.NAME", {"features.py": "NAME = 'me'"}),
        ("from features import *", "NAME", {"features.py": "NAME = 'me'"}),
        (
            "from models import features",
            "features.NAME",
            {"models/__init__.py": "", "models/features.py": "from .names import NAME"}
            | {"models/names.py": "NAME = 'me'"},
        ),
        ("from sub.folder import names", "names.NAME", {"sub/folder/names.py": "NAME = 'me'"}),
    ],
    ids=["a neighbour", "all of a neighbour", "a package", "a folder without __init__"],
)
def test_a_module_imports_what_lies_beside_it(tmp_path, penguins, imports, expression, others):
    for path, text in others.items():
        write(tmp_path, path.removesuffix(".py"), text)
    module = WRITES.format(imports=imports, said=expression)
    assert said(train(tmp_path, penguins, {"Trainer": module})) == "me"


def test_a_module_in_a_package_imports_relatively(tmp_path, penguins):
    for name in ("my_project/__init__", "my_project/models/__init__"):
        write(tmp_path, name, "")
    write(tmp_path, "my_project/constants", "NAME = 'me'")
    write(tmp_path, "my_project/models/layers", "from my_project.constants import NAME")
    imports = "from . import layers\nfrom ..constants import NAME\nassert layers.NAME is NAME"
    file = write(tmp_path, "my_project/models/model", WRITES.format(imports=imports, said="NAME"))
    assert said(train(tmp_path, penguins, {"Trainer": {"module_file": file}})) == "me"


def test_run_fn_is_named_by_its_dotted_path(tmp_path, penguins, monkeypatch):
    write(tmp_path, "dotted_project/__init__", "")
    write(tmp_path, "dotted_project/model", WRITES.format(imports="", said="__name__"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    run = train(tmp_path, penguins, {"Trainer": {"run_fn": "dotted_project.model.run_fn"}})
    assert said(run) == "dotted_project.model"


@pytest.mark.parametrize(
    ("text", "message", "trace"),
    [
        ("def run_fn(fn_args): pass", "wrote nothing to fn_args.serving_model_dir", ""),
        ("def run_fn(fn_args):\n  {}['lr']", "KeyError: 'lr'", "line 2, in run_fn"),
        ("def run_fn(fn_args):\n  raise SystemExit(3)", "SystemExit: 3", "line 2, in run_fn"),
        ("import sys\ndef run_fn(fn_args):\n  sys.exit('no data')", "no data", "line 3, in run_fn"),
        ("import os\ndef run_fn(fn_args):\n  os._exit(7)", "left with exit code 7", ""),
        ("run_fn = 3", "is not a function but int: 3", ""),
        ("def run_fn(): pass", "takes 0 positional arguments but 1 was given", ""),
    ],
    ids=[
        "writes nothing",
        "raises",
        "raises SystemExit",
        "calls sys.exit",
        "leaves the process",
        "has no function",
        "takes no arguments",
    ],
)
def test_a_failing_module_is_shown_and_publishes_nothing(
    tmp_path, penguins, capfd, text, message, trace
):
    with pytest.raises(StepFailed) as caught:
        train(tmp_path, penguins, {"Trainer": text})
    assert message in str(caught.value)
    assert trace in capfd.readouterr().err
    assert "stoker/" not in caught.value.traceback
    root = str(tmp_path / "root")
    with Store(Pipeline("models", root).store_config(root)) as store:
        assert store.artifacts(type_name="Model") == []
        assert len(store.artifacts(type_name="Model", states=[State.ABANDONED])) == 1


def test_a_split_that_is_not_there_is_told_those_that_are(tmp_path, penguins):
    module = {"module_file": write(tmp_path, "module", WRITES.format(imports="", said="''"))}
    with pytest.raises(StepFailed, match=r"no split 'test'; it has \['train', 'eval'\]"):
        train(tmp_path, penguins, {"Trainer": {**module, "train_args": {"splits": ["test"]}}})
