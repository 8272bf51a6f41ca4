# SPDX-License-Identifier: Apache-2.0
"""What users' own executors read BigQuery with: Beam's connector, which needs a bucket of theirs.

The names are TFX's. (BigQueryExampleGen itself asks Google's client, and needs none.)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from stoker.dsl.beam import parse_flags
from stoker.stand_ins.tfx.labels import make_labels_dict


def ReadFromBigQuery(query: str, big_query_custom_config: Mapping[str, Any] | None = None) -> Any:
    """A PTransform that gives the rows of a query as dicts."""
    from apache_beam.io.gcp import bigquery

    return bigquery.ReadFromBigQuery(
        query=query,
        use_standard_sql=True,
        bigquery_job_labels=make_labels_dict(),
        **(big_query_custom_config or {}),
    )


def row_to_example(field_to_type: Mapping[str, str], field_name_to_data: Mapping[str, Any]) -> Any:
    """A tf.train.Example of a row, by the types that BigQuery calls its columns."""
    from tensorflow.core.example import example_pb2

    example = example_pb2.Example()
    for name, value in field_name_to_data.items():
        feature = example.features.feature[name]
        if value is None:
            continue
        values = value if isinstance(value, list) else [value]
        match field_to_type[name]:
            case "INTEGER" | "BOOLEAN":
                feature.int64_list.value.extend(values)
            case "FLOAT":
                feature.float_list.value.extend(values)
            case "STRING":
                feature.bytes_list.value.extend(
                    one.encode() if isinstance(one, str) else one for one in values
                )
            case kind:
                raise RuntimeError(
                    f"The column {name!r} is a {kind}. An example holds INTEGER, BOOLEAN, FLOAT "
                    "and STRING: CAST it in the query."
                )
    return example


def parse_gcp_project(beam_pipeline_args: Sequence[str]) -> str:
    """The project that Beam's flags name."""
    return parse_flags(beam_pipeline_args).project
