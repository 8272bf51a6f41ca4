# SPDX-License-Identifier: Apache-2.0
"""Which steps may start, decided without a process."""

import math

import pytest

from stoker.artifacts import Artifact, Model
from stoker.components.manual_node import ManualNode
from stoker.components.resolver import Resolver
from stoker.dsl import Channel, InputArtifact, OutputArtifact, component
from stoker.launchers import SideBySideLauncher
from stoker.launchers.in_process import InProcess
from stoker.launchers.on_ray import OnRay
from stoker.launchers.processes import Processes
from stoker.runner import LocalDagRunner
from stoker.runner.side_by_side import Room, choose_ready, find_free_bytes, find_waits
from stoker.task import Workers

TWO = Room(num_steps=2)


class Note(Artifact):
    TYPE_NAME = "Note"


@component
def begin(note: OutputArtifact[Note]):
    pass


@component
def go_on(note: InputArtifact[Note], more: OutputArtifact[Note]):
    pass


@component
def train(model: OutputArtifact[Model]):
    pass


def branches(number):
    """One step, and so many that read what it makes."""
    first = begin()
    note = first.outputs["note"]
    return [first, *(go_on(note=note).with_id(f"branch{one}") for one in range(number))]


def find_ready(steps, *, ended=(), running=(), room=TWO):
    waiting = [step for step in steps if step not in (*ended, *running)]
    return choose_ready(waiting, running, find_waits(steps), room)


def test_a_step_waits_for_those_that_it_reads_from():
    first, *others = steps = branches(2)
    assert find_ready(steps) == [first]
    assert find_ready(steps, running=[first]) == []
    assert find_ready(steps, ended=[first]) == others


def test_no_more_start_than_there_is_room_for():
    first, one, two, three = steps = branches(3)
    assert find_ready(steps, ended=[first]) == [one, two]
    assert find_ready(steps, ended=[first], running=[one]) == [two]
    assert find_ready(steps, ended=[first], running=[one, two]) == []
    assert find_ready(steps, ended=[first], room=Room(num_steps=3)) == [one, two, three]
    assert find_ready(steps, ended=[first], room=Room(num_steps=1)) == [one]


def test_a_step_that_asks_for_processors_takes_as_many_places():
    first, one, two = steps = branches(2)
    one.with_resources(cpu="1500m")
    assert find_ready(steps, ended=[first]) == [one]
    assert find_ready(steps, ended=[first], room=Room(num_steps=3)) == [one, two]
    one.with_resources(cpu="64")  # more than there is: it runs all the same, alone
    assert find_ready(steps, ended=[first]) == [one]


@pytest.mark.parametrize("asks", ["workers", "gpus", "person"])
def test_a_step_that_needs_the_machine_runs_alone_and_is_not_passed(asks):
    first, one, two, three = branches(3)
    if asks == "workers":
        two.workers = Workers(2)
    elif asks == "gpus":
        two.with_resources(gpus=1)
    else:
        two = ManualNode(description="Look at it.").with_id("look")
        two.add_upstream_node(first)
    steps = [first, one, two, three]
    assert find_ready(steps, ended=[first]) == [one]
    assert find_ready(steps, ended=[first], running=[one]) == []
    assert find_ready(steps, ended=[first, one]) == [two]
    assert find_ready(steps, ended=[first, one], running=[two]) == []


def test_low_memory_keeps_a_second_step_back_and_never_the_first():
    first, one, two = steps = branches(2)
    low = Room(num_steps=2, free_bytes=1e9)
    assert find_ready(steps, ended=[first], room=low) == [one]
    assert find_ready(steps, ended=[first], running=[one], room=low) == []
    two.with_resources(memory="512Mi")
    assert find_ready(steps, ended=[first], running=[one], room=low) == [two]
    # What has just been started has not taken its memory yet.
    assert find_ready(steps, ended=[first], room=Room(num_steps=2, free_bytes=2.3e9)) == [one]


def test_free_memory_is_known_here():
    assert 0 < find_free_bytes() < math.inf


def test_who_looks_into_the_store_keeps_its_place_among_those_that_publish_such_things():
    before, after = train(), train().with_id("again")
    latest = Resolver(model=Channel(type=Model))
    beside, *_ = branches(0)
    waits = find_waits([before, beside, latest, after])
    assert waits == {before: set(), beside: set(), latest: {before}, after: {latest}}


def test_only_some_launchers_run_several_tasks():
    assert isinstance(Processes(), SideBySideLauncher)
    assert not isinstance(InProcess(), SideBySideLauncher)
    assert not issubclass(OnRay, SideBySideLauncher)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2"])
def test_a_number_of_steps_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="parallel must be a whole number"):
        LocalDagRunner(parallel=wrong)
