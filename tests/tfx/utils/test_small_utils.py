# SPDX-License-Identifier: Apache-2.0
import pytest
from tfx.components import CsvExampleGen
from tfx.proto import trainer_pb2
from tfx.types import Channel, artifact_utils, channel_utils, standard_artifacts
from tfx.utils import dsl_utils, import_utils, json_utils, name_utils, path_utils, proto_utils

from stoker.artifacts import Model

ARGS = trainer_pb2.TrainArgs(splits=["train"], num_steps=3)


def test_a_message_survives_json_and_dict():
    text, record = proto_utils.proto_to_json(ARGS), proto_utils.proto_to_dict(ARGS)

    assert proto_utils.json_to_proto(text, trainer_pb2.TrainArgs()) == ARGS
    assert proto_utils.dict_to_proto(record, trainer_pb2.TrainArgs()) == ARGS


def test_json_keeps_the_names_of_fields():
    assert proto_utils.proto_to_dict(ARGS) == {"splits": ["train"], "num_steps": 3}


def test_json_text_has_sorted_keys_and_messages_as_objects():
    assert json_utils.dumps({"b": ARGS, "a": None}) == (
        '{"a": null, "b": {"num_steps": 3, "splits": ["train"]}}'
    )


def test_json_text_is_read_back():
    assert json_utils.loads(json_utils.dumps({"a": [1, None]})) == {"a": [1, None]}


def test_what_json_cannot_say_is_refused():
    with pytest.raises(TypeError, match="cannot be written as JSON"):
        json_utils.dumps({"a": object()})


def test_an_object_of_ones_own_is_written_by_its_attributes():
    class Settings(json_utils.Jsonable):
        def __init__(self):
            self.rate = 0.1

    assert json_utils.dumps({"s": Settings()}) == '{"s": {"rate": 0.1}}'
    assert Settings.from_json_dict({"rate": 2}).rate == 2


def test_a_function_is_imported_from_a_module_or_a_file(tmp_path):
    (tmp_path / "functions.py").write_text("def double(x): return 2 * x")

    assert import_utils.import_func_from_source(f"{tmp_path}/functions.py", "double")(3) == 6
    assert import_utils.import_func_from_module("os.path", "join")("a", "b") == "a/b"
    assert import_utils.import_class_by_path("stoker.artifacts.Model") is Model
    with pytest.raises(AttributeError, match="defines no triple"):
        import_utils.import_func_from_source(f"{tmp_path}/functions.py", "triple")


def test_a_class_is_found_by_its_full_name():
    assert name_utils.get_full_name(Model) == "stoker.artifacts.Model"
    assert name_utils.resolve_full_name("stoker.artifacts.Model") is Model


def test_a_nested_class_is_found_by_its_full_name():
    found = name_utils.resolve_full_name("stoker.dsl.executor.BaseExecutor.Context")

    assert found.__qualname__ == "BaseExecutor.Context"


@pytest.mark.parametrize("name", ["Model", "stoker.artifacts.Nope", "no_such_module.Name", "a..b"])
def test_a_name_that_leads_nowhere_is_refused(name):
    with pytest.raises(ValueError, match=name.split(".")[0]):
        name_utils.resolve_full_name(name)


def test_a_local_class_has_no_full_name():
    class Local:
        pass

    with pytest.raises(ValueError, match="A name should be like"):
        name_utils.get_full_name(Local)


def test_models_have_a_place_for_serving_and_one_for_evaluation():
    assert path_utils.serving_model_dir("/m") == "/m/Format-Serving"
    assert path_utils.eval_model_dir("/m") == "/m/Format-TFMA"
    assert path_utils.serving_model_dir("/m", is_old_artifact=True) == "/m/serving_model_dir"
    assert path_utils.stamped_model_path("/m") == "/m/stamped_model"


def test_the_folder_of_a_model_depends_on_its_type_and_age():
    model = Model()
    assert not path_utils.is_old_model_artifact(model)
    model.set_string_custom_property("tfx_version", "0.23.1")
    assert path_utils.is_old_model_artifact(model)
    assert path_utils.get_model_dir_by_type("/m", "tfma_eval") == "/m/Format-TFMA"
    assert path_utils.get_model_dir_by_type("/m", "tf_keras", True) == "/m/serving_model_dir"


def test_a_model_without_one_for_evaluation_is_evaluated_as_it_is_served(tmp_path):
    (tmp_path / "Format-Serving").mkdir()

    assert path_utils.eval_model_path(str(tmp_path)) == f"{tmp_path}/Format-Serving"


def test_a_model_for_evaluation_is_found_below_its_timestamp(tmp_path):
    (tmp_path / "Format-TFMA/1600000000").mkdir(parents=True)

    assert path_utils.eval_model_path(str(tmp_path)) == f"{tmp_path}/Format-TFMA/1600000000"


@pytest.mark.parametrize("name", ["csv_input", "external_input", "parquet_input", "tfrecord_input"])
def test_old_inputs_are_channels_of_external_files(name):
    (artifact,) = getattr(dsl_utils, name)("/data").get()

    assert (artifact.type_name, artifact.uri) == ("ExternalArtifact", "/data")


def test_an_example_gen_takes_an_old_input():
    example_gen = CsvExampleGen(input=dsl_utils.external_input("/data"))

    assert example_gen.exec_properties["input_base"] == "/data"


def test_the_only_artifact_of_a_list_is_taken():
    model = Model()
    model.uri = "/m"

    assert artifact_utils.get_single_instance([model]) is model
    assert artifact_utils.get_single_uri([model]) == "/m"


@pytest.mark.parametrize("artifacts", [[], [Model(), Model()]])
def test_a_list_without_exactly_one_artifact_is_refused(artifacts):
    with pytest.raises(ValueError, match=f"Expected one artifact, got {len(artifacts)}"):
        artifact_utils.get_single_instance(artifacts)


def test_channels_are_unwrapped_to_what_is_in_them():
    model = Model()

    assert channel_utils.unwrap_channel_dict({"m": channel_utils.as_channel([model])}) == {
        "m": [model]
    }


def test_a_union_is_taken_apart():
    channels = [Channel(type=standard_artifacts.Model) for _ in range(2)]

    assert channel_utils.get_individual_channels(channel_utils.union(channels)) == channels
