# SPDX-License-Identifier: Apache-2.0
"""TFDV's StatsOptions: what people set, what of it is counted here, and its form in JSON."""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stoker.errors import MissingPart
from stoker.stand_ins.tfdv.feature_path import FeaturePath

if TYPE_CHECKING:
    import pyarrow as pa
    from tensorflow_metadata.proto.v0 import schema_pb2

    from stoker.statistics.feature_statistics import StatisticsOptions

SliceFunction = Callable[["pa.RecordBatch"], Iterable[tuple[str | None, "pa.RecordBatch"]]]

_ELSEWHERE = (
    "Leave it out, or use TensorFlow Data Validation itself in an environment of its own "
    "(Python 3.10, tensorflow-data-validation 1.16.1)."
)
_NOT_HERE = (
    *("generators", "vocab_paths", "per_feature_weight_override", "per_feature_stats_config"),
    "experimental_slice_sqls",
)
"""Options that would change the answer, and are not followed: to set one is refused."""


class StatsOptions:
    """How statistics are counted; names and defaults are TFDV's, and attributes can be set.

    `desired_batch_size`, `epsilon`, sketches and partitions are TFDV's ways to count, and do not
    change what is counted here. `label_feature` without a schema changes nothing, as in TFDV.
    """

    def __init__(
        self,
        generators: list[Any] | None = None,
        schema: "schema_pb2.Schema | None" = None,
        label_feature: str | None = None,
        weight_feature: str | None = None,
        slice_functions: list[SliceFunction] | None = None,
        sample_rate: float | None = None,
        num_top_values: int = 20,
        frequency_threshold: int = 1,
        weighted_frequency_threshold: float = 1.0,
        num_rank_histogram_buckets: int = 1000,
        num_values_histogram_buckets: int = 10,
        num_histogram_buckets: int = 10,
        num_quantiles_histogram_buckets: int = 10,
        epsilon: float = 0.01,
        infer_type_from_schema: bool = False,
        desired_batch_size: int | None = None,
        enable_semantic_domain_stats: bool = False,
        semantic_domain_stats_sample_rate: float | None = None,
        per_feature_weight_override: Mapping[FeaturePath, str] | None = None,
        vocab_paths: Mapping[str, str] | None = None,
        add_default_generators: bool = True,
        feature_allowlist: list[str] | list[FeaturePath] | None = None,
        experimental_use_sketch_based_topk_uniques: bool | None = None,
        use_sketch_based_topk_uniques: bool | None = None,
        experimental_slice_functions: list[SliceFunction] | None = None,
        experimental_slice_sqls: list[str] | None = None,
        experimental_result_partitions: int = 1,
        experimental_num_feature_partitions: int = 1,
        slicing_config: Any = None,
        experimental_filter_read_paths: bool = False,
        per_feature_stats_config: Any = None,
        *,
        feature_whitelist: list[str] | None = None,
    ) -> None:
        given = dict(locals())
        del given["self"], given["slice_functions"], given["feature_whitelist"]
        given["feature_allowlist"] = feature_allowlist or feature_whitelist  # its older name
        if slice_functions is not None and experimental_slice_functions is not None:
            raise ValueError("Give slice_functions or experimental_slice_functions, not both.")
        given["experimental_slice_functions"] = slice_functions or experimental_slice_functions
        sketched = given.pop("experimental_use_sketch_based_topk_uniques")
        given["use_sketch_based_topk_uniques"] = bool(use_sketch_based_topk_uniques or sketched)
        vars(self).update(given)
        self._check_values()

    def __repr__(self) -> str:
        default = vars(StatsOptions())
        changed = (
            f"{name}={value!r}" for name, value in vars(self).items() if value != default.get(name)
        )
        return f"StatsOptions({', '.join(changed)})"

    def _check_values(self) -> None:
        """Refuse values that have no meaning, by TFDV's rules."""
        for name in ("feature_allowlist", "experimental_slice_functions", "generators"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, list):
                raise TypeError(f"StatsOptions.{name} is a list, got {value!r}.")
        for name in ("sample_rate", "semantic_domain_stats_sample_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise ValueError(f"StatsOptions.{name} is over 0 and at most 1, got {value!r}.")
        if self.num_values_histogram_buckets < 2:
            raise ValueError("StatsOptions.num_values_histogram_buckets is at least 2.")
        if self.slicing_config is not None and self.experimental_slice_functions:
            raise ValueError("Give slicing_config or experimental_slice_functions, not both.")

    def to_json(self) -> str:
        """These options as JSON that TFDV reads too; functions have no such form."""
        from google.protobuf import json_format

        for name in ("experimental_slice_functions", "generators", "per_feature_stats_config"):
            if getattr(self, name):
                raise ValueError(
                    f"StatsOptions.{name} cannot be sent to another process. In a StatisticsGen, "
                    "give slicing_config instead of functions."
                )
        record: dict[str, Any] = {"TYPE_NAME": "StatsOptions"}
        for name, value in vars(self).items():
            if name in ("schema", "slicing_config") and value is not None:
                record[f"{name}_json"] = json_format.MessageToJson(value)
            elif name == "feature_allowlist" and value is not None:
                record[_KEYS[name]] = list(map(str, value))
            else:
                record[_KEYS.get(name, name)] = value
        return json.dumps(record)

    @classmethod
    def from_json(cls, options_json: str) -> "StatsOptions":
        """The options of `to_json`, this one's or TFDV's."""
        from google.protobuf import json_format

        record = json.loads(options_json)
        if record.pop("TYPE_NAME", "StatsOptions") != "StatsOptions":
            raise ValueError("This JSON is not that of StatsOptions. Give what to_json() returned.")
        names = {key: name for name, key in _KEYS.items()}
        fields = {names.get(key, key): value for key, value in record.items()}
        if text := fields.pop("schema_json", None):
            from tensorflow_metadata.proto.v0 import schema_pb2

            fields["schema"] = json_format.Parse(text, schema_pb2.Schema())
        if text := fields.pop("slicing_config_json", None):
            from tfx_bsl.public.proto import slicing_spec_pb2

            fields["slicing_config"] = json_format.Parse(text, slicing_spec_pb2.SlicingConfig())
        options = cls()
        vars(options).update(fields)
        options.check()
        return options

    @classmethod
    def of(cls, options: Any) -> "StatsOptions":
        """These options: ours, those of an installed TFDV, or a dict of fields."""
        if isinstance(options, cls):
            return options
        if isinstance(options, Mapping):
            return cls.from_json(json.dumps(dict(options)))
        if hasattr(options, "to_json"):
            return cls.from_json(options.to_json())
        raise TypeError(
            "Options of statistics are tfdv.StatsOptions, or a dict, such as "
            f"{{'num_top_values': 50}}; got {options!r}."
        )

    def for_counting(self) -> "StatisticsOptions":
        """What of this is counted; an option that would change the answer otherwise is refused."""
        from stoker.statistics.feature_statistics import StatisticsOptions

        self.check()
        if self.label_feature and self.schema:
            warnings.warn(
                f"Lift statistics by the label {self.label_feature!r} are TFDV's; all others are "
                "counted.",
                stacklevel=2,
            )
        allowed = self.feature_allowlist
        return StatisticsOptions(
            feature_allowlist=None if allowed is None else tuple(map(str, allowed)),
            weight_feature=self.weight_feature,
            num_top_values=self.num_top_values,
            num_rank_histogram_buckets=self.num_rank_histogram_buckets,
            num_values_histogram_buckets=self.num_values_histogram_buckets,
            num_histogram_buckets=self.num_histogram_buckets,
            num_quantiles_histogram_buckets=self.num_quantiles_histogram_buckets,
            frequency_threshold=self.frequency_threshold,
            weighted_frequency_threshold=self.weighted_frequency_threshold,
            enable_semantic_domain_stats=bool(self.enable_semantic_domain_stats),
            use_sketch_based_topk_uniques=bool(self.use_sketch_based_topk_uniques),
        )

    def check(self) -> None:
        """Refuse what has no meaning, and what would be counted otherwise than it says."""
        self._check_values()
        if unknown := sorted(vars(self).keys() - vars(StatsOptions()).keys()):
            raise ValueError(f"StatsOptions have no field {unknown[0]!r}: leave it out.")
        wanted = [name for name in _NOT_HERE if getattr(self, name)]
        wanted += ["add_default_generators=False"] * (not self.add_default_generators)
        if wanted:
            raise MissingPart(
                f"Stoker's statistics do not have StatsOptions.{wanted[0]}. {_ELSEWHERE}",
                name=wanted[0],
            )

    if TYPE_CHECKING:  # attributes are set from the arguments of the constructor

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


_KEYS = {
    "experimental_slice_functions": "_slice_functions",
    "experimental_slice_sqls": "_slice_sqls",
    **{
        name: f"_{name}"
        for name in (
            *("generators", "feature_allowlist", "schema", "sample_rate", "vocab_paths"),
            *("num_values_histogram_buckets", "num_histogram_buckets", "desired_batch_size"),
            *("num_quantiles_histogram_buckets", "semantic_domain_stats_sample_rate"),
            *("per_feature_weight_override", "add_default_generators", "slicing_config"),
            *("use_sketch_based_topk_uniques", "experimental_num_feature_partitions"),
            *("experimental_result_partitions", "experimental_filter_read_paths"),
            "per_feature_stats_config",
        )
    },
}
"""The names of fields in TFDV's JSON, where they are not the attributes' own."""
