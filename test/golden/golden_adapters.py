"""Adapters of the fixtures, and the expected values with them."""

import json
import math
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from peft.utils import get_peft_model_state_dict
from safetensors.torch import save_file

from golden_files import contiguous, write_json
from golden_values import forward, greedy, response_loss, token_logprobs
from reference import Prepared, Reference


def write_adapter(folder: Path, reference: Reference, model, ids, prepared: Prepared, prompt: torch.Tensor) -> dict:
    case = reference.case
    lora = get_peft_model(model, LoraConfig(lora_dropout=0.0, bias="none", task_type="CAUSAL_LM", **case["lora"]))
    generator = torch.Generator().manual_seed(case["seed"] + 100)
    with torch.no_grad():
        for key, parameter in sorted(lora.named_parameters()):
            if "lora_B" in key:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
            elif "lora_A" in key:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / math.sqrt(parameter.shape[1]))
    lora.save_pretrained(folder / "adapter")
    (folder / "adapter" / "README.md").unlink(missing_ok=True)
    config_file = folder / "adapter" / "adapter_config.json"
    config = json.loads(config_file.read_text())
    for key in ("target_modules", "target_parameters"):
        if isinstance(config[key], list):
            config[key].sort()  # a set, saved in random order
    write_json(config_file, config)
    lora.eval()
    logits = forward(reference, lora, ids, prepared).logits
    loss = response_loss(logits, ids, len(ids) - len(prompt))
    loss.backward()
    gradients = {key: value.grad for key, value in lora.named_parameters() if value.grad is not None}
    assert all("lora_" in key for key in gradients)
    named = {key.replace(".default.weight", ".weight"): value for key, value in gradients.items()}
    assert set(named) == set(get_peft_model_state_dict(lora))
    save_file(contiguous(named), folder / "lora_gradients.safetensors")
    greedy_ids, gap = greedy(reference, lora, prompt, prepared)
    assert gap > 2e-3, f"greedy tokens of the adapter hang on a gap of {gap}; take another seed"
    with torch.no_grad():
        save_file({"logits_last": logits[0, -1].clone()}, folder / "lora_logits.safetensors")
    return {
        "loss": loss.item(),
        "logprobs": token_logprobs(logits.detach(), ids).tolist(),
        "greedy_ids": greedy_ids,
        "greedy_gap": gap,
    }
