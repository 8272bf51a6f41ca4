# SPDX-License-Identifier: Apache-2.0
"""Values that are known only when a pipeline runs."""

from stoker.dsl.placeholders import (
    DictPlaceholder,
    ListPlaceholder,
    ListSerializationFormat,
    Placeholder,
    Predicate,
    ProtoSerializationFormat,
    join,
    join_path,
    logical_and,
    logical_not,
    logical_or,
    make_dict,
    make_list,
)
