# SPDX-License-Identifier: Apache-2.0
"""To be imported for its effect, with `tfx` or a library of its: what libraries lost.

A pipeline file names tfma.EvalConfig, and an installed TFMA may lack it; a notebook makes a schema
with dataset_schema, which tensorflow-transform has renamed, and loads a model that was trained with
another Keras than its own. What cannot be given back is told in a sentence.
"""

import sys

from stoker.patches.load_model import load_models_of_the_other_keras
from stoker.patches.pandas import give_back_append
from stoker.patches.tensorflow_1 import find_names_of_tensorflow_1
from stoker.patches.tensorflow_keras import give_programs_keras_2
from stoker.patches.tensorflow_transform import provide_old_names
from stoker.patches.tensorflow_transform_coders import give_back_decode
from stoker.patches.tensorflow_transform_older import take_older_calls
from stoker.patches.tfx_bsl import give_back_encoder
from stoker.stand_ins.missing_modules import tell_of_missing_modules
from stoker.stand_ins.tfma.names import provide_tfma
from stoker.views.users_errors import tell_users_errors


def _describe_missing(name: str) -> str:
    from stoker.user_code.installed_names import describe_missing  # for programs that fail

    return describe_missing(name)


if waiting := sys.modules.get("_stoker_on_import"):  # where the wheel's .pth has been read
    waiting.stop_waiting()
provide_tfma()
provide_old_names()
take_older_calls()
give_back_decode()
find_names_of_tensorflow_1()
load_models_of_the_other_keras()
give_programs_keras_2()
give_back_encoder()
give_back_append()
tell_users_errors()
tell_of_missing_modules("tfx")
for library in ("tensorflow_transform", "tfx_bsl"):
    tell_of_missing_modules(library, _describe_missing)
