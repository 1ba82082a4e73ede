"""Writes the effect of an adapter's dropout on the case qwen3-vl-a.

Requirements and use as for make_qwen_vl.py, whose fixture must be there:
    python test/golden/make_dropout.py

PEFT's dropout layers are replaced by fixed masks, computed as libs/models/src/nn/dropout.ts says, so that both drop the same
numbers. `lora-dropout` gets
    expected.json               rate, seed, loss and log-probabilities of the case's conversation
    lora_gradients.safetensors  d loss / d A, d B
"""

import json

import torch
from peft import PeftModel
from safetensors.torch import save_file
from transformers import AutoModelForImageTextToText

from golden_files import FIXTURES, contiguous
from golden_images import read_images
from golden_values import forward, response_loss, token_logprobs
from make_qwen_vl import CASES

CASE = "qwen3-vl-a"
RATE, SEED = 0.3, 123456789
PRIME, WORD = 2**31 - 1, 2**32


def signed(x: int) -> int:
    return (x + 2**31) % WORD - 2**31


def row_number(row: int) -> int:
    x = (row * 48271 + SEED) % PRIME
    for summand in (0x2545F491, 0x1B873593, 0x27D4EB2F):
        x = (x * x + summand) % PRIME
    return 2 * x - PRIME


def column_numbers(layer: str, columns: int) -> list[int]:
    state = 0x811C9DC5  # FNV-1a
    for character in layer:
        state = ((state ^ ord(character)) * 0x01000193) % WORD
    numbers = []
    for _ in range(columns):  # mulberry32
        state = (state + 0x6D2B79F5) % WORD
        mixed = ((state ^ (state >> 15)) * (1 | state)) % WORD
        mixed = ((mixed + (mixed ^ (mixed >> 7)) * (61 | mixed)) % WORD) ^ mixed
        numbers.append((mixed ^ (mixed >> 14)) | 1)
    return numbers


class FixedDropout(torch.nn.Module):
    def __init__(self, layer: str):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        least = int(RATE * WORD) - 2**31
        columns = column_numbers(self.layer, flat.shape[1])
        rows = [row_number(row) for row in range(len(flat))]
        kept = torch.tensor([[signed(row * column) >= least for column in columns] for row in rows])
        return (flat * kept / (1 - RATE)).reshape(x.shape)


def main() -> None:
    folder = FIXTURES / CASE
    expected = json.loads((folder / "expected.json").read_text())
    model = AutoModelForImageTextToText.from_pretrained(
        folder / "model", dtype=torch.float32, attn_implementation="eager"
    )
    reference = CASES[CASE]
    reference.open(folder / "model")
    prepared = reference.prepare(folder / "model", read_images(folder, expected))
    lora = PeftModel.from_pretrained(model, folder / "adapter", is_trainable=True)
    for name, module in lora.base_model.model.named_modules():
        if hasattr(module, "lora_dropout"):
            module.lora_dropout["default"] = FixedDropout(name)
    ids = torch.tensor([*expected["prompt_ids"], *expected["response_ids"]])
    logits = forward(reference, lora, ids, prepared).logits
    loss = response_loss(logits, ids, len(expected["response_ids"]))
    loss.backward()
    gradients = {key: value.grad for key, value in lora.named_parameters() if value.grad is not None}
    named = {key.replace(".default.weight", ".weight"): value for key, value in gradients.items()}
    target = FIXTURES.parent / "lora-dropout"
    target.mkdir(exist_ok=True)
    save_file(contiguous(named), target / "lora_gradients.safetensors")
    logprobs = token_logprobs(logits.detach(), ids).tolist()
    values = {"case": CASE, "rate": RATE, "seed": SEED, "loss": loss.item(), "logprobs": logprobs}
    (target / "expected.json").write_text(json.dumps(values) + "\n")


if __name__ == "__main__":
    main()
