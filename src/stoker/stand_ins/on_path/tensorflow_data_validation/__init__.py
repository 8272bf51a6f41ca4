# SPDX-License-Identifier: Apache-2.0
"""What people's code finds as TFDV where it is not installed; an installed TFDV comes first."""

import stoker.stand_ins.provide  # notebooks look at what TensorFlow has read
from stoker.stand_ins.missing_modules import tell_of_missing_modules
from stoker.stand_ins.tfdv.names import advise_of_module
from stoker.stand_ins.tfdv.names import find_name as __getattr__

tell_of_missing_modules(__name__, advise_of_module)
