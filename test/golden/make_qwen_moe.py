"""Writes the fixtures of the Qwen-VL families with experts, with the requirements of make_qwen_vl.py; see golden_cases.py.

Run from anywhere:
    python test/golden/make_qwen_moe.py [name ...]

    Qwen3-VL-MoE a: fp32, one file with the stacks of experts as the published models store them ([experts, in, out]), untied;
        experts in every layer; adapter on attention, router and experts
    Qwen3-VL-MoE b: bf16, sharded, stacks as transformers 5 stores them ([experts, out, in]), tied; experts in every second layer
        but one; a token's experts are not made to add up to 1; adapter on both models, in the text model on the second projection
        of the experts, scaled by alpha / sqrt(rank), with a rank and an alpha of its own for one layer

transformers takes no notice of `norm_topk_prob` in this family: its routers are replaced by those of Qwen3-MoE, which do.
No router's choice is nearly tied, so that rounding cannot change it.
"""

import math
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3VLMoeConfig, Qwen3VLMoeForConditionalGeneration
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeTopKRouter

from golden_cases import main
from make_qwen_vl import Qwen3Vl

# Smallest distance between the probability of the last selected expert and the first unselected one.
LEAST_GAP = 3e-4


class Routers:
    """Replaces every router of a model by Qwen3-MoE's, with the same weight, and records their selections."""

    def __init__(self):
        self.least_gap = math.inf

    def __call__(self, model) -> None:
        model.set_experts_implementation("eager")
        for layer in model.model.language_model.layers:
            if hasattr(layer.mlp, "gate"):
                router = Qwen3MoeTopKRouter(model.config.text_config)
                router.weight = layer.mlp.gate.weight
                router.register_forward_hook(self.note_choice)
                layer.mlp.gate = router

    def note_choice(self, router, _, output) -> None:
        probabilities = torch.softmax(output[0].detach().float(), dim=-1)
        best = torch.topk(probabilities, router.top_k + 1).values
        self.least_gap = min(self.least_gap, (best[:, -2] - best[:, -1]).min().item())


def store_as_published(folder: Path) -> None:
    """Transposes the experts' matrices in the file, and checks that transformers reads it as the same model."""
    file = folder / "model.safetensors"
    written, tensors = load_file(file), load_file(file)
    for name, value in tensors.items():
        if ".experts." in name:
            tensors[name] = value.transpose(1, 2).contiguous()
    save_file(tensors, file, metadata={"format": "pt"})
    read = Qwen3VLMoeForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).state_dict()
    for name, value in written.items():
        assert torch.equal(read[name], value), name


class Qwen3VlMoe(Qwen3Vl):
    config_class, model_class = Qwen3VLMoeConfig, Qwen3VLMoeForConditionalGeneration

    def __init__(self, **case):
        super().__init__(**case)
        self.routers = Routers()

    def finish_model(self, model):
        self.routers(model)
        return model

    def save_model(self, model, folder: Path) -> None:
        super().save_model(model, folder)
        if self.case["published"]:
            store_as_published(folder)


CASES = {
    "qwen3-vl-moe-a": Qwen3VlMoe(
        seed=3,
        dtype=torch.float32,
        tie=False,
        published=True,
        text=dict(
            hidden_size=48,
            intermediate_size=64,
            moe_intermediate_size=20,
            num_experts=6,
            num_experts_per_tok=2,
            decoder_sparse_step=1,
            mlp_only_layers=[],
            norm_topk_prob=True,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            rope_parameters=dict(
                rope_type="default", rope_theta=500000.0, mrope_section=[4, 2, 2], mrope_interleaved=True
            ),
        ),
        vision=dict(
            depth=3,
            hidden_size=24,
            intermediate_size=40,
            num_heads=3,
            patch_size=8,
            num_position_embeddings=16,
            deepstack_visual_indexes=[0, 1],
        ),
        pixels=(16 * 16, 64 * 80),
        mean_std=([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
        images=[(48, 64), (37, 50)],
        lora=dict(
            r=4,
            lora_alpha=8,
            target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
            target_parameters=["mlp.experts.down_proj", "mlp.experts.gate_up_proj", "mlp.gate.weight"],
        ),
    ),
    "qwen3-vl-moe-b": Qwen3VlMoe(
        seed=6,
        dtype=torch.bfloat16,
        tie=True,
        published=False,
        text=dict(
            hidden_size=40,
            intermediate_size=56,
            moe_intermediate_size=24,
            num_experts=10,
            num_experts_per_tok=3,
            decoder_sparse_step=2,
            mlp_only_layers=[3],
            norm_topk_prob=False,
            num_hidden_layers=6,
            num_attention_heads=3,
            num_key_value_heads=1,
            head_dim=24,
            rope_parameters=dict(
                rope_type="default", rope_theta=5000000.0, mrope_section=[6, 3, 3], mrope_interleaved=True
            ),
        ),
        vision=dict(
            depth=2,
            hidden_size=32,
            intermediate_size=56,
            num_heads=2,
            patch_size=14,
            num_position_embeddings=36,
            deepstack_visual_indexes=[1],
        ),
        pixels=(28 * 28 * 4, 28 * 28 * 12),
        mean_std=([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]),
        images=[(20, 31), (84, 56)],
        lora=dict(
            r=3,
            lora_alpha=5,
            use_rslora=True,
            rank_pattern={r"layers\.[01]\.self_attn\.v_proj": 2},
            alpha_pattern={"v_proj": 4},
            target_modules=["q_proj", "v_proj", "gate_proj", "qkv"],
            target_parameters=["mlp.experts.down_proj"],
        ),
    ),
}


if __name__ == "__main__":
    main(CASES)
    for case_name in sys.argv[1:] or CASES:
        gap = CASES[case_name].routers.least_gap
        assert gap > LEAST_GAP, f"{case_name}: a router's choice hangs on a gap of {gap}; take another seed"
        print(f"{case_name}: smallest gap of a router {gap:.1e}")
