# SPDX-License-Identifier: Apache-2.0
"""What can be said against a user's module before it is loaded, from its text alone."""

import ast
import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stoker.any_python.lines import did_you_mean
from stoker.user_code.imports import ImportStatement, ModuleImports, is_importable, scan
from stoker.user_code.installed_names import advise_replacement
from stoker.user_code.known_packages import KNOWN, find_package

# Text that makes names, or places to import from, which the text alone does not show.
_DYNAMIC_NAMES = re.compile(r"\bimport \*|\bglobals\(\)|\b__getattr__\b|\bexec\(")
_DYNAMIC_IMPORTS = re.compile(r"\bsys\.(path|meta_path|modules)\b|\bsite\b")
_OTHER_PLACES = re.compile(r"\bsys\.(meta_path|modules)\b|\bsite\.")
_INSTALLS = re.compile(r"\bpip\b")


def find_problems(
    module_file: str, functions: Sequence[str] = (), import_paths: Sequence[str] = ()
) -> list[str]:
    """Why a module would not load, or has none of `functions`; what is in doubt passes."""
    if not os.path.isfile(module_file):
        return [f"there is no module file {module_file}.{_find_namesake(module_file)}"]
    imports = scan(module_file, import_paths)
    if found := [*_find_syntax_errors(imports)]:
        return found
    tree = imports.trees[os.path.abspath(module_file)]
    found = [*_find_missing_imports(module_file, imports)]
    return [*found, *_find_missing_function(module_file, _read(module_file), tree, functions)]


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _find_namesake(module_file: str) -> str:
    """What to do about a file that is not there; it, or its folder, may be misspelt."""
    folder, name = os.path.split(os.path.abspath(module_file))
    above, folder_name = os.path.split(folder)
    beside = glob.glob(os.path.join(glob.escape(folder), "*.py"))
    namesakes = glob.glob(os.path.join(glob.escape(above), "*", glob.escape(name)))
    other_folders = [os.path.basename(os.path.dirname(path)) for path in namesakes]
    if near := did_you_mean(name, map(os.path.basename, beside)):
        return near
    if near := did_you_mean(folder_name, other_folders):
        return near.replace("Did you mean", "Did you mean its folder to be")
    return " Check module_file."


def find_missing_function(module_file: str, functions: Sequence[str]) -> list[str]:
    """That a module has none of `functions`; one that cannot be read says nothing."""
    text = _read(module_file)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    return [*_find_missing_function(module_file, text, tree, functions)]


def _find_syntax_errors(imports: ModuleImports) -> Iterator[str]:
    for path in imports.files:
        if path not in imports.trees:
            with open(path, "rb") as file:
                text = file.read()
            try:
                compile(text, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as error:
                line = getattr(error, "lineno", None) or 1
                message = getattr(error, "msg", None) or error
                yield f"{path}, line {line}: {type(error).__name__}: {message}"


def _find_missing_imports(module_file: str, imports: ModuleImports) -> Iterator[str]:
    """Statements at the top of files that are loaded; in `try` or a function it may never run."""
    texts = "\n".join(map(_read, imports.loaded))
    if _INSTALLS.search(texts):
        return
    is_dynamic = _DYNAMIC_IMPORTS.search(texts)
    trees = {path: imports.trees[path] for path in imports.loaded}
    # A known package is no file of the user's: it does not lie beside the module.
    passes_known = _imports_from_elsewhere(texts, trees.values())
    told: set[str] = set()
    for path in [] if is_dynamic else trees:
        where = module_file if path == os.path.abspath(module_file) else path
        for line, name in imports.lacking.get(path, ()):
            yield f"{where}, line {line}: {describe_lacking(name)}"
    for path, statement in _list_imports_at_top(trees):
        where = module_file if path == os.path.abspath(module_file) else path
        for name in _list_outermost(statement):
            is_missing = name in imports.not_found and not is_importable(name)
            passes = passes_known if name in KNOWN else is_dynamic
            if is_missing and name not in told and not passes:
                told.add(name)
                yield f"{where}, line {statement.lineno}: {find_package(name).describe(name)}"
        for name in [] if is_dynamic else _list_modules(statement):
            if _is_gone_from_tensorflow(name):
                yield f"{where}, line {statement.lineno}: {_advise_environment(name)}"


def describe_lacking(name: str) -> str:
    """That a package of the user's own lacks a module."""
    package, _, last = name.rpartition(".")
    return f"{package} has no {last}: put {last}.py into its folder, or leave the import out."


def _list_imports_at_top(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, ImportStatement]]:
    for path, tree in trees.items():
        for statement in tree.body:
            if isinstance(statement, ImportStatement):
                yield path, statement


def _imports_from_elsewhere(text: str, trees: Iterable[ast.Module]) -> bool:
    """Whether modules may come from other places than folders of the user's own files."""
    nodes = (one for tree in trees for one in ast.walk(tree))
    changes = [one for one in nodes if isinstance(one, ast.stmt) and changes_path(one)]
    return bool(_OTHER_PLACES.search(text)) or not all(map(_stays_near, changes))


def changes_path(statement: ast.AST) -> bool:
    """Whether a statement changes where modules are looked for."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=changed))):
            return ast.unparse(changed) == "sys.path"
        case ast.Assign(targets=[changed]) | ast.AugAssign(target=changed):
            return ast.unparse(changed).startswith("sys.path")
    return False


def _stays_near(statement: ast.stmt) -> bool:
    """Whether a place follows from where the module is, or from the working folder, alone."""
    parts = list(ast.walk(statement))
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    texts = [one.value for one in parts if isinstance(one, ast.Constant)]
    return (
        names <= {"sys", "os", "pathlib", "Path", "str", "__file__"}
        and "environ" not in ast.unparse(statement)
        and not any(isinstance(text, str) and os.path.isabs(text) for text in texts)
    )


def _is_gone_from_tensorflow(module: str) -> bool:
    """Whether it is one of TensorFlow's own files, and today's TensorFlow does not have it."""
    if module.startswith("tensorflow.python.tpu"):
        return False  # our patches make these
    is_file = module.startswith(("tensorflow.contrib", "tensorflow.python."))
    return is_file and is_importable("tensorflow") and not is_importable(module)


def _advise_environment(module: str) -> str:
    environment = "tf-1.15" if module.startswith("tensorflow.contrib") else "tf-2.15"
    return (
        f"today's TensorFlow has no {module}. {advise_replacement(module)}, or the environment "
        f"that has it: stoker env create {environment}, and Trainer(python={environment!r})."
    )


def _list_modules(statement: ImportStatement) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [] if statement.level else [statement.module or ""]


def _list_outermost(statement: ImportStatement) -> list[str]:
    return [name.partition(".")[0] for name in _list_modules(statement)]


def _find_missing_function(
    path: str, text: str, tree: ast.Module, functions: Sequence[str]
) -> Iterator[str]:
    if _DYNAMIC_NAMES.search(text) or not functions:
        return
    if not any(re.search(rf"\b{name}\b", text) for name in functions):
        wanted = " or ".join(functions)
        defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        yield (
            f"{path} defines no {wanted}; it has {', '.join(defined) or 'no function'}. "
            f"Define {wanted} there."
        )
