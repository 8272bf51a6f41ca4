"""What a Resolver chooses, and what it passes over."""

from pathlib import Path

import pytest

from stoker.artifacts import Examples, Model, ModelBlessing
from stoker.components.importer import Importer
from stoker.components.resolver import (
    LatestArtifactStrategy,
    LatestBlessedModelStrategy,
    Resolver,
    SpanRangeStrategy,
)
from stoker.dsl import Channel, InputArtifact, OutputArtifact, Parameter, Pipeline, component
from stoker.dsl.proto.range_config_pb2 import RangeConfig, RollingRange, StaticRange
from stoker.launchers.in_process import InProcess
from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner


def made(kind, id_, **known):
    artifact = kind()
    artifact.id = id_
    for name, value in known.items():
        target = artifact.properties if name in (kind.PROPERTIES or {}) else None
        (artifact.custom_properties if target is None else target)[name] = value
    return artifact


def ids(found):
    return {key: [artifact.id for artifact in many] for key, many in found.items()}


def test_the_latest_few_come_newest_first():
    models = [made(Model, number) for number in (1, 2, 3)]
    found = LatestArtifactStrategy(desired_num_of_artifacts=2).resolve_artifacts(
        None, {"model": models}
    )
    assert ids(found) == {"model": [3, 2]}


def test_the_latest_blessed_model_is_the_one_that_the_blessing_names():
    models = [made(Model, number) for number in (1, 2, 3)]
    blessings = [
        made(ModelBlessing, 4, blessed=1, current_model_id=1),
        made(ModelBlessing, 5, blessed=1, current_model_id=2),
        made(ModelBlessing, 6, blessed=0, current_model_id=3),
    ]
    strategy = LatestBlessedModelStrategy()
    found = strategy.resolve_artifacts(None, {"model": models, "model_blessing": blessings})
    assert ids(found) == {"model": [2], "model_blessing": [5]}
    assert strategy.resolve_artifacts(None, {"model": models, "model_blessing": []}) is None


@pytest.mark.parametrize(
    ("range_config", "spans"),
    [
        (RangeConfig(static_range=StaticRange(start_span_number=2, end_span_number=3)), [3, 2]),
        (RangeConfig(rolling_range=RollingRange(num_spans=2)), [4, 3]),
        (RangeConfig(rolling_range=RollingRange(num_spans=9, start_span_number=3)), [4, 3]),
        (RangeConfig(), [4, 3, 2, 1]),
    ],
)
def test_a_range_of_spans_takes_the_newest_version_of_each(range_config, spans):
    examples = [made(Examples, number, span=number, version=1) for number in (1, 2, 3, 4)]
    older = made(Examples, 9, span=3, version=0)
    found = SpanRangeStrategy(range_config).resolve_artifacts(None, {"x": [*examples, older]})
    assert ids(found) == {"x": spans}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "needs a channel"),
        ({"model": Model}, "'model' takes a channel"),
        (
            {"strategy_class": LatestBlessedModelStrategy, "model": Channel(Model)},
            "one channel of Model and one of ModelBlessing",
        ),
        (
            {
                "strategy_class": SpanRangeStrategy,
                "config": {"range_config": RangeConfig()},
                "model": Channel(Model),
            },
            "artifacts with spans",
        ),
    ],
)
def test_what_cannot_be_resolved_is_refused_before_anything_runs(given, why):
    with pytest.raises((TypeError, ValueError), match=why):
        Resolver(**given)


@component
def fit(model: OutputArtifact[Model], weights: Parameter[str]):
    Path(model.uri, "weights").write_text(weights)


def run(root, *components, name="mine"):
    store = sqlite_metadata_connection_config(str(root / "metadata.db"))
    pipeline = Pipeline(name, str(root / name), store, components=components)
    return LocalDagRunner(InProcess()).run(pipeline).outputs


def latest(**given):
    return Resolver(model=Channel(type=Model), **given).with_id("latest")


def found_by(outputs):
    return [artifact.id for artifact in outputs["latest"]["model"]]


def test_a_model_whose_files_are_gone_or_changed_is_passed_over(tmp_path, capfd):
    models = [run(tmp_path, fit(weights=text))["fit"]["model"][0] for text in "abc"]
    Path(models[2].uri, "weights").write_text("x")
    Path(models[1].uri, "weights").unlink()
    assert found_by(run(tmp_path, latest())) == [models[0].id]
    told = capfd.readouterr().err
    assert f"latest: skipping a damaged artifact: {models[2].uri}/weights: changed" in told
    assert f"latest: skipping a damaged artifact: {models[1].uri}/weights: missing" in told


def test_other_pipelines_are_looked_at_only_when_asked(tmp_path):
    theirs = run(tmp_path, fit(weights="a"), name="theirs")["fit"]["model"][0]
    assert found_by(run(tmp_path, latest())) == []
    assert found_by(run(tmp_path, latest(across_pipelines=True))) == [theirs.id]


def test_an_imported_artifact_can_be_resolved_while_it_is_as_it_was(tmp_path):
    folder = tmp_path / "handmade"
    folder.mkdir()
    (folder / "weights").write_text("a")
    run(tmp_path, Importer(source_uri=str(folder), artifact_type=Model))
    assert len(found_by(run(tmp_path, latest()))) == 1
    (folder / "weights").write_text("b")
    assert found_by(run(tmp_path, latest())) == []


@component
def refit(base: InputArtifact[Model], model: OutputArtifact[Model]):
    Path(model.uri, "weights").write_text(Path(base.uri, "weights").read_text() + "+")


def test_the_lineage_of_a_model_has_its_base_model_and_that_ones_chain(tmp_path):
    first = run(tmp_path, fit(weights="a"))["fit"]["model"][0]
    base = latest()
    second = run(tmp_path, base, refit(base=base.outputs["model"]))["refit"]["model"][0]
    with Store(sqlite_metadata_connection_config(str(tmp_path / "metadata.db"))) as store:
        lineage = store.lineage(second.id)
    assert [artifact.id for artifact in lineage.artifacts] == [first.id, second.id]
    assert [execution.node_id for execution in lineage.executions] == ["fit", "refit"]
