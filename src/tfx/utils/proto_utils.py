# SPDX-License-Identifier: Apache-2.0
"""Messages to and from JSON."""

from stoker.stand_ins.tfx.json_text import (
    dict_to_proto,
    json_to_proto,
    proto_to_dict,
    proto_to_json,
)
