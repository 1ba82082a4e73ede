"""The metrics of a run as its metrics.jsonl has them, and what another tracker has recorded beside them."""

import json
import math
import sys
from pathlib import Path

# Of evaluations, which metrics.jsonl has none of.
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
    """Prints how many metrics agree, and ends with an error where any does not."""
    expected = expected_metrics(run)
    evaluated = {step for step, name in found if name.startswith(EVALUATED)}
    wrong = [
        f"step {step}, {name}: {found.get((step, name))}, expected {value}"
        for (step, name), value in expected.items()
        if (step, name) not in found or not math.isclose(found[step, name], value, rel_tol=relative)
    ]
    # A row of an evaluation says its step, too.
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
