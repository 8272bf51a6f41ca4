# SPDX-License-Identifier: Apache-2.0
"""What people's code finds as TFDV where it is not installed; an installed TFDV comes first."""

from stoker.patches.tensorflow_keras import give_programs_keras_2
from stoker.stand_ins.missing_modules import tell_of_missing_modules
from stoker.views.users_errors import tell_users_errors
from stoker.stand_ins.tfdv.names import advise_of_module
from stoker.stand_ins.tfdv.names import find_name as __getattr__

give_programs_keras_2()
tell_users_errors()
tell_of_missing_modules(__name__, advise_of_module)
