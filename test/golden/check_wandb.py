"""Checks that W&B's own reader reads what the tracker `wandb` has written: the rows of each step are those of metrics.jsonl.

Requirements: wandb 0.17.9, whose reader of offline runs is Python (`wandb sync` reads the same files). For the folder of a run with the
trackers `jsonl` and `wandb`:

    python test/golden/check_wandb.py runs/my-run

Prints how many numbers were compared, and fails where one is missing, is another one, or stands there without a line.
"""

import json
import sys
from pathlib import Path

from wandb.proto import wandb_internal_pb2
from wandb.sdk.internal.datastore import DataStore

from tracked_metrics import compare

# The x-axis of the rows.
STEP = "progress/batch"


def rows(file: Path) -> list[dict[str, float]]:
    """W&B's values, one row for each recorded row; names that begin with `_` are internal."""
    store = DataStore()
    store.open_for_scan(str(file))
    found = []
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") != "history":
            continue
        values = {(item.key or item.nested_key[0]): json.loads(item.value_json) for item in record.history.item}
        found.append({name: value for name, value in values.items() if not name.startswith("_")})
    return found


def main(run: str) -> None:
    files = list(Path(run, "wandb").glob("offline-run-*/run-*.wandb"))
    if len(files) != 1:
        sys.exit(f"{run}/wandb has {len(files)} offline runs, expected one")
    found = {}
    for row in rows(files[0]):
        for name, value in row.items():
            place = (row[STEP], name)
            if name != STEP and place in found:
                sys.exit(f"{files[0]}: step {row[STEP]} has {name} twice")
            found[place] = value
    compare(Path(run), found, relative=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
