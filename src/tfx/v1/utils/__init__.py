# SPDX-License-Identifier: Apache-2.0
"""Small tools that pipelines and module files use."""

from stoker.compat.io_utils import parse_pbtxt_file
from stoker.compat.json_utils import JsonableType
