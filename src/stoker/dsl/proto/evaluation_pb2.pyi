# mypy: disable-error-code="type-arg"
from google.protobuf import wrappers_pb2 as _wrappers_pb2
from stoker.dsl.proto import eval_config_pb2 as _eval_config_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SubKey(_message.Message):
    __slots__ = ("top_k",)
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    top_k: _wrappers_pb2.Int32Value
    def __init__(self, top_k: _Optional[_Union[_wrappers_pb2.Int32Value, _Mapping]] = ...) -> None: ...

class MetricKey(_message.Message):
    __slots__ = ("name", "model_name", "output_name", "sub_key", "example_weighted", "is_diff")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    SUB_KEY_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_WEIGHTED_FIELD_NUMBER: _ClassVar[int]
    IS_DIFF_FIELD_NUMBER: _ClassVar[int]
    name: str
    model_name: str
    output_name: str
    sub_key: SubKey
    example_weighted: _wrappers_pb2.BoolValue
    is_diff: bool
    def __init__(self, name: _Optional[str] = ..., model_name: _Optional[str] = ..., output_name: _Optional[str] = ..., sub_key: _Optional[_Union[SubKey, _Mapping]] = ..., example_weighted: _Optional[_Union[_wrappers_pb2.BoolValue, _Mapping]] = ..., is_diff: bool = ...) -> None: ...

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

class ConfusionMatrixAtThresholds(_message.Message):
    __slots__ = ("matrices",)
    class ConfusionMatrixAtThreshold(_message.Message):
        __slots__ = ("threshold", "false_negatives", "true_negatives", "false_positives", "true_positives", "precision", "recall", "false_positive_rate", "f1", "accuracy", "false_omission_rate")
        THRESHOLD_FIELD_NUMBER: _ClassVar[int]
        FALSE_NEGATIVES_FIELD_NUMBER: _ClassVar[int]
        TRUE_NEGATIVES_FIELD_NUMBER: _ClassVar[int]
        FALSE_POSITIVES_FIELD_NUMBER: _ClassVar[int]
        TRUE_POSITIVES_FIELD_NUMBER: _ClassVar[int]
        PRECISION_FIELD_NUMBER: _ClassVar[int]
        RECALL_FIELD_NUMBER: _ClassVar[int]
        FALSE_POSITIVE_RATE_FIELD_NUMBER: _ClassVar[int]
        F1_FIELD_NUMBER: _ClassVar[int]
        ACCURACY_FIELD_NUMBER: _ClassVar[int]
        FALSE_OMISSION_RATE_FIELD_NUMBER: _ClassVar[int]
        threshold: float
        false_negatives: float
        true_negatives: float
        false_positives: float
        true_positives: float
        precision: float
        recall: float
        false_positive_rate: float
        f1: float
        accuracy: float
        false_omission_rate: float
        def __init__(self, threshold: _Optional[float] = ..., false_negatives: _Optional[float] = ..., true_negatives: _Optional[float] = ..., false_positives: _Optional[float] = ..., true_positives: _Optional[float] = ..., precision: _Optional[float] = ..., recall: _Optional[float] = ..., false_positive_rate: _Optional[float] = ..., f1: _Optional[float] = ..., accuracy: _Optional[float] = ..., false_omission_rate: _Optional[float] = ...) -> None: ...
    MATRICES_FIELD_NUMBER: _ClassVar[int]
    matrices: _containers.RepeatedCompositeFieldContainer[ConfusionMatrixAtThresholds.ConfusionMatrixAtThreshold]
    def __init__(self, matrices: _Optional[_Iterable[_Union[ConfusionMatrixAtThresholds.ConfusionMatrixAtThreshold, _Mapping]]] = ...) -> None: ...

class CalibrationHistogramBuckets(_message.Message):
    __slots__ = ("buckets",)
    class Bucket(_message.Message):
        __slots__ = ("lower_threshold_inclusive", "upper_threshold_exclusive", "num_weighted_examples", "total_weighted_label", "total_weighted_refined_prediction")
        LOWER_THRESHOLD_INCLUSIVE_FIELD_NUMBER: _ClassVar[int]
        UPPER_THRESHOLD_EXCLUSIVE_FIELD_NUMBER: _ClassVar[int]
        NUM_WEIGHTED_EXAMPLES_FIELD_NUMBER: _ClassVar[int]
        TOTAL_WEIGHTED_LABEL_FIELD_NUMBER: _ClassVar[int]
        TOTAL_WEIGHTED_REFINED_PREDICTION_FIELD_NUMBER: _ClassVar[int]
        lower_threshold_inclusive: float
        upper_threshold_exclusive: float
        num_weighted_examples: _wrappers_pb2.DoubleValue
        total_weighted_label: _wrappers_pb2.DoubleValue
        total_weighted_refined_prediction: _wrappers_pb2.DoubleValue
        def __init__(self, lower_threshold_inclusive: _Optional[float] = ..., upper_threshold_exclusive: _Optional[float] = ..., num_weighted_examples: _Optional[_Union[_wrappers_pb2.DoubleValue, _Mapping]] = ..., total_weighted_label: _Optional[_Union[_wrappers_pb2.DoubleValue, _Mapping]] = ..., total_weighted_refined_prediction: _Optional[_Union[_wrappers_pb2.DoubleValue, _Mapping]] = ...) -> None: ...
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    buckets: _containers.RepeatedCompositeFieldContainer[CalibrationHistogramBuckets.Bucket]
    def __init__(self, buckets: _Optional[_Iterable[_Union[CalibrationHistogramBuckets.Bucket, _Mapping]]] = ...) -> None: ...

class MultiClassConfusionMatrixAtThresholds(_message.Message):
    __slots__ = ("matrices",)
    class MultiClassConfusionMatrixEntry(_message.Message):
        __slots__ = ("actual_class_id", "predicted_class_id", "num_weighted_examples")
        ACTUAL_CLASS_ID_FIELD_NUMBER: _ClassVar[int]
        PREDICTED_CLASS_ID_FIELD_NUMBER: _ClassVar[int]
        NUM_WEIGHTED_EXAMPLES_FIELD_NUMBER: _ClassVar[int]
        actual_class_id: int
        predicted_class_id: int
        num_weighted_examples: float
        def __init__(self, actual_class_id: _Optional[int] = ..., predicted_class_id: _Optional[int] = ..., num_weighted_examples: _Optional[float] = ...) -> None: ...
    class MultiClassConfusionMatrix(_message.Message):
        __slots__ = ("threshold", "entries")
        THRESHOLD_FIELD_NUMBER: _ClassVar[int]
        ENTRIES_FIELD_NUMBER: _ClassVar[int]
        threshold: float
        entries: _containers.RepeatedCompositeFieldContainer[MultiClassConfusionMatrixAtThresholds.MultiClassConfusionMatrixEntry]
        def __init__(self, threshold: _Optional[float] = ..., entries: _Optional[_Iterable[_Union[MultiClassConfusionMatrixAtThresholds.MultiClassConfusionMatrixEntry, _Mapping]]] = ...) -> None: ...
    MATRICES_FIELD_NUMBER: _ClassVar[int]
    matrices: _containers.RepeatedCompositeFieldContainer[MultiClassConfusionMatrixAtThresholds.MultiClassConfusionMatrix]
    def __init__(self, matrices: _Optional[_Iterable[_Union[MultiClassConfusionMatrixAtThresholds.MultiClassConfusionMatrix, _Mapping]]] = ...) -> None: ...

class PlotData(_message.Message):
    __slots__ = ("calibration_histogram_buckets", "confusion_matrix_at_thresholds", "debug_message", "multi_class_confusion_matrix_at_thresholds")
    CALIBRATION_HISTOGRAM_BUCKETS_FIELD_NUMBER: _ClassVar[int]
    CONFUSION_MATRIX_AT_THRESHOLDS_FIELD_NUMBER: _ClassVar[int]
    DEBUG_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    MULTI_CLASS_CONFUSION_MATRIX_AT_THRESHOLDS_FIELD_NUMBER: _ClassVar[int]
    calibration_histogram_buckets: CalibrationHistogramBuckets
    confusion_matrix_at_thresholds: ConfusionMatrixAtThresholds
    debug_message: str
    multi_class_confusion_matrix_at_thresholds: MultiClassConfusionMatrixAtThresholds
    def __init__(self, calibration_histogram_buckets: _Optional[_Union[CalibrationHistogramBuckets, _Mapping]] = ..., confusion_matrix_at_thresholds: _Optional[_Union[ConfusionMatrixAtThresholds, _Mapping]] = ..., debug_message: _Optional[str] = ..., multi_class_confusion_matrix_at_thresholds: _Optional[_Union[MultiClassConfusionMatrixAtThresholds, _Mapping]] = ...) -> None: ...

class PlotKey(_message.Message):
    __slots__ = ("name", "model_name", "output_name", "example_weighted")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_NAME_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_WEIGHTED_FIELD_NUMBER: _ClassVar[int]
    name: str
    model_name: str
    output_name: str
    example_weighted: _wrappers_pb2.BoolValue
    def __init__(self, name: _Optional[str] = ..., model_name: _Optional[str] = ..., output_name: _Optional[str] = ..., example_weighted: _Optional[_Union[_wrappers_pb2.BoolValue, _Mapping]] = ...) -> None: ...

class PlotsForSlice(_message.Message):
    __slots__ = ("slice_key", "plot_keys_and_values")
    class PlotKeyAndValue(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: PlotKey
        value: PlotData
        def __init__(self, key: _Optional[_Union[PlotKey, _Mapping]] = ..., value: _Optional[_Union[PlotData, _Mapping]] = ...) -> None: ...
    SLICE_KEY_FIELD_NUMBER: _ClassVar[int]
    PLOT_KEYS_AND_VALUES_FIELD_NUMBER: _ClassVar[int]
    slice_key: SliceKey
    plot_keys_and_values: _containers.RepeatedCompositeFieldContainer[PlotsForSlice.PlotKeyAndValue]
    def __init__(self, slice_key: _Optional[_Union[SliceKey, _Mapping]] = ..., plot_keys_and_values: _Optional[_Iterable[_Union[PlotsForSlice.PlotKeyAndValue, _Mapping]]] = ...) -> None: ...

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
