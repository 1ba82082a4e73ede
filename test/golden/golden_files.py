"""The location of the fixtures, and functions that write files."""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIXTURES = HERE / "fixtures"


def write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def contiguous(tensors: dict) -> dict:
    return {key: value.contiguous() for key, value in tensors.items()}
