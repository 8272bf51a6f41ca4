# SPDX-License-Identifier: Apache-2.0
"""Modules that a package has not: their import says what there is, and what to do."""

import importlib.util

import pytest
import tfx

from stoker.errors import MissingModule
from stoker.stand_ins.missing_modules import has_module

STATEMENTS = {
    "import tfx.components.nothing_here": "Stoker has no tfx.components.nothing_here.",
    "from tfx.orchestration.kubeflow.nothing import x": "kubeflow has kubeflow_dag_runner, proto",
    "import tfx.components.trainr": "Did you mean 'trainer'?",
    "from tensorflow_data_validation.utils.nothing import x": "Leave it out, or write what it does",
    "from tensorflow_data_validation.skew import feature_skew_detector": "Compare statistics",
    "import tensorflow_model_analysis.metrics.nothing": "pip install 'stoker[evaluator]'",
    "from tensorflow_model_analysis.contrib.aggregates import x": "needs TFMA",
    "import ml_metadata.nothing": "ml_metadata has errors, metadata_store, proto, version.",
    "import tensorflow_transform.nothing": "tensorflow_transform.nothing is not in tensorflow-tran",
    "import tfx_bsl.nothing": "Use another name of tfx_bsl",
}


@pytest.mark.parametrize(("statement", "said"), STATEMENTS.items())
def test_the_import_of_a_missing_module_says_what_to_do(statement, said):
    with pytest.raises(MissingModule) as raised:
        exec(statement, {})

    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_code_that_can_do_without_a_module_goes_on():
    found = {}
    exec("try:\n  import tfx.nothing\nexcept ModuleNotFoundError as e:\n  name = e.name", found)

    assert found["name"] == "tfx.nothing"
    assert not has_module("tfx.nothing")
    assert has_module("tfx.components")


def test_an_unknown_name_of_a_package_stays_a_name():
    with pytest.raises(ImportError, match=r"cannot import name 'Nothing' from 'tfx\.dsl'"):
        exec("from tfx.dsl import Nothing", {})
    assert not hasattr(tfx, "nothing")


def test_other_packages_are_left_alone():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'json\.nothing'"):
        exec("import json.nothing", {})
    assert importlib.util.find_spec("json.nothing") is None
