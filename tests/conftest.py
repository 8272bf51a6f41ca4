import signal

# A shell starts background jobs with Ctrl-C ignored, and their children inherit that; the tests that
# press Ctrl-C need children that listen.
signal.signal(signal.SIGINT, signal.default_int_handler)
