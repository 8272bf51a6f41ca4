# SPDX-License-Identifier: Apache-2.0
import importlib
import sys

import pytest

from stoker.any_python import eval_export
from stoker.errors import MissingPart
from stoker.stand_ins.tfma.names import provide_tfma

CONFIG_NAMES = (
    *("AggregationOptions", "BinarizationOptions", "ConfidenceIntervalOptions"),
    *("CrossSliceMetricThreshold", "CrossSliceMetricThresholds", "CrossSlicingSpec", "EvalConfig"),
    *("ExampleWeightOptions", "GenericChangeThreshold", "GenericValueThreshold", "MetricConfig"),
    *("MetricDirection", "MetricThreshold", "MetricsSpec", "ModelSpec", "Options"),
    *("PaddingOptions", "PerSliceMetricThreshold", "PerSliceMetricThresholds"),
    *("RepeatedInt32Value", "RepeatedStringValue", "SlicingSpec"),
)

pytestmark = pytest.mark.usefixtures("import_system")


@pytest.fixture(autouse=True)
def _not_imported_yet(import_system, monkeypatch):
    """Other tests of this process may have imported it."""
    for name in [name for name in sys.modules if name.startswith("tensorflow_model_analysis")]:
        monkeypatch.delitem(sys.modules, name)


def import_tfma():
    return importlib.import_module("tensorflow_model_analysis")


def test_nothing_is_imported_before_the_user_does():
    provide_tfma()
    assert "tensorflow_model_analysis" not in sys.modules


def test_where_tfma_is_not_installed_export_is_there():
    provide_tfma()
    provide_tfma()
    assert import_tfma().export.EvalInputReceiver is eval_export.EvalInputReceiver


def test_what_only_tfma_has_says_what_to_install():
    provide_tfma()
    with pytest.raises(MissingPart, match=r"writers needs TFMA.*pip install 'stoker\[evaluator\]'"):
        import_tfma().writers  # noqa: B018
    with pytest.raises(MissingPart, match="render_slicing_attributions needs TFMA"):
        import_tfma().view.render_slicing_attributions(None)
    with pytest.raises(MissingPart, match=r"metrics.Metric needs TFMA"):
        from tensorflow_model_analysis.metrics import Metric  # noqa: F401
    assert import_tfma().__version__ == import_tfma().VERSION_STRING


@pytest.mark.slow
def test_parts_that_notebooks_name_are_there(run_python):
    program = """
        import tensorflow_model_analysis as tfma
        from tensorflow_model_analysis.addons.fairness.metrics import fairness_indicators
        from tensorflow_model_analysis.addons.fairness.view import widget_view
        from tensorflow_model_analysis.eval_saved_model.export import EvalInputReceiver
        from tensorflow_model_analysis.experimental import dataframe
        from tensorflow_model_analysis.post_export_metrics import post_export_metrics
        from tensorflow_model_analysis.proto import metrics_for_slice_pb2, validation_result_pb2
        from tensorflow_model_analysis.slicer import slicer
        from tensorflow_model_analysis.view import view_types

        view = tfma.addons.fairness.view.widget_view
        assert view.render_fairness_indicator is widget_view.render_fairness_indicator
        tfma.metrics.AUC(name="auc"), tfma.experimental.dataframe, tfma.VALID_TF_MODEL_TYPES
        print("all are there")
    """
    assert run_python(program) == "all are there\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "imported", ["", "api eval_saved_model extractors proto slicer utils view"]
)
def test_modules_are_reached_through_their_packages(run_python, imported):
    program = """
        import importlib, sys
        import tensorflow_model_analysis as tfma

        for name in sys.argv[1:]:
            importlib.import_module(f"tensorflow_model_analysis.{name}")
        tfma.view.view_types.EvalResult, tfma.view.widget_view.render_plot
        tfma.view.render_slicing_metrics, tfma.view.MetricsTable
        tfma.slicer.slicer_lib.SingleSliceSpec, tfma.slicer.SingleSliceSpec
        tfma.proto.config_pb2.EvalConfig, tfma.api.model_eval_lib, tfma.api.types
        tfma.extractors.extractor.Extractor, tfma.extractors.PredictionsExtractor
        tfma.post_export_metrics.post_export_metrics.auc, tfma.post_export_metrics.auc
        tfma.eval_saved_model.export.EvalInputReceiver
        tfma.utils.model_util, tfma.utils.config_util
        print("all are there")
    """
    assert run_python(program, *imported.split()) == "all are there\n"


def test_a_configuration_can_be_written_without_tfma():
    provide_tfma()
    tfma = import_tfma()
    config = tfma.EvalConfig(
        model_specs=[tfma.ModelSpec(label_key="tips")],
        metrics_specs=[
            tfma.MetricsSpec(
                metrics=[
                    tfma.MetricConfig(
                        class_name="AUC",
                        threshold=tfma.MetricThreshold(
                            change_threshold=tfma.GenericChangeThreshold(
                                direction=tfma.MetricDirection.HIGHER_IS_BETTER,
                                absolute={"value": -1e-10},
                            )
                        ),
                    )
                ]
            )
        ],
    )
    assert all(getattr(tfma, name) for name in CONFIG_NAMES)
    assert tfma.config.MetricThreshold is tfma.MetricThreshold
    assert config.model_specs[0].label_key == "tips"


def test_an_installed_tfma_keeps_its_names_and_gets_ours(write, tmp_path, monkeypatch):
    write("tensorflow_model_analysis/__init__.py", "EvalConfig = 'its own'")
    write("tensorflow_model_analysis/metrics.py", "AUC = 1")
    monkeypatch.syspath_prepend(tmp_path)
    provide_tfma()
    tfma = import_tfma()
    assert tfma.EvalConfig == "its own"
    assert tfma.export is eval_export
    assert importlib.import_module("tensorflow_model_analysis.metrics").AUC == 1


def test_one_that_has_export_keeps_it(write, tmp_path, monkeypatch):
    write("tensorflow_model_analysis/__init__.py", "export = 'its own'")
    monkeypatch.syspath_prepend(tmp_path)
    provide_tfma()
    assert import_tfma().export == "its own"


def test_a_tfma_that_was_imported_before_gets_our_names(write, tmp_path, monkeypatch):
    write("tensorflow_model_analysis/__init__.py")
    monkeypatch.syspath_prepend(tmp_path)
    tfma = import_tfma()
    provide_tfma()
    assert tfma.export is eval_export
