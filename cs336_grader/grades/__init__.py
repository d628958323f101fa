"""Makes grades of reports: who the students are, what is late, what people adjust, what leaves.

class_file.py   class.toml: all that is set for a class
tables.py       CSV files that people and platforms write, read with the line of what is wrong
roster.py       the students, as Canvas, Moodle, Gradescope or a plain list names them
deadlines.py    when work was handed in, and what lateness costs
adjustments.py  points and comments that people give
grading.py      the grade of each student, from all of these
exports.py      the files that a platform imports; feedback.py, the archive of reports
"""
