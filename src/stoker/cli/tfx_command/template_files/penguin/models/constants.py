"""What the model is made of, and how it learns."""

NUM_LAYERS = 2
HIDDEN_LAYER_UNITS = 8
LEARNING_RATE = 1e-2
TRAIN_BATCH_SIZE = 20
EVAL_BATCH_SIZE = 10
