import signal

from hypothesis import settings

# A shell starts background jobs with Ctrl-C ignored, and their children inherit that; the tests
# that press Ctrl-C need children that listen.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long one example takes says nothing about the code on a machine that has other things to do.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
