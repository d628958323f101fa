"""All that runs in the process with the student's code. Imports nothing else of the grader."""
