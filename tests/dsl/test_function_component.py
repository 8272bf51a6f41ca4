from typing import List, NamedTuple, Optional, TypedDict  # noqa: UP035

import pytest
import typing_extensions

from stoker.artifacts import Examples, Float, Integer, JsonValue, Model, String
from stoker.dsl import (
    BeamComponentParameter,
    Channel,
    InputArtifact,
    OutputArtifact,
    OutputDict,
    Parameter,
    RuntimeParameter,
    component,
)
from stoker.dsl.function_component import FunctionExecutor


class Scores(TypedDict):
    accuracy: float
    note: str | None


@component
def score(
    model: InputArtifact[Model],
    report: OutputArtifact[Examples],
    rows: int,
    threshold: Parameter[float] = 0.5,
) -> OutputDict(passed=int, reason=Optional[str]):  # noqa: UP045
    """Score a model."""
    return {"passed": int(rows * threshold), "reason": None}


@component(component_annotation=None)
def typed(count: int = 3) -> Scores:
    return {"accuracy": count / 4, "note": None}


def artifact(kind, path, value=None):
    made = kind()
    made.uri = str(path)
    if value is not None:
        made.write(value)
    return made


def test_annotations_become_the_table():
    step = score(model=Channel(Model), rows=Channel(Integer), threshold=0.1)
    assert set(step.inputs) == {"model", "rows"}
    assert {key: channel.type_name for key, channel in step.outputs.items()} == {
        "report": "Examples",
        "passed": "Integer",
        "reason": "String",
    }
    assert step.exec_properties == {"threshold": 0.1}
    assert step.id == "score"


def test_a_typed_dict_says_what_is_returned():
    assert typed().outputs["accuracy"].type is Float


def test_a_value_input_may_be_given_as_a_plain_value():
    step = score(model=Channel(Model), rows=5)
    assert set(step.inputs) == {"model"}
    assert step.spec.values({}) == {"rows": 5}


def test_a_parameter_may_be_given_at_run_time():
    step = score(model=Channel(Model), rows=1, threshold=RuntimeParameter("t", float))
    assert step.spec.values({"t": 0.7})["threshold"] == 0.7


def test_the_function_gets_artifacts_values_and_parameters(tmp_path):
    passed = artifact(Integer, tmp_path / "passed")
    reason = artifact(String, tmp_path / "reason")
    outputs = {"report": [artifact(Examples, tmp_path)], "passed": [passed], "reason": [reason]}
    inputs = {
        "model": [artifact(Model, tmp_path)],
        "rows": [artifact(Integer, tmp_path / "rows", 8)],
    }
    FunctionExecutor(score).Do(inputs, outputs, {"threshold": 0.25})
    assert passed.value == 2


def test_a_value_that_is_owed_and_missing_is_named():
    forgetful = FunctionExecutor(score)
    with pytest.raises(ValueError, match="did not return 'passed'"):
        forgetful._keep({}, {"passed": [], "reason": []})
    with pytest.raises(ValueError, match="should return a dict with passed, reason"):
        forgetful._keep(None, {})


def test_arguments_without_a_role_are_refused():
    def bad(model): ...

    def worse(**anything): ...

    bad.__qualname__ = worse.__qualname__ = "top_level"
    for function in (bad, worse):
        with pytest.raises(ValueError, match="needs an annotation"):
            component(function)


def test_a_function_inside_a_function_is_refused():
    def inner(): ...

    with pytest.raises(ValueError, match="Move it to the top level"):
        component(inner)


def test_steps_are_made_with_keyword_arguments():
    with pytest.raises(ValueError, match="keyword arguments only"):
        score(Channel(Model))


class Scored(NamedTuple):
    accuracy: float
    notes: dict | list


@component
def name_scores(models: InputArtifact[List[Model]], limit: Optional[int] = None) -> Scored:  # noqa: UP006, UP045
    return Scored(accuracy=len(models) / 2, notes=[limit])


def test_all_artifacts_of_a_channel_come_as_a_list_and_a_named_tuple_says_what_is_returned(
    tmp_path,
):
    outputs = {
        "accuracy": [artifact(Float, tmp_path / "accuracy")],
        "notes": [artifact(JsonValue, tmp_path / "notes")],
    }

    step = name_scores(models=Channel(Model))
    FunctionExecutor(name_scores).Do({"models": [Model(), Model()]}, outputs, {})

    assert step.outputs["notes"].type is JsonValue
    assert outputs["accuracy"][0].read() == 1.0
    assert outputs["notes"][0].read() == [None]


def test_a_typed_dict_of_typing_extensions_says_what_is_returned():
    class Returned(typing_extensions.TypedDict):
        rows: int

    def count() -> Returned: ...

    count.__qualname__, count.__annotations__ = "count", {"return": Returned}

    assert component(count)().outputs["rows"].type is Integer


def test_a_test_calls_the_function_itself():
    assert typed.test_call(count=2) == {"accuracy": 0.5, "note": None}
    assert typed.test_call() == {"accuracy": 0.75, "note": None}
    assert typed.SPEC_CLASS.OUTPUTS["accuracy"].type is Float


def test_none_is_a_value_that_the_next_step_reads(tmp_path):
    note = artifact(String, tmp_path / "note")
    outputs = {"accuracy": [artifact(Float, tmp_path / "accuracy")], "note": [note]}

    FunctionExecutor(typed).Do({}, outputs, {"count": 1})

    assert note.read() is None
    assert String.from_dict(note.to_dict()).value is None
    note.write("")
    assert note.read() == ""


def test_an_artifact_is_not_returned():
    def bad() -> OutputDict(model=Model): ...

    bad.__qualname__ = "bad"
    with pytest.raises(ValueError, match=r"write it as an argument, model: OutputArtifact\[…\]"):
        component(bad)


def test_a_channel_of_another_type_is_refused_when_the_step_is_made():
    with pytest.raises(TypeError, match=r"score: 'model' takes Model, got Channel\(Examples\)"):
        score(model=Channel(Examples), rows=1)
    with pytest.raises(TypeError, match=r"score: 'rows' takes Integer, got Channel\(Float\)"):
        score(model=Channel(Model), rows=Channel(Float))


@component(use_beam=True)
def count_words(
    counts: OutputArtifact[Examples],
    text: Parameter[str],
    pipeline: BeamComponentParameter[object] = None,
):
    import apache_beam as beam

    with pipeline as p:
        words = p | beam.Create(text.split()) | beam.combiners.Count.PerElement()
        lines = words | beam.MapTuple("{} {}".format)
        _ = lines | beam.io.WriteToText(counts.uri, shard_name_template="")


def test_a_function_is_given_a_pipeline_of_beam(tmp_path):
    step = count_words(text="a b a")
    assert (set(step.inputs), set(step.exec_properties)) == (set(), {"text"})
    counts = artifact(Examples, tmp_path / "counts")
    FunctionExecutor(count_words).Do({}, {"counts": [counts]}, {"text": "a b a"})
    assert sorted((tmp_path / "counts").read_text().split("\n")) == ["", "a 2", "b 1"]


def test_a_function_that_uses_beam_has_to_take_a_pipeline():
    with pytest.raises(ValueError, match=r"typed takes no pipeline.*BeamComponentParameter"):
        component(use_beam=True)(typed.function)


@component
def compare(model: InputArtifact[Model], baseline: InputArtifact[Model] | None = None): ...


def test_an_input_that_may_be_missing_is_written_in_either_way():
    step = compare(model=Channel(Model))
    both = compare(model=Channel(Model), baseline=Channel(Model))
    assert [list(one.inputs) for one in (step, both)] == [["model"], ["model", "baseline"]]
