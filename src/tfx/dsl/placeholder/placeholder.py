# SPDX-License-Identifier: Apache-2.0
"""Values that are known only when a pipeline runs."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl.placeholders import (
    ArtifactPlaceholder,
    DictPlaceholder,
    ListPlaceholder,
    ListSerializationFormat,
    Placeholder,
    Predicate,
    ProtoSerializationFormat,
    RuntimeInfoKeys,
    environment_variable,
    exec_property,
    execution_invocation,
    input,
    join,
    join_path,
    logical_and,
    logical_not,
    logical_or,
    make_dict,
    make_list,
    make_proto,
    output,
    runtime_info,
)
from stoker.dsl.placeholders import ArtifactPlaceholder as ChannelWrappedPlaceholder

__getattr__ = find_part(__name__)
