"""What a submission can reach, on machines that allow the grader more or less."""
