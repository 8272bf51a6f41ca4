# SPDX-License-Identifier: Apache-2.0
"""An error in a user's own line is told by that line and a sentence, however a file is started."""

import os
import subprocess
import sys

import pytest

from stoker.any_python.failures import WHOLE_TRACEBACK

WAYS = {
    "python": [sys.executable, "program.py"],
    "stoker run": [sys.executable, "-m", "stoker", "run", "program.py"],
}


@pytest.fixture(params=WAYS)
def run(request, tmp_path):
    """Gives what a program says at its end."""

    def run_program(*lines, **environ):
        (tmp_path / "program.py").write_text("\n".join(["import tfx.v1 as tfx", *lines]))
        done = subprocess.run(
            WAYS[request.param],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, **environ},
        )
        assert done.returncode == 1, done.stderr
        return done.stderr

    return run_program


REFUSED = {
    "an unknown argument": (
        "tfx.components.CsvExampleGen(input_bse='x')",
        "CsvExampleGen has no argument 'input_bse'. Did you mean 'input_base'? It takes input_base",
    ),
    "a missing argument": (
        "tfx.components.StatisticsGen()",
        "StatisticsGen: missing a required argument: 'examples'.",
    ),
    "too many arguments": (
        "tfx.components.StatisticsGen(*range(20))",
        "StatisticsGen: too many positional arguments.",
    ),
    "what is no channel": (
        "tfx.components.StatisticsGen(examples=3)",
        "StatisticsGen: 'examples' takes a channel, such as example_gen.outputs['examples'], got 3",
    ),
    "what is no component": (
        "tfx.dsl.Pipeline('p', 'root', components=[3])",
        "Pipeline(components=[…]) takes components, got 3.",
    ),
    "what is no pipeline": (
        "tfx.orchestration.LocalDagRunner().run(3)",
        "LocalDagRunner().run takes a Pipeline, got 3.",
    ),
    "a part that is not here": (
        "tfx.proto.RunState",
        "tfx.v1.proto.RunState is not in this version of Stoker. See how runs ended",
    ),
    "a name that our module has not": (
        "from tfx.components import Nope",
        "Stoker has no tfx.components.Nope. Leave it out, or write what it does.",
    ),
    "an attribute that our module has not": (
        "tfx.nope",
        "Stoker has no tfx.v1.nope. tfx.v1 has components, dsl,",
    ),
    "a name that a stand-in has not": (
        "from ml_metadata.metadata_store import nope",
        "Stoker has no ml_metadata.metadata_store.nope.",
    ),
    "a package that is not here": (
        "import tensorflow_datasets",
        "tensorflow_datasets is not installed: pip install tensorflow-datasets.",
    ),
    "a module that nobody knows": (
        "import no_such_module",
        "No module named 'no_such_module'. Install the package that has it, perhaps pip install",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("line", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_told_in_one_line(run, line, said):
    (told,) = run("def declare():", f"    {line}", "declare()").splitlines()
    assert told.startswith(f"stoker: program.py:3: {said}")


@pytest.mark.slow
def test_it_is_the_line_in_the_file_that_has_it(run, tmp_path):
    (tmp_path / "parts.py").write_text("\nfrom tfx.components import Trainer\nTrainer(exmples=3)\n")
    assert run("import parts").startswith("stoker: parts.py:3: Trainer has no argument 'exmples'")


@pytest.mark.slow
def test_all_frames_are_shown_to_those_who_ask(run):
    told = run("tfx.components.StatisticsGen()", **{WHOLE_TRACEBACK: "1"})
    assert "Traceback" in told
    assert "older_names.py" in told


@pytest.mark.slow
def test_what_the_users_own_code_raises_is_shown_as_python_does(run):
    told = run("def f():", "    raise ValueError('mine')", "f()")
    assert 'program.py", line 3, in f' in told
    assert told.count('File "') == 2


@pytest.mark.slow
def test_a_hook_of_the_users_own_is_kept(tmp_path):
    program = "import sys\nsys.excepthook = lambda *_: print('mine')\nimport tfx.v1 as tfx\ntfx.x"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("mine\n", "")


GONE = {
    "a function": (
        ["tf.config.experimental.list_gpus()"],
        "tensorflow.config.experimental.list_gpus is not in tensorflow 2",
        "stoker env create tf-2.15, and Trainer(python='tf-2.15').",
    ),
    "a misspelt one": (
        ["tf.constan(3)"],
        "tensorflow.constan is not in",
        "Did you mean 'constant'?",
    ),
    "in compat": (
        ["tf.compat.v1.estimator.tpu"],
        "tensorflow.compat.v1.estimator.tpu is not in",
        "",
    ),
    "of TensorFlow 1": (
        ["import tensorflow.contrib.slim as slim"],
        "tensorflow.contrib.slim is of TensorFlow 1",
        "Trainer(python='tf-1.15').",
    ),
    "of Keras 2": (
        ["from tensorflow.keras.experimental import LinearModel"],
        "tensorflow.keras.experimental.LinearModel is of Keras 2, and this ran with Keras 3.",
        "Set TF_USE_LEGACY_KERAS=1",
    ),
    "an experiment that proved itself": (
        ["tf.keras.layers.experimental.preprocessing.Normalization()"],
        "tensorflow.keras.layers.experimental.preprocessing.Normalization is of Keras 2",
        "Use tensorflow.keras.layers.Normalization, or",
    ),
}


@pytest.mark.tf
@pytest.mark.parametrize(("lines", "said", "advice"), GONE.values(), ids=GONE)
def test_a_name_that_tensorflow_has_no_longer_is_told_with_what_to_do(run, lines, said, advice):
    environ = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "0"}
    told = run("import tensorflow as tf", *lines, **environ)
    *_, last = told.splitlines()
    assert last.startswith(f"stoker: program.py:3: {said}")
    assert advice in last
    assert "Traceback" not in told
