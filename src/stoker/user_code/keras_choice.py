# SPDX-License-Identifier: Apache-2.0
"""Which Keras a user's module needs, decided from its text before a worker is started for it.

`TF_USE_LEGACY_KERAS` has an effect only before TensorFlow is imported, so the choice cannot wait
for the module to run.
"""

import ast
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from stoker.task import ProcessNeeds
from stoker.user_code.imports import ModuleImports, import_statements, scan
from stoker.user_code.keras_inputs import find_functions_on_inputs

KERAS_VARIABLE = "TF_USE_LEGACY_KERAS"
_BACKEND_VARIABLE = "KERAS_BACKEND"
_MEANS_LEGACY = ("1", "true", "True")  # as TensorFlow reads it

_KERAS_2_MODULES = (
    "tensorflow.keras",
    "tensorflow.python.keras",
    "tensorflow.estimator",
    "tensorflow.layers",
    "tensorflow_estimator",
    "tf_keras",
)
_KERAS_3_MODULES = ("keras", "keras_hub")
_ESTIMATOR_MODULES = (
    "tensorflow.estimator",
    "tensorflow_estimator",
    "tensorflow.keras.estimator",
    "tf_keras.estimator",
    "keras.estimator",
    "tensorflow_ranking",
)
_TENSORFLOW_MODULES = (
    "tensorflow",
    "tensorflow_transform",
    "tensorflow_model_analysis",
    "tensorflow_data_validation",
    "tensorflow_datasets",
    "tensorflow_hub",
    "tensorflow_text",
    "tensorflow_probability",
    "tensorflow_recommenders",
    "tensorflow_ranking",
    "tensorflow_decision_forests",
    "tensorflow_addons",
    "tf_agents",
    "tfx_bsl.public",
    "tfx_bsl.tfxio",
    "keras_tuner",
    "kerastuner",
    "keras_cv",
    "keras_nlp",
    *_KERAS_2_MODULES,
    *_KERAS_3_MODULES,
)
# JAX and Ray start threads, and workers are forked. tensorflow_estimator cannot be imported on
# today's TensorFlow before it is prepared, nor tensorflow_ranking. TensorFlow brings its Keras.
_NEVER_EARLY = frozenset(
    {"jax", "flax", "optax", "ray", "tensorflow_estimator", "tensorflow_ranking", "keras"}
)

_KERAS_2_IDIOMS = (
    "optimizers.legacy",
    "layers.experimental",
    "keras.experimental",
    "DenseFeatures",
    "SequenceFeatures",
    "fit_generator",
    "model_to_estimator",
    "keras.engine",
    "utils.generic_utils",
    "utils.np_utils",
    "utils.vis_utils",
    "wrappers.scikit_learn",
    "mixed_precision.experimental",
    "optimizer_v2",
    "layers.recurrent",
    "layers.core",
    "layers.embeddings",
    "layers.advanced_activations",
    "layers.merge",
)
_KERAS_3_PARTS = tuple(
    f"tensorflow.keras.{part}"
    for part in (
        *("distillation", "distribution", "dtype_policies", "layers.TFSMLayer", "ops"),
        *("quantizers", "random", "tree", "visualization"),
    )
)
_OPTIMIZERS = frozenset(
    {"Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Nadam", "RMSprop", "SGD"}
)
_FIT_METHODS = frozenset({"fit", "evaluate", "predict"})
_FIT_KEYWORDS = frozenset({"workers", "use_multiprocessing", "max_queue_size"})


Keras = Literal[2, 3]
Sign = tuple[int, str]
"""A line in a user's file that speaks for one Keras, and what it does."""


def uses_keras_2(environ: Mapping[str, str]) -> bool:
    """Whether TensorFlow, imported with this environment, has Keras 2."""
    return environ.get(KERAS_VARIABLE) in _MEANS_LEGACY


def users_environ() -> dict[str, str]:
    """The environment as the user set it.

    Importing tensorflow_transform, as a pipeline file may do, sets TensorFlow's variable for
    Keras 2; that is nobody's choice.
    """
    environ = dict(os.environ)
    if "tensorflow_transform" in sys.modules and not _was_set_at_start(KERAS_VARIABLE):
        environ.pop(KERAS_VARIABLE, None)
    return environ


def _was_set_at_start(name: str) -> bool:
    try:
        with open("/proc/self/environ", "rb") as file:
            return any(entry.startswith(f"{name}=".encode()) for entry in file.read().split(b"\0"))
    except FileNotFoundError:  # not Linux
        return False


def choose_keras(
    module_file: str | os.PathLike[str] | None,
    *,
    explicit: int | None = None,
    environ: Mapping[str, str],
    import_paths: Sequence[str] = (),
) -> ProcessNeeds:
    """What the process of `module_file` needs, with the reason in one sentence.

    `explicit` wins, then the user's own TF_USE_LEGACY_KERAS, in the module or in `environ`, then
    what the module and the local files it imports use.
    """
    wanted = _check_explicit(explicit)
    if module_file is None:
        if wanted is None:
            return ProcessNeeds(reason="There is no module file.")
        reason = f"keras={wanted} was given."
        return ProcessNeeds(tensorflow=True, keras=wanted, reason=reason, preload=("tensorflow",))
    imports = scan(module_file, import_paths)
    folder, name = os.path.split(os.path.abspath(module_file))
    files = [_UserFile(_name_from(folder, path), tree) for path, tree in imports.trees.items()]
    keras, reason = _decide(name, files, wanted, environ)
    on_tensorflow = keras is not None and not (
        keras == 3 and _has_other_backend(files, environ) and not _uses_tensorflow(files)
    )
    return ProcessNeeds(
        tensorflow=on_tensorflow,
        keras=keras,
        reason=reason,
        preload=_choose_preload(imports, tensorflow=on_tensorflow),
        estimators=any(file.uses_estimators() for file in files),
    )


def find_keras_2_lines(tree: ast.Module) -> list[Sign]:
    """The lines that only Keras 2 runs, of code that is run with Keras 3 for all that it says.

    There are none in code that sets TensorFlow's variable itself.
    """
    file = _UserFile("", tree)
    if any(file.find_assignments(KERAS_VARIABLE, {})):
        return []
    return sorted(dict(file.signs_of_keras_2_alone()).items())


def asks_for_keras_3(tree: ast.Module) -> bool:
    """Whether code imports Keras by its own name, or names what tf.keras has of Keras 3 alone."""
    return any(_UserFile("", tree).signs_of_keras_3_in_a_program())


def _check_explicit(keras: int | None) -> Keras | None:
    if keras not in (None, 2, 3):
        raise ValueError(f"keras must be 2 or 3, got {keras!r}. Leave it out to let Stoker choose.")
    return None if keras is None else 2 if keras == 2 else 3


def _name_from(folder: str, path: str) -> str:
    """A path as the user would name it: from the module's folder on where it lies below it."""
    relative = os.path.relpath(path, folder)
    return os.path.basename(path) if relative.startswith(os.pardir) else relative


def _decide(
    name: str, files: Sequence["_UserFile"], wanted: Keras | None, environ: Mapping[str, str]
) -> tuple[Keras | None, str]:
    """The Keras that the module needs, or None for no TensorFlow at all, and why."""
    if wanted:
        return wanted, f"keras={wanted} was given."
    if not any(file.reaches(_TENSORFLOW_MODULES) for file in files):
        return None, f"{name} reaches neither TensorFlow nor Keras."
    if own := _find_own_variable(files, environ):
        return own
    for file in files:
        if place := file.first(file.signs_of_keras_2()):
            return 2, f"{place}."
    for file in files:
        if place := file.first(file.signs_of_keras_3()):
            return 3, f"{place}, and nothing uses tf.keras."
    return 2, f"{name} names no Keras, and code written for TFX expects Keras 2."


def _find_own_variable(
    files: Sequence["_UserFile"], environ: Mapping[str, str]
) -> tuple[Keras, str] | None:
    for file in files:
        for line, value in file.find_assignments(KERAS_VARIABLE, environ):
            return _read_variable(value), f"{file.name}:{line} sets {KERAS_VARIABLE}={value}."
    if value := environ.get(KERAS_VARIABLE, ""):
        return _read_variable(value), f"{KERAS_VARIABLE}={value} is set in the environment."
    return None


def _read_variable(value: str) -> Keras:
    return 2 if value in _MEANS_LEGACY else 3


def _has_other_backend(files: Sequence["_UserFile"], environ: Mapping[str, str]) -> bool:
    """Whether Keras 3 is to run on something else than TensorFlow."""
    lines = (line for file in files for line in file.find_assignments(_BACKEND_VARIABLE, environ))
    values = [*(value for _, value in lines), environ.get(_BACKEND_VARIABLE, "")]
    return next(filter(None, values), "tensorflow") != "tensorflow"


def _uses_tensorflow(files: Sequence["_UserFile"]) -> bool:
    """Whether TensorFlow is reached by more than Keras itself."""
    beyond_keras = tuple(name for name in _TENSORFLOW_MODULES if name not in _KERAS_3_MODULES)
    return any(file.reaches(beyond_keras) for file in files)


def _choose_preload(imports: ModuleImports, *, tensorflow: bool) -> tuple[str, ...]:
    """What the fork server imports early: TensorFlow first, then as the module does."""
    # What is built on Keras waits, without TensorFlow, for the module to choose the backend.
    early = [
        name
        for name in imports.third_party
        if name.partition(".")[0] not in _NEVER_EARLY
        and (tensorflow or not name.startswith("keras"))
    ]
    return tuple(dict.fromkeys([*(["tensorflow"] if tensorflow else []), *early]))


class _UserFile:
    """One parsed file, and what its names stand for."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name = name
        self._tree = tree
        self._bound: dict[str, str] = {}
        self._imported: list[tuple[int, str]] = []
        for statement in import_statements(tree):
            self._note(statement)

    def _note(self, statement: ast.Import | ast.ImportFrom) -> None:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                self._imported.append((statement.lineno, _drop_version(alias.name)))
                top = alias.name.partition(".")[0]
                self._bound[alias.asname or top] = alias.name if alias.asname else top
        elif not statement.level:
            for alias in statement.names:
                name = f"{statement.module}.{alias.name}"
                self._imported.append((statement.lineno, _drop_version(name)))
                self._bound[alias.asname or alias.name] = name

    def reaches(self, modules: Sequence[str]) -> bool:
        """Whether the file imports one of `modules` or something in them."""
        return any(_find_in(name, modules) for _, name in self._imported)

    def signs_of_keras_2(self) -> Iterator[Sign]:
        """What only works, or means something else, with Keras 2."""
        for line, name in self._imported:
            if found := _find_in(name, _KERAS_2_MODULES):
                yield (line, f"imports {found}")
            elif _find_in(name, ("keras",)) and _has_idiom(name):
                yield (line, f"imports {name}")
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Attribute):
                yield from self._judge_attribute(node)
            elif isinstance(node, ast.Call):
                yield from self._judge_call(node)

    def signs_of_keras_2_alone(self) -> Iterator[Sign]:
        """What does not work with Keras 3, whichever of them tf.keras is."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Attribute):
                written = _join_dotted(node)
                meant = self._resolve(written)
                if meant.startswith(("tensorflow.keras.", "keras.")) and _has_idiom(meant):
                    yield (node.lineno, f"uses {written}")
            elif isinstance(node, ast.Call):
                yield from self._judge_call(node)
                yield from self._judge_save(node)
        yield from find_functions_on_inputs(
            self._tree, lambda function: self._resolve(_join_dotted(function))
        )

    def signs_of_keras_3(self) -> Iterator[Sign]:
        """The imports of Keras by its own name."""
        for line, name in self._imported:
            if found := _find_in(name, _KERAS_3_MODULES):
                yield (line, f"imports {found}")

    def signs_of_keras_3_in_a_program(self) -> Iterator[Sign]:
        """Those, and what tf.keras has only where it is Keras 3."""
        yield from self.signs_of_keras_3()
        attributes = (node for node in ast.walk(self._tree) if isinstance(node, ast.Attribute))
        used = ((node.lineno, self._resolve(_join_dotted(node))) for node in attributes)
        for line, name in (*self._imported, *used):
            if found := _find_in(name, _KERAS_3_PARTS):
                yield (line, f"uses {found}")

    def uses_estimators(self) -> bool:
        """Whether the file imports or names Estimators."""
        attributes = (node for node in ast.walk(self._tree) if isinstance(node, ast.Attribute))
        return self.reaches(_ESTIMATOR_MODULES) or any(
            _find_in(self._resolve(_join_dotted(node)), _ESTIMATOR_MODULES) for node in attributes
        )

    def first(self, signs: Iterator[Sign]) -> str:
        """The first sign with its place, or an empty string."""
        found = min(signs, key=lambda sign: sign[0], default=None)
        return f"{self.name}:{found[0]} {found[1]}" if found else ""

    def find_assignments(
        self, variable: str, environ: Mapping[str, str]
    ) -> Iterator[tuple[int, str]]:
        """The line and the value where the file sets an environment variable to a constant."""
        for node in ast.walk(self._tree):
            match node:
                case ast.Assign(
                    targets=[ast.Subscript(slice=ast.Constant(value=name))],
                    value=ast.Constant(value=str(value)),
                ) if name == variable:
                    yield node.lineno, value
                case ast.Call(
                    func=ast.Attribute(attr="setdefault"),
                    args=[ast.Constant(value=name), ast.Constant(value=str(value))],
                ) if name == variable and variable not in environ:
                    yield node.lineno, value

    def _judge_attribute(self, node: ast.Attribute) -> Iterator[Sign]:
        written = _join_dotted(node)
        meant = self._resolve(written)
        if _find_in(meant, _KERAS_2_MODULES) == meant:
            yield (node.lineno, f"uses {written}")
        elif self._may_be_keras(meant) and _has_idiom(meant):
            yield (node.lineno, f"uses {written.removeprefix('?.')}")

    def _judge_call(self, node: ast.Call) -> Iterator[Sign]:
        written = _join_dotted(node.func)
        if not self._may_be_keras(self._resolve(written)):
            return
        name = written.rpartition(".")[2]
        keywords = {keyword.arg for keyword in node.keywords if keyword.arg}
        if "save_format" in keywords:
            yield (node.lineno, "uses save_format=")
        elif name in _OPTIMIZERS and "lr" in keywords:
            yield (node.lineno, f"uses {name}(lr=…)")
        elif name == "compile" and _is_text(node, "metrics"):
            yield (node.lineno, "uses compile(metrics=…) with a text")
        elif name in _FIT_METHODS and (found := sorted(keywords & _FIT_KEYWORDS)):
            yield (node.lineno, f"uses {name}({found[0]}=…)")

    @staticmethod
    def _judge_save(node: ast.Call) -> Iterator[Sign]:
        """Saving a model to a folder, as far as the text shows that it is one."""
        owner, _, name = _join_dotted(node.func).rpartition(".")
        if name != "save" or not node.args or "model" not in owner.lower():
            return
        match node.args[0]:
            case ast.Constant(value=str(path)) | ast.BinOp(right=ast.Constant(value=str(path))):
                if not path.endswith((".keras", ".h5", ".hdf5")):
                    yield (node.lineno, f"saves to the folder {path}")

    def _resolve(self, written: str) -> str:
        """A dotted name with its import alias followed."""
        first, dot, rest = written.partition(".")
        return _drop_version(self._bound.get(first, first) + dot + rest)

    def _may_be_keras(self, meant: str) -> bool:
        """Whether a name is in Keras or TensorFlow, or a variable that may come from there."""
        first = meant.partition(".")[0]
        imported = {name.partition(".")[0] for name in self._bound.values()}
        return first in ("keras", "tensorflow", "tf_keras") or first not in imported


def _join_dotted(node: ast.expr) -> str:
    """An attribute chain as it is written; what it starts from is `?` unless it is a name."""
    if isinstance(node, ast.Attribute):
        return f"{_join_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _is_text(call: ast.Call, argument: str) -> bool:
    """Whether a call has a text for an argument."""
    return any(
        keyword.arg == argument
        and isinstance(keyword.value, ast.Constant)
        and isinstance(keyword.value.value, str)
        for keyword in call.keywords
    )


def _drop_version(name: str) -> str:
    """A dotted name without TensorFlow's version folders."""
    return re.sub(r"^tensorflow(\.compat\.v[12]|\._api\.v[12])+(?=\.|$)", "tensorflow", name)


def _find_in(name: str, modules: Sequence[str]) -> str:
    """The one of `modules` that `name` is or lies in, or an empty string."""
    return next((m for m in modules if name == m or name.startswith(f"{m}.")), "")


def _has_idiom(name: str) -> bool:
    return any(f".{idiom}." in f".{name}." for idiom in _KERAS_2_IDIOMS)


_ONLY_KERAS_2 = re.compile(
    r"""
    save_format.\ argument\ is\ deprecated\ in\ Keras\ 3
    | (?:not\ supported\ in|not\ available\ with)\ Keras\ 3
    | Keras\ 3\ only\ supports
    | Invalid\ filepath\ extension\ for\ saving
    | must\ end\ in\ `\.(?:keras|weights\.h5)`
    | not\ recognized:\ \{.*'lr'
    | unexpected\ keyword\ argument\ '(?:lr|workers|use_multiprocessing|max_queue_size|period)'
    | Unrecognized\ keyword\ arguments\ passed\ to\ .*batch_input_shape
    | KerasTensor\ cannot\ be\ used\ as\ input\ to\ a\ TensorFlow\ function
    | A\ KerasTensor\ is\ symbolic
    | Received:\ reduction=auto
    | Attempt\ to\ convert\ a\ value\ \(PerReplica
    | module\ 'keras[\w.]*'\ has\ no\ attribute\ '(?:legacy|experimental|estimator|placeholder
        |DenseFeatures|SequenceFeatures)'
    | object\ has\ no\ attribute\ '(?:minimize|fit_generator|evaluate_generator|predict_generator
        |reset_states|state_updates)'
    """,
    re.VERBOSE,
)
_KERAS_3_NAMES = (
    "ops|random|tree|config|distribution|dtype_policies|quantizers|Variable|Layer|Optimizer|Loss"
    "|Metric|KerasTensor|StatelessScope|Pipeline|Muon|Dice|silu"
)
_ONLY_KERAS_3 = re.compile(
    rf"""
    module\ 'tf_keras[\w.]*'\ has\ no\ attribute\ '(?:{_KERAS_3_NAMES})'
    | cannot\ import\ name\ '(?:{_KERAS_3_NAMES})'\ from\ '(?:tf_)?keras
    | No\ module\ named\ '(?:tf_)?keras\.(?:{_KERAS_3_NAMES})
    | export\(\)\ got\ an\ unexpected\ keyword\ argument\ '(?:format|verbose|input_signature)'
    | Invalid\ keyword\ argument\(s\)\ in\ `compile\(\)`:\ \(\{{'auto_scale_loss'
    | (?:loss_scale_factor|gradient_accumulation_steps)\ is\ not\ a\ valid\ argument
    | object\ has\ no\ attribute\ 'stateless_call'
    | compute_loss\(\)\ got\ an\ unexpected\ keyword\ argument\ 'training'
    """,
    re.VERBOSE,
)


def wrong_keras_hint(error_text: str, needs: ProcessNeeds) -> str:
    """The switch to try when `error_text` is what the wrong Keras says, or an empty string."""
    if needs.keras == 3 and _ONLY_KERAS_2.search(error_text):
        wanted = 2
    elif needs.keras == 2 and _ONLY_KERAS_3.search(error_text):
        wanted = 3
    else:
        return ""
    return (
        f"This ran with Keras {needs.keras} ({needs.reason.rstrip('.')}), and the "
        f"error is typical of code for Keras {wanted}. Try Trainer(keras={wanted})."
    )
