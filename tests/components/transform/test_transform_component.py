# SPDX-License-Identifier: Apache-2.0
"""Transform as a pipeline sees it, and where it decides to run; nothing is run here."""

import json

import pytest

from stoker import RuntimeParameter, SplitsConfig, Transform
from stoker.artifacts import Examples, Schema, TransformCache
from stoker.dsl import Channel
from stoker.transform.placement import choose_placement

MEGABYTE = 1 << 20


def transform(**arguments):
    given = {"module_file": "/path/of/preprocessing.py", **arguments}
    return Transform(examples=Channel(Examples), schema=Channel(Schema), **given)


def test_its_outputs_have_the_keys_and_types_of_tfx():
    assert {key: channel.type_name for key, channel in transform().outputs.items()} == {
        "transform_graph": "TransformGraph",
        "transformed_examples": "Examples",
        "updated_analyzer_cache": "TransformCache",
        "pre_transform_schema": "Schema",
        "pre_transform_stats": "ExampleStatistics",
        "post_transform_schema": "Schema",
        "post_transform_stats": "ExampleStatistics",
        "post_transform_anomalies": "ExampleAnomalies",
    }


@pytest.mark.parametrize(
    ("switch", "left_out"),
    [
        ({"materialize": False}, "transformed_examples"),
        ({"disable_analyzer_cache": True}, "updated_analyzer_cache"),
        ({"disable_statistics": True}, "post_transform_stats"),
    ],
)
def test_an_output_that_is_switched_off_is_not_there(switch, left_out):
    assert left_out in transform().outputs
    assert left_out not in transform(**switch).outputs


def test_switching_an_output_on_is_a_change_that_the_cache_sees():
    parameters = [transform(materialize=on).spec.values({}) for on in (True, False)]
    assert parameters[0] != parameters[1]


def test_its_parameters_are_kept_as_tfx_keeps_them():
    config = SplitsConfig(analyze=["train"], transform=["eval"])
    kept = transform(splits_config=config, custom_config={"rate": 1}).exec_properties
    assert kept["module_file"] == "/path/of/preprocessing.py"
    assert kept["custom_config"] == '{"rate": 1}'
    assert json.loads(kept["splits_config"]) == {
        "analyze": ["train"],
        "transform": ["eval"],
    }


def test_a_runtime_parameter_may_name_the_module():
    made = transform(module_file=RuntimeParameter("module", str))
    assert made.spec.values({"module": "here.py"})["module_file"] == "here.py"


def test_the_users_code_is_the_file_or_the_module_of_the_function():
    named = transform(module_file=None, preprocessing_fn="pkg.mod.fn")
    assert transform().user_code({"module_file": "a.py"}).module_file == "a.py"
    assert named.user_code(named.spec.values({})).module == "pkg.mod"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"module_file": None}, "got none of them"),
        ({"preprocessing_fn": "pkg.mod.fn"}, "got module_file and preprocessing_fn"),
        ({"splits_config": SplitsConfig(transform=["eval"])}, "names nothing to analyze"),
        ({"splits_config": {"transform": ["eval"]}}, "names nothing to analyze"),
        (
            {"analyzer_cache": Channel(TransformCache), "disable_analyzer_cache": True},
            "analyzer_cache or disable_analyzer_cache, not both",
        ),
        ({"custom_config": {"when": object()}}, "takes what JSON can say"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        transform(**arguments)


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--runner=DirectRunner"],
        ["--runner", "directrunner", "--direct_running_mode=multi_processing"],
        ["--runner=SwitchingDirectRunner"],
        ["--runner=apache_beam.runners.direct.DirectRunner"],
        ["--project=whatever", "--temp_location", "/somewhere"],
    ],
)
def test_direct_runners_mean_this_machine(flags):
    assert not choose_placement(flags, MEGABYTE).on_beam


@pytest.mark.parametrize("runner", ["FlinkRunner", "DataflowRunner", "FnApiRunner", "PrismRunner"])
def test_any_other_runner_means_beam_and_is_named_as_the_reason(runner):
    route = choose_placement([f"--runner={runner}"], MEGABYTE)
    assert route.on_beam
    assert route.explain("here") == (
        f"runs on Apache Beam, because beam_pipeline_args say --runner={runner}"
    )


def test_an_analyzer_of_the_users_own_means_beam_and_is_named_as_the_reason():
    route = choose_placement(["--direct_num_workers=2"], MEGABYTE, beam_only=["my_median"])
    assert route.on_beam
    assert "a PTransform of your own (my_median)" in route.explain("here")


def test_direct_workers_are_the_processes_of_the_local_engine():
    route = choose_placement(["--direct_num_workers", "3"], MEGABYTE)
    assert route.num_workers == 3
    assert route.explain("in 3 processes") == (
        "runs in 3 processes, because beam_pipeline_args say --direct_num_workers=3"
    )


def test_no_direct_workers_means_one_process_per_core(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(6))
    assert choose_placement(["--direct_num_workers=0"], MEGABYTE).num_workers == 6


@pytest.mark.parametrize(("num_megabytes", "processes"), [(1, 1), (5, 2), (1000, 6)])
def test_little_data_is_not_worth_many_processes(monkeypatch, num_megabytes, processes):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(6))
    assert choose_placement([], num_megabytes * MEGABYTE).num_workers == processes


def test_a_flag_that_beam_would_not_understand_is_told():
    with pytest.raises(ValueError, match="direct_num_workers"):
        choose_placement(["--direct_num_workers=many"], MEGABYTE)
