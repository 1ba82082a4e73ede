"""Writes the fixtures of Qwen3.5 with experts, with the requirements of make_qwen3_5.py; see golden_cases.py.

Run from anywhere:
    python test/golden/make_qwen3_5_moe.py [name ...]

    a: fp32, one file with stacks of experts, [experts, out, in], untied; adapter on both kinds of attention, the shared expert and
        its gate

transformers 5.24 saves one tensor for each expert, and reads stacks as well: the file is rewritten to have those. No router's choice
is nearly tied, so that rounding cannot change it.
"""

import math
import re
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3_5MoeConfig, Qwen3_5MoeForConditionalGeneration

from golden_cases import main
from make_qwen3_5 import FULL_ATTENTION, LINEAR_ATTENTION, MLP, Qwen35, rope
from make_qwen_moe import LEAST_GAP


def stack_experts(folder: Path) -> None:
    """Stacks the experts' matrices in the file, and checks that transformers reads it as the same model."""
    file = folder / "model.safetensors"
    read_before = Qwen3_5MoeForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).state_dict()
    tensors, parts = {}, {}
    for name, value in load_file(file).items():
        found = re.fullmatch(r"(.*\.experts)\.(\d+)\.(gate|up|down)_proj\.weight", name)
        if found is None:
            tensors[name] = value
        else:
            parts.setdefault(found[1], {})[int(found[2]), found[3]] = value
    for name, of in parts.items():
        count = 1 + max(expert for expert, _ in of)
        tensors[f"{name}.down_proj"] = torch.stack([of[i, "down"] for i in range(count)])
        tensors[f"{name}.gate_up_proj"] = torch.stack([torch.cat([of[i, "gate"], of[i, "up"]]) for i in range(count)])
    save_file(tensors, file, metadata={"format": "pt"})
    read = Qwen3_5MoeForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).state_dict()
    assert read.keys() == read_before.keys()
    for name, value in read_before.items():
        assert torch.equal(read[name], value), name


class Qwen35Moe(Qwen35):
    config_class, model_class = Qwen3_5MoeConfig, Qwen3_5MoeForConditionalGeneration

    def __init__(self, **case):
        super().__init__(**case)
        self.least_gap = math.inf

    def finish_model(self, model):
        model.set_experts_implementation("eager")
        for layer in model.model.language_model.layers:
            layer.mlp.gate.register_forward_hook(self.note_choice)
        return model

    def save_model(self, model, folder: Path) -> None:
        super().save_model(model, folder)
        stack_experts(folder)

    def note_choice(self, router, _, output) -> None:
        probabilities = torch.softmax(output[0].detach().float(), dim=-1)
        best = torch.topk(probabilities, router.top_k + 1).values
        self.least_gap = min(self.least_gap, (best[:, -2] - best[:, -1]).min().item())


CASES = {
    "qwen3-5-moe-a": Qwen35Moe(
        seed=3,
        dtype=torch.float32,
        tie=False,
        thinks=True,
        text=dict(
            hidden_size=40,
            moe_intermediate_size=20,
            shared_expert_intermediate_size=28,
            num_experts=6,
            num_experts_per_tok=2,
            num_hidden_layers=3,
            layer_types=["linear_attention", "linear_attention", "full_attention"],
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=32,
            linear_conv_kernel_dim=4,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
            linear_num_key_heads=2,
            linear_num_value_heads=4,
            rope_parameters=rope(2, 1, 1),
        ),
        vision=dict(
            depth=2,
            hidden_size=24,
            intermediate_size=40,
            num_heads=3,
            patch_size=8,
            num_position_embeddings=16,
        ),
        pixels=(16 * 16, 64 * 80),
        mean_std=([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
        images=[(48, 64), (37, 50)],
        lora=dict(r=4, lora_alpha=8, target_modules=[*LINEAR_ATTENTION, *FULL_ATTENTION, *MLP, "shared_expert_gate"]),
    ),
}


if __name__ == "__main__":
    main(CASES)
    for case_name in sys.argv[1:] or CASES:
        gap = CASES[case_name].least_gap
        assert gap > LEAST_GAP, f"{case_name}: a router's choice hangs on a gap of {gap}; take another seed"
        print(f"{case_name}: smallest gap of a router {gap:.1e}")
