# mypy: disable-error-code="type-arg"
from google.protobuf import wrappers_pb2 as _wrappers_pb2
from stoker.dsl.proto import eval_config_pb2 as _eval_config_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MetricKey(_message.Message):
    __slots__ = ("name", "model_name", "output_name", "example_weighted", "is_diff")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_WEIGHTED_FIELD_NUMBER: _ClassVar[int]
    IS_DIFF_FIELD_NUMBER: _ClassVar[int]
    name: str
    model_name: str
    output_name: str
    example_weighted: _wrappers_pb2.BoolValue
    is_diff: bool
    def __init__(self, name: _Optional[str] = ..., model_name: _Optional[str] = ..., output_name: _Optional[str] = ..., example_weighted: _Optional[_Union[_wrappers_pb2.BoolValue, _Mapping]] = ..., is_diff: bool = ...) -> None: ...

class MetricValue(_message.Message):
    __slots__ = ("double_value", "bytes_value", "debug_message")
    DOUBLE_VALUE_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    DEBUG_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    double_value: _wrappers_pb2.DoubleValue
    bytes_value: bytes
    debug_message: str
    def __init__(self, double_value: _Optional[_Union[_wrappers_pb2.DoubleValue, _Mapping]] = ..., bytes_value: _Optional[bytes] = ..., debug_message: _Optional[str] = ...) -> None: ...

class SingleSliceKey(_message.Message):
    __slots__ = ("column", "bytes_value", "float_value", "int64_value")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    FLOAT_VALUE_FIELD_NUMBER: _ClassVar[int]
    INT64_VALUE_FIELD_NUMBER: _ClassVar[int]
    column: str
    bytes_value: bytes
    float_value: float
    int64_value: int
    def __init__(self, column: _Optional[str] = ..., bytes_value: _Optional[bytes] = ..., float_value: _Optional[float] = ..., int64_value: _Optional[int] = ...) -> None: ...

class SliceKey(_message.Message):
    __slots__ = ("single_slice_keys",)
    SINGLE_SLICE_KEYS_FIELD_NUMBER: _ClassVar[int]
    single_slice_keys: _containers.RepeatedCompositeFieldContainer[SingleSliceKey]
    def __init__(self, single_slice_keys: _Optional[_Iterable[_Union[SingleSliceKey, _Mapping]]] = ...) -> None: ...

class MetricsForSlice(_message.Message):
    __slots__ = ("slice_key", "metric_keys_and_values")
    class MetricKeyAndValue(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: MetricKey
        value: MetricValue
        def __init__(self, key: _Optional[_Union[MetricKey, _Mapping]] = ..., value: _Optional[_Union[MetricValue, _Mapping]] = ...) -> None: ...
    SLICE_KEY_FIELD_NUMBER: _ClassVar[int]
    METRIC_KEYS_AND_VALUES_FIELD_NUMBER: _ClassVar[int]
    slice_key: SliceKey
    metric_keys_and_values: _containers.RepeatedCompositeFieldContainer[MetricsForSlice.MetricKeyAndValue]
    def __init__(self, slice_key: _Optional[_Union[SliceKey, _Mapping]] = ..., metric_keys_and_values: _Optional[_Iterable[_Union[MetricsForSlice.MetricKeyAndValue, _Mapping]]] = ...) -> None: ...

class ValidationFailure(_message.Message):
    __slots__ = ("metric_key", "metric_threshold", "metric_value", "message")
    METRIC_KEY_FIELD_NUMBER: _ClassVar[int]
    METRIC_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    METRIC_VALUE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    metric_key: MetricKey
    metric_threshold: _eval_config_pb2.MetricThreshold
    metric_value: MetricValue
    message: str
    def __init__(self, metric_key: _Optional[_Union[MetricKey, _Mapping]] = ..., metric_threshold: _Optional[_Union[_eval_config_pb2.MetricThreshold, _Mapping]] = ..., metric_value: _Optional[_Union[MetricValue, _Mapping]] = ..., message: _Optional[str] = ...) -> None: ...

class MetricsValidationForSlice(_message.Message):
    __slots__ = ("slice_key", "failures")
    SLICE_KEY_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    slice_key: SliceKey
    failures: _containers.RepeatedCompositeFieldContainer[ValidationFailure]
    def __init__(self, slice_key: _Optional[_Union[SliceKey, _Mapping]] = ..., failures: _Optional[_Iterable[_Union[ValidationFailure, _Mapping]]] = ...) -> None: ...

class SlicingDetails(_message.Message):
    __slots__ = ("slicing_spec", "num_matching_slices")
    SLICING_SPEC_FIELD_NUMBER: _ClassVar[int]
    NUM_MATCHING_SLICES_FIELD_NUMBER: _ClassVar[int]
    slicing_spec: _eval_config_pb2.SlicingSpec
    num_matching_slices: int
    def __init__(self, slicing_spec: _Optional[_Union[_eval_config_pb2.SlicingSpec, _Mapping]] = ..., num_matching_slices: _Optional[int] = ...) -> None: ...

class ValidationDetails(_message.Message):
    __slots__ = ("slicing_details",)
    SLICING_DETAILS_FIELD_NUMBER: _ClassVar[int]
    slicing_details: _containers.RepeatedCompositeFieldContainer[SlicingDetails]
    def __init__(self, slicing_details: _Optional[_Iterable[_Union[SlicingDetails, _Mapping]]] = ...) -> None: ...

class ValidationResult(_message.Message):
    __slots__ = ("validation_ok", "missing_thresholds", "metric_validations_per_slice", "missing_slices", "validation_details", "rubber_stamp")
    VALIDATION_OK_FIELD_NUMBER: _ClassVar[int]
    MISSING_THRESHOLDS_FIELD_NUMBER: _ClassVar[int]
    METRIC_VALIDATIONS_PER_SLICE_FIELD_NUMBER: _ClassVar[int]
    MISSING_SLICES_FIELD_NUMBER: _ClassVar[int]
    VALIDATION_DETAILS_FIELD_NUMBER: _ClassVar[int]
    RUBBER_STAMP_FIELD_NUMBER: _ClassVar[int]
    validation_ok: bool
    missing_thresholds: bool
    metric_validations_per_slice: _containers.RepeatedCompositeFieldContainer[MetricsValidationForSlice]
    missing_slices: _containers.RepeatedCompositeFieldContainer[_eval_config_pb2.SlicingSpec]
    validation_details: ValidationDetails
    rubber_stamp: bool
    def __init__(self, validation_ok: bool = ..., missing_thresholds: bool = ..., metric_validations_per_slice: _Optional[_Iterable[_Union[MetricsValidationForSlice, _Mapping]]] = ..., missing_slices: _Optional[_Iterable[_Union[_eval_config_pb2.SlicingSpec, _Mapping]]] = ..., validation_details: _Optional[_Union[ValidationDetails, _Mapping]] = ..., rubber_stamp: bool = ...) -> None: ...

class EvalRun(_message.Message):
    __slots__ = ("eval_config", "version", "data_location", "file_format", "model_locations")
    class ModelLocationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EVAL_CONFIG_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DATA_LOCATION_FIELD_NUMBER: _ClassVar[int]
    FILE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    MODEL_LOCATIONS_FIELD_NUMBER: _ClassVar[int]
    eval_config: _eval_config_pb2.EvalConfig
    version: str
    data_location: str
    file_format: str
    model_locations: _containers.ScalarMap[str, str]
    def __init__(self, eval_config: _Optional[_Union[_eval_config_pb2.EvalConfig, _Mapping]] = ..., version: _Optional[str] = ..., data_location: _Optional[str] = ..., file_format: _Optional[str] = ..., model_locations: _Optional[_Mapping[str, str]] = ...) -> None: ...
