# SPDX-License-Identifier: Apache-2.0
"""The types of artifacts that the standard steps read and write."""

from stoker.artifacts import Artifact as _TfxArtifact
from stoker.artifacts import (
    SPAN_PROPERTY,
    SPLIT_NAMES_PROPERTY,
    VERSION_PROPERTY,
    Boolean,
    Bytes,
    DataView,
    ExampleAnomalies,
    Examples,
    ExamplesDiff,
    ExampleStatistics,
    ExternalArtifact,
    Float,
    HyperParameters,
    InferenceResult,
    InfraBlessing,
    Integer,
    JsonValue,
    Model,
    ModelBlessing,
    ModelEvaluation,
    ModelRun,
    PushedModel,
    Schema,
    String,
    TransformCache,
    TransformGraph,
    TunerResults,
)
