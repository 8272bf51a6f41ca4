# SPDX-License-Identifier: Apache-2.0
"""What pipeline files find as TFMA where it is not installed; an installed TFMA comes first."""

import stoker.stand_ins.provide  # notebooks load the models that they analyze
from stoker.stand_ins.missing_modules import tell_of_missing_modules
from stoker.stand_ins.tfma.names import find_name as __getattr__
from stoker.stand_ins.tfma.names import needs_tfma

tell_of_missing_modules(__name__, lambda name: str(needs_tfma(name)))
