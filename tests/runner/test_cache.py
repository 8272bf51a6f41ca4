"""What the cache decides, without running anything."""

from stoker.artifacts import Examples
from stoker.components.tuner.component import Tuner
from stoker.dsl import as_channel
from stoker.runner.cache import Given, Hit, Miss, Past, decide, find_edits, make_key, make_work_key
from stoker.storage.digests import FileDigests

NOTHING_GIVEN = Given(values={}, not_users=(), digest=str)


def test_of_several_that_fit_the_newest_is_reused():
    past = [Past(execution_id=id_, parts={"a": "1"}, observed={}) for id_ in (7, 5)]
    assert decide({"a": "1"}, past, past[0], NOTHING_GIVEN) == Hit(
        7, "hit: nothing changed since execution 7"
    )


def test_a_miss_names_what_changed_what_is_new_and_what_is_gone():
    latest = Past(execution_id=1, parts={"a": "1", "b": "1", "c": "1"}, observed={})
    assert decide({"a": "1", "b": "2", "d": "1"}, [], latest, NOTHING_GIVEN) == Miss(
        "miss: b changed; d is new; c is gone"
    )


def test_a_run_without_the_cache_leaves_nothing_to_compare_with():
    latest = Past(execution_id=1, parts={}, observed={})
    decision = decide({"a": "1"}, [], latest, NOTHING_GIVEN)
    assert isinstance(decision, Miss)
    assert "without enable_cache" in decision.explanation


def test_what_changed_while_a_step_ran_is_named_and_its_result_never_reused(tmp_path):
    digest = FileDigests(str(tmp_path / "digests.json"))
    file = tmp_path / "plugin.py"
    file.write_text("x = 1")
    given = Given(values={}, not_users=(), digest=digest)
    loaded = {f"file {file}": digest(str(file))}
    assert find_edits({"a": "1"}, {"a": "1"}, loaded, given) == ""
    assert find_edits({"data file x": "1"}, {"data file x": "2"}, {}, given) == (
        "data file x changed"
    )
    file.write_text("x = 2")
    edits = find_edits({"a": "1"}, {"a": "1"}, loaded, given)
    assert edits == f"file {file} changed"
    latest = Past(execution_id=1, parts={"a": "1"}, observed={}, edits=edits)
    assert decide({"a": "1"}, [], latest, given) == Miss(f"miss: while the last run ran, {edits}")


def test_a_key_does_not_depend_on_the_order_of_its_parts():
    assert make_key({"a": "1", "b": "2"}) == make_key({"b": "2", "a": "1"})


def test_how_many_trials_run_at_once_does_not_make_other_work():
    examples = as_channel([Examples()])
    tuner = Tuner(examples=examples, module_file="tuner.py")
    parts = {"executor": "Tuner", "parameter train_args": "1", "parameter tune_args": "1"}
    assert make_work_key(tuner, parts) == make_work_key(
        tuner, {**parts, "parameter tune_args": "2"}
    )
    assert make_work_key(tuner, parts) != make_work_key(
        tuner, {**parts, "parameter train_args": "2"}
    )
