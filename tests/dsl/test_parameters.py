import pytest

from stoker.dsl.parameters import RuntimeParameter, names_in, substitute


def test_a_value_that_was_given_wins_over_the_default():
    steps = RuntimeParameter(name="steps", ptype=int, default=10)
    assert substitute({"num_steps": steps}, {"steps": 20}) == {"num_steps": 20}
    assert substitute({"num_steps": steps}, {}) == {"num_steps": 10}


@pytest.mark.parametrize(
    ("ptype", "typed", "value"),
    [(int, "7", 7), (float, "0.5", 0.5), (bool, "true", True), (bool, "0", False), (str, "a", "a")],
)
def test_text_from_a_command_line_becomes_the_declared_type(ptype, typed, value):
    assert RuntimeParameter(name="p", ptype=ptype).value_from({"p": typed}) == value


@pytest.mark.parametrize(
    ("ptype", "bad"), [(int, "many"), (int, 1.5), (bool, "maybe"), (int, True)]
)
def test_a_value_of_another_type_is_refused_with_the_name(ptype, bad):
    with pytest.raises(ValueError, match="'p' takes"):
        RuntimeParameter(name="p", ptype=ptype).value_from({"p": bad})


def test_a_missing_value_says_how_to_give_one():
    with pytest.raises(ValueError, match="--param rate="):
        RuntimeParameter(name="rate", ptype=float).value_from({})


def test_a_default_of_another_type_is_refused():
    with pytest.raises(TypeError, match="should be of type int"):
        RuntimeParameter(name="p", ptype=int, default="ten")


def test_parameters_are_found_however_deep():
    value = {"a": [RuntimeParameter(name="x"), {"b": RuntimeParameter(name="y")}]}
    assert names_in(value) == {"x", "y"}
