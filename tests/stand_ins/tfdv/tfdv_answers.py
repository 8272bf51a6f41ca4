# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow Data Validation says of the data sets, the real one or the stand-in.

`python tfdv_answers.py DATA ANSWERS` asks the one that is installed and writes `NAME.json` for each
data set. Both pass through every line here, so it is in the words of TFDV's users.
"""

import json
import sys
from pathlib import Path

import tensorflow_data_validation as tfdv
from google.protobuf import json_format
from tensorflow_metadata.proto.v0 import schema_pb2
from tfdv_data import ALL_SETS, CSV_SETS, FRAME_SETS, rows_of

OPTIONS = {
    "categories": {"num_top_values": 5, "num_rank_histogram_buckets": 150},
    "weights": {"weight_feature": "weight"},
    "numbers": {"num_histogram_buckets": 4, "num_quantiles_histogram_buckets": 4},
    "lists": {"num_values_histogram_buckets": 3},
    "pictures": {"enable_semantic_domain_stats": True},
}


def answers_of(name: str, folder: Path) -> dict:
    """All that is asked about one data set, as plain values."""
    first, later = (_statistics(name, part, folder) for part in ("first", "later"))
    schema = tfdv.infer_schema(first)
    compared = _add_comparators(schema, first)
    answers = {
        "statistics": first,
        "schema": schema,
        "schema_without_shapes": tfdv.infer_schema(
            first, infer_feature_shape=False, max_string_domain_size=2
        ),
        "anomalies_of_itself": tfdv.validate_statistics(first, schema),
        "anomalies": tfdv.validate_statistics(later, schema),
        "drift_and_skew": tfdv.validate_statistics(
            later, compared, previous_statistics=first, serving_statistics=first
        ),
        "updated_schema": tfdv.update_schema(schema, later),
    }
    answers.update(_MORE.get(name, lambda *_: {})(folder, first, later, schema))
    return {
        key: _take_out(json_format.MessageToDict(answer, preserving_proto_field_name=True))
        for key, answer in answers.items()
    }


def _take_out(value):
    """A message without the schema it repeats, and without sentences, which are each one's own."""
    if isinstance(value, list):
        return [_take_out(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _take_out(one) for key, one in value.items() if key not in ("baseline", "description")
    }


def _statistics(name, part, folder, **options):
    options = tfdv.StatsOptions(**{**OPTIONS.get(name, {}), **options})
    if name in CSV_SETS:
        path = str(folder / f"{name}-{part}.csv")
        return tfdv.generate_statistics_from_csv(path, stats_options=options)
    if name in FRAME_SETS:
        return tfdv.generate_statistics_from_dataframe(frame_of(name, part), options)
    path = str(folder / f"{name}-{part}.tfrecord")
    return tfdv.generate_statistics_from_tfrecord(path, stats_options=options)


def frame_of(name, part):
    """The rows as a pandas.DataFrame, with a column of dates that TFDV leaves out."""
    import pandas as pd

    frame = pd.DataFrame(rows_of(name, part))
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(frame["day"], unit="D")
    frame["small"] = frame["integer"].astype("int8")
    frame["single"] = frame["double"].astype("float32")
    return frame


def _add_comparators(schema, statistics):
    """The schema with a drift and a skew comparator on every feature."""
    schema = schema_pb2.Schema.FromString(schema.SerializeToString())
    kinds = {one.path.step[0]: one.WhichOneof("stats") for one in statistics.datasets[0].features}
    for feature in schema.feature:
        for comparator in (feature.drift_comparator, feature.skew_comparator):
            comparator.jensen_shannon_divergence.threshold = 0.01
            if kinds[feature.name] == "string_stats":
                comparator.infinity_norm.threshold = 0.01
    return schema


def _ask_trips(folder, first, later, schema):
    """Environments, a corrected schema, bounds, an allow list, and types from the schema."""
    edited = schema_pb2.Schema.FromString(schema.SerializeToString())
    edited.default_environment.extend(["TRAINING", "SERVING"])
    tfdv.get_feature(edited, "tips").not_in_environment.append("SERVING")
    tfdv.get_domain(edited, "payment_type").value.append("Prcard")
    tfdv.get_feature(edited, "company").distribution_constraints.min_domain_mass = 0.5
    tfdv.set_domain(edited, "hour", schema_pb2.IntDomain(min=2, max=20))
    tfdv.set_domain(edited, "fare", schema_pb2.FloatDomain(min=5, max=10))
    tfdv.get_feature(edited, "month").presence.min_fraction = 0.5
    typed = schema_pb2.Schema.FromString(schema.SerializeToString())
    tfdv.get_feature(typed, "area").type = schema_pb2.BYTES
    return {
        "edited": tfdv.validate_statistics(later, edited, environment="TRAINING"),
        "serving": tfdv.validate_statistics(later, edited, environment="SERVING"),
        "allowed": _statistics("trips", "first", folder, feature_allowlist=["fare", "company"]),
        "typed": _statistics("trips", "first", folder, schema=typed, infer_type_from_schema=True),
        "updated_edited": tfdv.update_schema(edited, later),
    }


def _ask_categories(folder, first, later, schema):
    """Numbers that the schema calls categories, and slices."""
    edited = schema_pb2.Schema.FromString(schema.SerializeToString())
    tfdv.set_domain(edited, "code", schema_pb2.IntDomain(is_categorical=True))
    by_label = tfdv.experimental_get_feature_value_slicer({"label": None})
    by_both = tfdv.experimental_get_feature_value_slicer({"label": [b"good"], "code": [101, 202]})
    return {
        "as_categories": _statistics("categories", "first", folder, schema=edited),
        "sliced": _statistics(
            "categories",
            "first",
            folder,
            feature_allowlist=["code", "label", "zip"],
            experimental_slice_functions=[by_label, by_both],
        ),
    }


def _ask_booleans(folder, first, later, schema):
    """Examples one by one, and files without a header."""
    path = str(folder / "booleans-later.csv")
    edited = schema_pb2.Schema.FromString(schema.SerializeToString())
    tfdv.set_domain(edited, "grows", schema_pb2.IntDomain(min=0, max=1))
    options = tfdv.StatsOptions(schema=edited)
    headless = folder / "headless.csv"
    lines = (folder / "booleans-later.csv").read_text().splitlines()
    headless.write_text("\n".join(line.replace(",", "|") for line in lines[1:]) + "\n")
    return {
        "anomalous_examples": tfdv.validate_examples_in_csv(path, options),
        "headless": tfdv.generate_statistics_from_csv(
            str(headless), column_names=lines[0].split(","), delimiter="|"
        ),
    }


def _ask_frame(folder, first, later, schema):
    """Rows that were chosen, whose index is counted too, and one column alone."""
    frame = frame_of("frame", "first").drop(columns=["binary", "day", "double"])
    return {
        "chosen_rows": tfdv.generate_statistics_from_dataframe(frame[frame["integer"] > 2]),
        "one_column": tfdv.generate_statistics_from_dataframe(
            frame, tfdv.StatsOptions(feature_allowlist=["flag"], num_histogram_buckets=2)
        ),
    }


def _ask_prose(folder, first, later, schema):
    """Text, dates and times that are known by their looks."""
    seen = _statistics("prose", "first", folder, enable_semantic_domain_stats=True)
    semantic = tfdv.infer_schema(seen)
    return {
        "semantic": seen,
        "semantic_schema": semantic,
        "semantic_anomalies": tfdv.validate_statistics(later, semantic),
    }


_MORE = {
    "prose": _ask_prose,
    "trips": _ask_trips,
    "categories": _ask_categories,
    "booleans": _ask_booleans,
    "frame": _ask_frame,
}


def main(data: Path, answers: Path) -> None:
    """Ask about every data set."""
    answers.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[3:] or ALL_SETS:
        text = json.dumps(answers_of(name, data), sort_keys=True, ensure_ascii=False)
        (answers / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
