# SPDX-License-Identifier: Apache-2.0
"""ImportSchemaGen: a schema file in, a schema out."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
