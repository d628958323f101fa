"""The example that a newcomer grades first tells of its three mistakes, as the README shows."""

import re
import subprocess
from pathlib import Path

from grader_tests.assignments import ROOT
from grader_tests.commands import ENVIRONMENT, PROGRAM, report

SHOWN = re.compile(r"<!-- report -->\n+```text\n(.*?)```", re.DOTALL)
OMITTED = "…"


def test_the_example_is_told_its_three_mistakes(tmp_path: Path) -> None:
    """RoPE, clipping and special tokens lose points, and what the README shows is what is said."""
    command = [*PROGRAM, "grade", "examples/half_right", "--seed", "0"]
    result = subprocess.run(
        [*command, "--report-dir", str(tmp_path / "report")],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    lost = {p["id"] for p in report(tmp_path)["problems"] if p["score"] < p["max_score"]}
    upstream = {"multihead_self_attention", "transformer_block", "transformer_lm"}
    assert lost == {"rope", "gradient_clipping", "tokenizer"} | upstream
    said = {line.strip() for line in result.stdout.splitlines()}
    shown = SHOWN.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown is not None
    for line in shown[1].splitlines():
        # What can be closed is another thing on each machine, and so is how numbers are rounded.
        if line.startswith("Isolation"):
            continue
        assert line.strip() in said | {OMITTED}, "The README shows what is not said."
