"""Checks that an adapter written by ui-rl means the same to PEFT: log-probabilities of a golden conversation.

Requirements: as for the scripts that write fixtures. For a case of `fixtures`, an adapter for its model, and what
`ui-rl score --json` said of the case's conversation with that adapter:

    python test/golden/check_adapter.py qwen2-vl-a path/to/adapter scores.json

Prints the largest difference, and fails where it is 1e-4 or more.
"""

import json
import sys
from pathlib import Path

import torch
from peft import PeftModel
from transformers import AutoModelForImageTextToText

import make_gemma3
import make_idefics2
import make_idefics3
import make_internvl
import make_llava
import make_llava_onevision
import make_qwen_moe
import make_qwen_vl
from golden_files import FIXTURES
from golden_images import read_images
from golden_values import forward, token_logprobs

CASES = {
    **make_qwen_vl.CASES,
    **make_qwen_moe.CASES,
    **make_llava.CASES,
    **make_llava_onevision.CASES,
    **make_idefics2.CASES,
    **make_idefics3.CASES,
    **make_internvl.CASES,
    **make_gemma3.CASES,
}


def main(name: str, adapter: str, scores: str) -> None:
    folder = FIXTURES / name
    expected = json.loads((folder / "expected.json").read_text())
    reference = CASES[name]
    model = AutoModelForImageTextToText.from_pretrained(
        folder / "model", dtype=torch.float32, attn_implementation="eager"
    )
    model = PeftModel.from_pretrained(reference.finish_model(model), adapter).eval()
    reference.open(folder / "model")
    prepared = reference.prepare(folder / "model", read_images(folder, expected))
    found = json.loads(Path(scores).read_text())
    ids = torch.tensor(found["token_ids"])
    with torch.no_grad():
        logits = forward(reference, model, ids, prepared).logits
    difference = (token_logprobs(logits, ids) - torch.tensor(found["logprobs"][1:])).abs().max().item()
    print(f"{name}: {len(ids)} tokens, largest difference {difference:.2e}")
    if difference >= 1e-4:
        sys.exit(f"{name}: PEFT computes something else with {adapter}")


if __name__ == "__main__":
    main(*sys.argv[1:])
