# SPDX-License-Identifier: Apache-2.0
"""InfraValidator: a model in, a blessing out if it can be served."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
