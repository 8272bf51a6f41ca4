# SPDX-License-Identifier: Apache-2.0
"""What a failed step is told about a name that today's TensorFlow does not have."""

from types import ModuleType

from stoker.user_code.installed_names import missing_name_hint


def find_attribute_error(module, name):
    try:
        getattr(ModuleType(module), name)
    except AttributeError as error:
        return error


def test_it_is_called_as_the_user_calls_it():
    gone = find_attribute_error("tensorflow._api.v2.distribute.experimental", "no_such_strategy")
    assert missing_name_hint(gone).startswith("tensorflow.distribute.experimental.no_such_strategy")
    of_keras_2 = find_attribute_error("tf_keras.api._v2.keras.layers", "no_such_layer")
    assert missing_name_hint(of_keras_2).startswith("tensorflow.keras.layers.no_such_layer is not")


def test_an_experiment_that_proved_itself_has_lost_that_word():
    gone = find_attribute_error("tensorflow._api.v2.config.experimental", "list_logical_devices")
    assert "Use tensorflow.config.list_logical_devices, or" in missing_name_hint(gone)


def test_of_other_packages_and_errors_nothing_is_said():
    assert missing_name_hint(find_attribute_error("numpy", "float")) == ""
    assert missing_name_hint(find_attribute_error("tensorflow", "_private")) == ""
    assert missing_name_hint(AttributeError("x")) == ""
    assert missing_name_hint(KeyError("tensorflow")) == ""
