"""Checks that TensorBoard reads what the tracker `tensorboard` has written: the scalars of each step are those of metrics.jsonl.

Requirements: tensorboard 2.21.0 (no TensorFlow). For the folder of a run with the trackers `jsonl` and `tensorboard`:

    python test/golden/check_tensorboard.py runs/my-run

Prints how many were compared, and fails where one is missing, is another number, or stands there without a line.
"""

import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.util import tensor_util

from tracked_metrics import compare


def scalars(file: Path) -> dict[tuple[int, str], float]:
    """TensorBoard's values: step and tag → value."""
    found = {}
    for event in EventFileLoader(str(file)).Load():
        for value in event.summary.value:
            place = (event.step, value.tag)
            if place in found:
                sys.exit(f"{file}: step {event.step} has {value.tag} twice")
            found[place] = tensor_util.make_ndarray(value.tensor).item()
    return found


def main(run: str) -> None:
    files = list(Path(run, "tensorboard").glob("events.out.tfevents.*"))
    if len(files) != 1:
        sys.exit(f"{run}/tensorboard has {len(files)} event files, expected one")
    # Event files store 32-bit scalars.
    compare(Path(run), scalars(files[0]), relative=1e-6)


if __name__ == "__main__":
    main(*sys.argv[1:])
