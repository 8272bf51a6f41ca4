"""The columns of the data: what the model reads, and what it foresees."""

FEATURE_KEYS = ["bill_length", "bill_depth", "flipper_length", "body_mass"]
LABEL_KEY = "species"
NUM_CLASSES = 3

EVAL_METRIC = "SparseCategoricalAccuracy"


def transformed_name(key):
    """A transformed feature has a name of its own, so that nobody takes it for the raw one."""
    return key + "_xf"
