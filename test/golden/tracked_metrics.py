"""The metrics of a run in its metrics.jsonl, and those that another tracker has recorded."""

import json
import math
import sys
from pathlib import Path

# Metrics of evaluations, which metrics.jsonl does not contain.
EVALUATED = "test/"


def expected_metrics(run: Path) -> dict[tuple[int, str], float]:
    """Step and name → value."""
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return {
        (line["step"], name): value
        for line in map(json.loads, lines)
        for name, value in line.items()
        if name not in ("step", "at")
    }


def compare(run: Path, found: dict[tuple[int, str], float], relative: float) -> None:
    """Prints the number of equal metrics, and exits with an error if any differs."""
    expected = expected_metrics(run)
    evaluated = {step for step, name in found if name.startswith(EVALUATED)}
    wrong = [
        f"step {step}, {name}: {found.get((step, name))}, expected {value}"
        for (step, name), value in expected.items()
        if (step, name) not in found or not math.isclose(found[step, name], value, rel_tol=relative)
    ]
    # A row of an evaluation contains its step, too.
    more = [
        f"step {step}, {name}: stands there without a line in metrics.jsonl"
        for step, name in found
        if (step, name) not in expected
        and not name.startswith(EVALUATED)
        and not (name == "progress/batch" and step in evaluated)
    ]
    for problem in wrong + more:
        print(problem)
    steps = {step for step, _ in expected}
    print(f"{run}: {len(expected)} numbers of {len(steps)} steps, {len(evaluated)} evaluated steps beside them")
    if len(expected) == 0:
        sys.exit(f"{run}/metrics.jsonl has no metrics")
    if wrong or more:
        sys.exit(f"{run}: {len(wrong)} numbers are missing or others, {len(more)} too many")
