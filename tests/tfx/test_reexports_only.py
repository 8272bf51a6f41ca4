# SPDX-License-Identifier: Apache-2.0
import ast
import importlib
from pathlib import Path

import pytest
import tfx

from stoker.stand_ins.tfx.missing import MODULES

ROOT = Path(tfx.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ALLOWED = (ast.Import, ast.ImportFrom, ast.Assign, ast.Raise)


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


PRESENT = [name for name in map(module_name, FILES) if name not in MODULES]


@pytest.mark.parametrize("file", FILES, ids=module_name)
def test_a_module_of_tfx_holds_re_exports_only(file):
    docstring, *statements = ast.parse(file.read_text()).body

    assert isinstance(docstring, ast.Expr)
    assert all(isinstance(statement, ALLOWED) for statement in statements)


@pytest.mark.tf
@pytest.mark.parametrize("name", PRESENT)
def test_a_module_of_tfx_binds_nothing_to_none(name):
    bound = vars(importlib.import_module(name))

    assert [key for key, value in bound.items() if value is None and key[0] != "_"] == []


def test_every_directory_of_tfx_is_a_package():
    folders = {file.parent for file in FILES}

    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_type_checkers_read_the_types_of_tfx_from_here():
    assert (ROOT / "py.typed").is_file()
