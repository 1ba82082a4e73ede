"""Writes the fixtures of Qwen3.5 for comparison with the TypeScript implementation; see golden_cases.py.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.13.0 transformers==5.24.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_qwen3_5.py [name ...]

    a: fp32, one file, untied embeddings, 4 query heads on 2 key/value heads, 4 value heads on 2 key heads in the layers of linear
        attention, adapter on all linear layers of the text model; a template that reasons unless told otherwise, as of 4B and larger
    b: bf16, sharded, tied embeddings, 3 query heads on one key/value head, as many key heads as value heads, values wider than
        keys, a convolution of 3, adapter on both models; a template that reasons only where it is told to, as of 2B and smaller

Prompts are longer than a chunk of 64 tokens.
"""

import torch
from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration
from transformers.models.qwen3_5.tokenization_qwen3_5 import PRETOKENIZE_REGEX

from golden_cases import main
from golden_conversations import tool_samples
from golden_tokenizers import write_byte_level_tokenizer
from golden_weights import randomize
from make_qwen_vl import Qwen3Vl

LINEAR_ATTENTION = ["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj"]
FULL_ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
MLP = ["gate_proj", "up_proj", "down_proj"]
# The conditions under which templates of larger and smaller models write an empty reasoning block.
LARGE = "enable_thinking is defined and enable_thinking is false"
SMALL = "not (enable_thinking is defined and enable_thinking is true)"


def reasoning_samples() -> list[dict]:
    """Arguments of apply_chat_template: with and without reasoning, and answers that contain some."""
    thought = "<think>\nThe row is at 41.\n</think>\n\nTap it."
    turns = [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": thought},
        {"role": "user", "content": [{"type": "text", "text": " Again. "}, {"type": "image"}]},
    ]
    wanted = [dict(variables={"enable_thinking": value}) for value in (True, False)]
    return [
        *[dict(messages=turns, tools=None, add_generation_prompt=True, **variables) for variables in wanted],
        dict(messages=[*turns, {"role": "assistant", "content": thought}], tools=None, add_generation_prompt=False),
        dict(messages=turns[:2], tools=None, add_generation_prompt=False, **wanted[1]),
    ]


class Qwen35(Qwen3Vl):
    config_class, model_class = Qwen3_5Config, Qwen3_5ForConditionalGeneration
    template = "chat_template_qwen3_5.jinja"

    def template_text(self) -> str:
        return super().template_text() if self.case["thinks"] else super().template_text().replace(LARGE, SMALL)

    def template_samples(self) -> list[dict]:
        return [*tool_samples(), *reasoning_samples()]

    def write_tokenizer(self, folder) -> None:
        write_byte_level_tokenizer(
            folder,
            self.special_tokens,
            self.end_of_turn,
            self.pad_token,
            split=PRETOKENIZE_REGEX,
            plain=("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
            tokenizer_class="Qwen3_5Tokenizer",
        )

    def randomize(self, model) -> None:
        """Like the other families; norm weights are offsets from 1, and decays range from none to strong."""
        randomize(model, self.case["seed"])
        generator = torch.Generator().manual_seed(self.case["seed"] + 1)
        with torch.no_grad():
            for name, parameter in sorted(model.named_parameters()):
                if name.endswith(("layernorm.weight", "language_model.norm.weight", "q_norm.weight", "k_norm.weight")):
                    parameter.sub_(1)
                elif name.endswith("A_log"):
                    parameter.copy_(torch.rand(parameter.shape, generator=generator) * 4 - 3)
                elif name.endswith("dt_bias"):
                    parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))


def rope(*sections: int) -> dict:
    return dict(
        rope_type="default",
        rope_theta=10000000.0,
        mrope_section=list(sections),
        mrope_interleaved=True,
        partial_rotary_factor=0.25,
    )


CASES = {
    "qwen3-5-a": Qwen35(
        seed=7,
        dtype=torch.float32,
        tie=False,
        thinks=True,
        text=dict(
            hidden_size=48,
            intermediate_size=64,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
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
        # height, width: exact multiple of the factor, rounded, downscaled
        images=[(48, 64), (37, 50), (120, 90)],
        lora=dict(r=4, lora_alpha=8, target_modules=[*LINEAR_ATTENTION, *FULL_ATTENTION, *MLP]),
    ),
    "qwen3-5-b": Qwen35(
        seed=6,
        dtype=torch.bfloat16,
        tie=True,
        thinks=False,
        text=dict(
            hidden_size=40,
            intermediate_size=56,
            num_hidden_layers=3,
            layer_types=["full_attention", "linear_attention", "linear_attention"],
            num_attention_heads=3,
            num_key_value_heads=1,
            head_dim=24,
            linear_conv_kernel_dim=3,
            linear_key_head_dim=8,
            linear_value_head_dim=12,
            linear_num_key_heads=3,
            linear_num_value_heads=3,
            rope_parameters=rope(1, 1, 1),
        ),
        vision=dict(
            depth=2,
            hidden_size=32,
            intermediate_size=56,
            num_heads=2,
            patch_size=14,
            num_position_embeddings=36,
        ),
        pixels=(28 * 28 * 4, 28 * 28 * 12),
        mean_std=([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]),
        # upscaled, exact multiple of the factor
        images=[(20, 31), (84, 56)],
        lora=dict(
            r=3,
            lora_alpha=5,
            target_modules=["in_proj_qkv", "in_proj_a", "out_proj", "q_proj", "down_proj", "qkv", "linear_fc2"],
        ),
    ),
}


if __name__ == "__main__":
    main(CASES)
