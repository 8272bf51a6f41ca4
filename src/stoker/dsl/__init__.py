# SPDX-License-Identifier: Apache-2.0
"""WHAT runs: channels, components and pipelines, declared without loading what they need."""

from stoker.dsl.channel import Channel, UnionChannel, as_channel, union
from stoker.dsl.component import (
    BaseComponent,
    ChannelMap,
    ChannelParameter,
    ComponentSpec,
    ExecutionParameter,
    Node,
    UserCode,
)
from stoker.dsl.conditions import (
    Cond,
    Placeholder,
    Predicate,
    logical_and,
    logical_not,
    logical_or,
)
from stoker.dsl.executor import (
    Artifacts,
    BaseBeamExecutor,
    BaseExecutor,
    BeamExecutorSpec,
    ExecutorClassSpec,
    ExecutorSpec,
    reference_to,
)
from stoker.dsl.function_component import (
    FunctionComponent,
    InputArtifact,
    OutputArtifact,
    OutputDict,
    Parameter,
    component,
)
from stoker.dsl.parameters import RuntimeParameter
from stoker.dsl.pipeline import Pipeline
from stoker.dsl.user_code import UserCodeComponent, check_one_of, config_as_json

__all__ = [
    "Artifacts",
    "BaseBeamExecutor",
    "BaseComponent",
    "BaseExecutor",
    "BeamExecutorSpec",
    "Channel",
    "ChannelMap",
    "ChannelParameter",
    "ComponentSpec",
    "Cond",
    "ExecutionParameter",
    "ExecutorClassSpec",
    "ExecutorSpec",
    "FunctionComponent",
    "InputArtifact",
    "Node",
    "OutputArtifact",
    "OutputDict",
    "Parameter",
    "Pipeline",
    "Placeholder",
    "Predicate",
    "RuntimeParameter",
    "UnionChannel",
    "UserCode",
    "UserCodeComponent",
    "as_channel",
    "check_one_of",
    "component",
    "config_as_json",
    "logical_and",
    "logical_not",
    "logical_or",
    "reference_to",
    "union",
]
