"""python interrupted_pipeline.py ROOT DATA MODULE: one Trainer, in a process that can be killed."""

import os
import sys

from tfx import v1 as tfx


def main(root, data, module):
    if os.environ.get("STOKER_TEST_PID") == "runner":
        os.environ["STOKER_TEST_PID"] = str(os.getpid())
    example_gen = tfx.components.CsvExampleGen(input_base=data)
    trainer = tfx.components.Trainer(
        module_file=module,
        examples=example_gen.outputs["examples"],
        train_args=tfx.proto.TrainArgs(num_steps=10),
        eval_args=tfx.proto.EvalArgs(num_steps=0),
        check=False,
    )
    pipeline = tfx.dsl.Pipeline(
        pipeline_name="interrupted",
        pipeline_root=root,
        components=[example_gen, trainer],
        enable_cache=True,
    )
    tfx.orchestration.LocalDagRunner().run(pipeline)


if __name__ == "__main__":
    main(*sys.argv[1:])
