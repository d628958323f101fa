"""What all tests of the grader need."""

import signal

# A suite of its own, for the grader to run.
collect_ignore = ["tiny_assignment"]

# A shell has what it starts in the background ignore interruptions, and all that this starts, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
