# SPDX-License-Identifier: Apache-2.0
"""What pipeline files find as ML Metadata where it is not installed; a real one comes first."""

from stoker.stand_ins.tfx.missing import missing

__getattr__ = missing(__name__)
