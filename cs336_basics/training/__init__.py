"""The parts of the training commands: stories, token files, configuration, loop, curves."""
