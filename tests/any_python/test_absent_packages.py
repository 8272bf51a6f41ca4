# SPDX-License-Identifier: Apache-2.0
"""What a module file of any age imports from tfx resolves in an interpreter that has none."""

import json

import pytest
from bare_process import bare_process

INSTALL = "from stoker_any_python import absent_packages; absent_packages.install()\n"


IMPORTS = (
    "from tfx.components.trainer.executor import TrainerFnArgs as found",
    "from tfx.components.trainer.fn_args_utils import FnArgs, DataAccessor as found",
    "from tfx.components.trainer import executor, fn_args_utils as found",
    "from tfx.components.tuner.component import TunerFnResult as found",
    "from tfx.utils import io_utils; found = io_utils.parse_pbtxt_file",
    "from tfx.utils.io_utils import SchemaReader as found",
    "from tfx.utils import path_utils; found = path_utils.serving_model_dir",
    "from tfx.dsl.io import fileio; found = fileio.open",
    "from tfx import v1 as tfx; found = tfx.components.FnArgs",
    "from tfx import v1 as tfx; found = tfx.components.DataAccessor",
    "from tfx import v1 as tfx; found = tfx.components.TunerFnResult",
    "from tfx import v1 as tfx; found = tfx.utils.parse_pbtxt_file",
    "from tfx import v1 as tfx; found = tfx.dsl.io.fileio.exists",
    "import tfx.v1 as tfx; found = tfx.components.FnArgs",
    "from tfx.v1.components import FnArgs as found",
    "from tfx_bsl.public import tfxio; found = tfxio.TensorFlowDatasetOptions(batch_size=2)",
    "from tfx_bsl.tfxio import dataset_options; found = dataset_options.RecordBatchesOptions",
    "import tensorflow_model_analysis as tfma; found = tfma.export.EvalInputReceiver",
    "import tensorflow_data_validation as tfdv; found = tfdv.load_schema_text",
    "from tensorflow_data_validation.utils import schema_util as found",
    "from tensorflow_model_analysis import export; found = export.export_eval_savedmodel",
)


@pytest.fixture(scope="module")
def found():
    """What each statement finds, in one process that forgets after each."""
    code = f"""
before = set(sys.modules)
for statement in {IMPORTS!r}:
    names = {{}}
    exec(statement, names)
    print(json.dumps([statement, str(names["found"])]))
    for name in set(sys.modules) - before:
        del sys.modules[name]
"""
    return dict(map(json.loads, bare_process(INSTALL + code).splitlines()))


@pytest.mark.parametrize("statement", IMPORTS)
def test_it_resolves(found, statement):
    assert found[statement].startswith(("<class", "<function", "<module", "TensorFlowDatasetO"))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "from tfx.components import Pusher",
            "tfx.components.Pusher is not there for a module that runs in another interpreter. "
            "It has trainer, tuner in tfx.components.",
        ),
        (
            "from tfx import v1 as tfx; tfx.components.Trainer",
            "tfx.v1.components.Trainer is not there for a module that runs in another "
            "interpreter. It has DataAccessor, FnArgs, TunerFnResult in tfx.v1.components.",
        ),
        ("import tfx.orchestration", "No module named 'tfx.orchestration'"),
    ],
)
def test_what_is_not_there_says_what_is(statement, message):
    code = f"{INSTALL}try:\n  {statement}\nexcept ImportError as error:\n  print(error)"
    assert bare_process(code).strip() == message


def test_a_real_package_is_left_alone(tmp_path):
    (tmp_path / "tfx_bsl").mkdir()
    (tmp_path / "tfx_bsl" / "__init__.py").write_text("REAL = True\n")
    code = f"sys.path.append({str(tmp_path)!r})\n{INSTALL}import tfx_bsl; print(tfx_bsl.REAL)"
    assert bare_process(code).strip() == "True"


def test_a_folder_of_data_is_not_taken_for_a_package(tmp_path):
    (tmp_path / "tfx").mkdir()
    code = f"sys.path.insert(0, {str(tmp_path)!r})\n{INSTALL}from tfx.utils import io_utils"
    bare_process(code)
