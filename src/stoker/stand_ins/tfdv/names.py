# SPDX-License-Identifier: Apache-2.0
"""The table of what user code finds as `tensorflow_data_validation` where TFDV is not installed.

To add a name: write it in the file of its subject, and add it to HOMES. Everything is imported
when it is asked for, so that a module which only mentions TFDV loads quickly.
"""

import importlib
from collections.abc import Callable
from typing import Any

from stoker.errors import MissingPart

_TFDV = "tensorflow_data_validation"
_HERE = "stoker.stand_ins.tfdv"

HOMES = {
    "feature_path": ("FeaturePath",),
    "tf_example_decoder": ("TFExampleDecoder",),
    "stats_options": ("StatsOptions",),
    "generate": (
        "generate_statistics_from_csv",
        "generate_statistics_from_dataframe",
        "generate_statistics_from_tfrecord",
    ),
    "files": (
        *("load_statistics", "load_stats_binary", "load_stats_text", "write_stats_text"),
        *("load_schema_text", "write_schema_text", "load_anomalies_text", "write_anomalies_text"),
        "load_anomalies_binary",
    ),
    "slices": (
        *("get_slice_stats", "get_feature_stats"),
        *("DatasetListView", "DatasetView", "FeatureView"),
    ),
    "slicing": ("experimental_get_feature_value_slicer", "get_feature_value_slicer"),
    "schemas": (
        *("infer_schema", "update_schema", "get_feature", "get_domain", "set_domain"),
        "generate_dummy_schema_with_paths",
    ),
    "validate": (
        *("validate_statistics", "validate_statistics_internal"),
        "validate_corresponding_slices",
    ),
    "anomalous_examples": (
        *("validate_instance", "validate_examples_in_csv", "validate_examples_in_tfrecord"),
    ),
    "display": (
        *("visualize_statistics", "get_statistics_html", "compare_slices"),
        *("display_schema", "display_anomalies"),
    ),
    "transforms": (
        *("GenerateStatistics", "MergeDatasetFeatureStatisticsList"),
        *("DecodeCSV", "DecodeTFExample"),
        *("WriteStatisticsToBinaryFile", "WriteStatisticsToTFRecord", "WriteStatisticsToText"),
        "WriteStatisticsToRecordsAndBinaryFile",
    ),
}
"""Where each name of the package is."""
MODULES = ("api", "coders", "constants", "statistics", "types", "utils", "version")
"""Modules that are reached through the package, whether they were imported or not."""

_GENERATORS = (
    "Custom statistics are counted by TFDV only: take them from the data with pandas or pyarrow."
)
_SKEW = (
    "Compare statistics instead: validate_statistics(…, serving_statistics=…) with a "
    "skew_comparator in the schema."
)
NOT_HERE = {
    "CombinerStatsGenerator": _GENERATORS,
    "TransformStatsGenerator": _GENERATORS,
    "CrossFeatureView": _GENERATORS,
    "DetectFeatureSkew": _SKEW,
    "get_confusion_count_dataframes": _SKEW,
    "get_match_stats_dataframe": _SKEW,
    "get_skew_result_dataframe": _SKEW,
    "default_sharded_output_suffix": "Write one file: WriteStatisticsToTFRecord(path).",
    "default_sharded_output_supported": "Write one file: WriteStatisticsToTFRecord(path).",
    "load_sharded_statistics": "Statistics are in one file: load_statistics(path).",
    "skew": _SKEW,
    "pywrap": "TFDV's C++ library is not needed here.",
    "anomalies": "Custom validations are SQL for TFDV: check the statistics in Python.",
    "arrow": "Use pyarrow itself.",
}
"""What TFDV has, and what to do here instead."""

_FILES = {name: file for file, names in HOMES.items() for name in names}


def find_name(name: str) -> Any:
    """The `__getattr__` of the package."""
    if name in _FILES:
        return getattr(importlib.import_module(f"{_HERE}.{_FILES[name]}"), name)
    if name in MODULES:
        return importlib.import_module(f"{_TFDV}.{name}")
    if name == "__version__":
        return importlib.import_module(f"{_TFDV}.version").__version__
    if name in NOT_HERE:
        raise MissingPart(
            f"{_TFDV}.{name} is not in this version of Stoker. {NOT_HERE[name]}", name=name
        )
    raise AttributeError(f"module {_TFDV!r} has no attribute {name!r}")


def advise_of_module(name: str) -> str:
    """What to do without a module of TFDV; nothing if that is not known."""
    part = name.split(".")[1]
    return f"{name} is not in this version of Stoker. {NOT_HERE[part]}" if part in NOT_HERE else ""


def find_submodules(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package below it: its modules, imported when they are asked for."""

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            raise MissingPart(
                f"{package}.{name} is not in this version of Stoker. Use what `{_TFDV}` has.",
                name=name,
            ) from error

    return __getattr__
