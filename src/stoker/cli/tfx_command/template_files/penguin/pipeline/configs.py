"""What to change first: the names and numbers of the pipeline."""

PIPELINE_NAME = "{{PIPELINE_NAME}}"

PREPROCESSING_FN = "models.preprocessing.preprocessing_fn"
RUN_FN = "models.model.run_fn"

TRAIN_NUM_STEPS = 100
EVAL_NUM_STEPS = 10

# A model below it is not pushed.
EVAL_ACCURACY_THRESHOLD = 0.6
