# SPDX-License-Identifier: Apache-2.0
"""What public repositories import of the TFX family is there, or says in two lines what to do."""

import functools
import importlib
from pathlib import Path

import pytest
import tfx

from stoker.cli.checking.findings import check_source
from stoker.cli.checking.sources import collect_sources
from stoker.errors import MissingPart

pytestmark = pytest.mark.tf  # some of these names import it

# Three that are no names of the family (a list called tfx.components, a logger, a private function)
# and tfx_addons, which is a package of its own, are left out.
LINES = Path(__file__).with_name("names_in_the_wild.txt").read_text().splitlines()
STATEMENTS = [line for line in LINES if " " in line]
NAMES = [line for line in LINES if " " not in line]
LONGEST_ADVICE = 240


def reach(name):
    """A name through the packages before it: attributes, and modules that were imported."""
    first, *rest = name.split(".")
    found = importlib.import_module(first)
    for number, part in enumerate(rest, start=1):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(".".join([first, *rest[:number]]))
    return found


def advice_of(find):
    """What is said where something is missing; nothing where it is there."""
    try:
        find()
    except MissingPart as missing:
        return str(missing)
    return "It is there."


@pytest.mark.parametrize("statement", STATEMENTS)
def test_an_import_works_or_says_what_to_do(statement):
    assert 0 < len(advice_of(lambda: exec(statement, {}))) <= LONGEST_ADVICE


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_there_or_says_what_to_do(name):
    assert 0 < len(advice_of(lambda: reach(name))) <= LONGEST_ADVICE


def test_stoker_check_says_in_one_line_what_to_do_about_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in LINES:
        top = line.partition(".")[0]
        source = Path("pipeline.py")
        text = line if " " in line else f"import {top}\n{line}"
        source.write_text(f"import tfx\n{text}")  # as a pipeline does
        (one,) = collect_sources(str(source), str(tmp_path))
        refused = [finding for finding in check_source(one) if finding.blocks]
        assert len(refused) == is_missing(line), line
        for finding in refused:
            assert "\n" not in finding.message
            assert len(finding.message) <= LONGEST_ADVICE


def is_missing(line):
    find = functools.partial(exec, line, {}) if " " in line else functools.partial(reach, line)
    return advice_of(find) != "It is there."


@pytest.mark.parametrize(
    "name",
    [
        "tfx.v1.components.Trainer",
        "tfx.components.Trainer",
        "tfx.orchestration.pipeline.Pipeline",
        "tfx.dsl.components.common.importer.Importer",
        "tfx.dsl.experimental.latest_blessed_model_resolver.LatestBlessedModelResolver",
        "tfx.proto.trainer_pb2.TrainArgs",
        "tfx.types.artifact_utils.get_single_uri",
        "tfx.utils.io_utils",
        "tfx.v1.proto.example_gen_pb2.Input",
        "tfx.components.util.model_utils.is_model_blessed",
    ],
)
def test_import_tfx_is_enough(name):
    found = tfx
    for part in name.split(".")[1:]:
        found = getattr(found, part)


def test_a_misspelled_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Trainr'"):
        tfx.components.Trainr  # noqa: B018


def test_a_cloud_component_is_refused_when_a_step_is_made_of_it():
    from tfx import v1
    from tfx.components.trainer.executor import GenericExecutor
    from tfx.dsl.components.base import executor_spec
    from tfx.extensions.google_cloud_ai_platform.trainer import executor

    assert executor.TRAINING_ARGS_KEY == "ai_platform_training_args"
    executor_spec.ExecutorClassSpec(GenericExecutor)
    with pytest.raises(MissingPart, match="Use Trainer from tfx"):
        executor_spec.ExecutorClassSpec(executor.GenericExecutor)
    with pytest.raises(MissingPart, match="Use Pusher from tfx"):
        v1.extensions.google_cloud_ai_platform.Pusher(model=None)
