"""Writes the fixtures of the Qwen-VL families for comparison with the TypeScript implementation.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_qwen_vl.py [name ...]

For each of the named cases (all of them without a name) it writes `fixtures/<name>`, see golden_cases.py. expected.safetensors
also holds positions and rotary tables; patches repeat the picture for each of two frames, as the processors of transformers do.

    a: fp32, one file, untied embeddings, 4 query heads on 2 key/value heads, adapter on the text model
    b: bf16, sharded, tied embeddings, 3 query heads on one key/value head, adapter on both models
    Qwen3-VL a: patches of 8; b: patches of 14, head_dim != hidden/heads, 3 deepstack layers
    Qwen2-VL a: patches of 14; b: patches of 8
    Qwen2.5-VL a: patches of 14, windows that do not divide the images; b: patches of 8, one full layer in the middle
"""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from transformers import (
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil, smart_resize
from transformers.vision_utils import get_vision_interpolation_indices_and_weights, get_vision_position_ids

from golden_cases import main
from golden_files import write_json
from golden_images import normalize, resize
from reference import TEXT_LINEARS, Prepared, Reference

MERGE = 2


def patches_of(processor, image: Image.Image) -> tuple[torch.Tensor, list[int]]:
    """The fast processor's steps, which resize images in 8 bits.

    The fast processor itself needs torchvision. What it calls for resizing is within one level of Pillow's bicubic filter.
    """
    grid = processor(images=[image], return_tensors="pt")["image_grid_thw"][0].tolist()
    factor = processor.patch_size * processor.merge_size
    height, width = smart_resize(
        image.height, image.width, factor, processor.size["shortest_edge"], processor.size["longest_edge"]
    )
    resized = resize(image, height, width, Image.Resampling.BICUBIC)
    pixels = torch.from_numpy(np.array(resized)).permute(2, 0, 1)
    original = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    by_torch = torch.nn.functional.interpolate(original[None], (height, width), mode="bicubic", antialias=True)[0]
    assert (pixels.int() - by_torch.int()).abs().max() <= 1
    flat, grid_h, grid_w = processor.patchify(
        normalize(pixels, processor).numpy(), processor.patch_size, processor.merge_size, processor.temporal_patch_size
    )
    assert grid == [1, grid_h, grid_w]
    return torch.from_numpy(flat.copy()), grid


class QwenVl(Reference):
    """Common parts of the families."""

    special_tokens = [
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
        "<|vision_start|>",
        "<|vision_end|>",
        "<|image_pad|>",
        "<|video_pad|>",
    ]
    image_token = "<|image_pad|>"
    end_of_turn = "<|im_end|>"
    pad_token = "<|endoftext|>"
    config_class: type
    model_class: type
    processor_name = "Qwen2VLProcessor"

    def build_model(self, tokenizer):
        ids = tokenizer.convert_tokens_to_ids
        case = self.case
        config = self.config_class(
            text_config=dict(
                vocab_size=len(tokenizer),
                max_position_embeddings=4096,
                rms_norm_eps=1e-6,
                tie_word_embeddings=case["tie"],
                bos_token_id=ids("<|endoftext|>"),
                eos_token_id=ids("<|im_end|>"),
                **case["text"],
            ),
            vision_config=self.vision_config(),
            image_token_id=ids("<|image_pad|>"),
            video_token_id=ids("<|video_pad|>"),
            vision_start_token_id=ids("<|vision_start|>"),
            vision_end_token_id=ids("<|vision_end|>"),
            tie_word_embeddings=case["tie"],
            eos_token_id=ids("<|im_end|>"),
            pad_token_id=ids("<|endoftext|>"),
        )
        config._attn_implementation = "eager"
        return self.model_class(config)

    def vision_config(self) -> dict:
        return self.case["vision"]

    def pixel_tokens(self, model) -> list[int]:
        return [model.config.image_token_id, model.config.video_token_id]

    def write_processor(self, folder: Path) -> None:
        mean, std = self.case["mean_std"]
        low, high = self.case["pixels"]
        config = {
            "size": {"shortest_edge": low, "longest_edge": high},
            "patch_size": self.case["vision"]["patch_size"],
            "temporal_patch_size": 2,
            "merge_size": MERGE,
            "image_mean": mean,
            "image_std": std,
            "processor_class": self.processor_name,
            "image_processor_type": "Qwen2VLImageProcessorFast",
        }
        write_json(folder / "preprocessor_config.json", config)

    def prepare(self, model_dir: Path, images: list[Image.Image]) -> Prepared:
        processor = Qwen2VLImageProcessorPil.from_pretrained(model_dir)
        found = [patches_of(processor, image) for image in images]
        patches = torch.cat([flat for flat, _ in found])
        grids = [grid for _, grid in found]
        return Prepared(
            inputs={"pixel_values": patches, "image_grid_thw": torch.tensor(grids)},
            geometry=[{"grid": grid} for grid in grids],
            patches=patches,
        )

    def expand(self, prompt_text: str, prepared: Prepared) -> str:
        first, *rest = prompt_text.split(self.image_token)
        counts = [int(np.prod(image["grid"])) // MERGE**2 for image in prepared.geometry]
        return first + "".join(self.image_token * count + part for count, part in zip(counts, rest, strict=True))

    def model_inputs(self, ids: torch.Tensor, prepared: Prepared) -> dict:
        return {**prepared.inputs, "mm_token_type_ids": (ids == self.image_token_id).int()[None]}

    def features(self, model, prepared: Prepared) -> dict[str, torch.Tensor]:
        vision = model.model.visual(prepared.patches, grid_thw=prepared.inputs["image_grid_thw"])
        deepstack = getattr(vision, "deepstack_features", [])
        return {
            "vision_features": vision.pooler_output,
            **{f"deepstack_features.{index}": feature for index, feature in enumerate(deepstack)},
        }

    def rope_index(self, model, ids: torch.Tensor, prepared: Prepared) -> tuple[torch.Tensor, torch.Tensor]:
        return model.model.get_rope_index(
            ids[None], (ids == self.image_token_id).int()[None], image_grid_thw=prepared.inputs["image_grid_thw"]
        )

    def further_tensors(self, model, ids: torch.Tensor, prepared: Prepared) -> dict[str, torch.Tensor]:
        positions, _ = self.rope_index(model, ids, prepared)
        text_cos, text_sin = model.model.language_model.rotary_emb(torch.zeros(1), positions)
        vision_positions = get_vision_position_ids(prepared.inputs["image_grid_thw"], MERGE)
        vision_cos, vision_sin = model.model.visual.rotary_pos_emb(torch.zeros(1), vision_positions)
        return {
            "position_ids": positions[:, 0].to(torch.int32),
            "text_cos": text_cos[0],
            "text_sin": text_sin[0],
            "vision_position_ids": vision_positions.to(torch.int32),
            "vision_cos": vision_cos,
            "vision_sin": vision_sin,
        }

    def further_values(self, model, ids: torch.Tensor, prepared: Prepared) -> dict:
        return {"rope_delta": self.rope_index(model, ids, prepared)[1].item()}

    def special_sample(self) -> str:
        return "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>text<|im_end|>"


class Qwen2Vl(QwenVl):
    config_class, model_class = Qwen2VLConfig, Qwen2VLForConditionalGeneration


class Qwen25Vl(QwenVl):
    config_class, model_class = Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration


class Qwen3Vl(QwenVl):
    config_class, model_class = Qwen3VLConfig, Qwen3VLForConditionalGeneration
    processor_name = "Qwen3VLProcessor"

    def vision_config(self) -> dict:
        return {"out_hidden_size": self.case["text"]["hidden_size"], **self.case["vision"]}

    def further_tensors(self, model, ids: torch.Tensor, prepared: Prepared) -> dict[str, torch.Tensor]:
        side = int(self.case["vision"]["num_position_embeddings"] ** 0.5)
        indices, weights = get_vision_interpolation_indices_and_weights(
            prepared.inputs["image_grid_thw"], side, mode="bilinear", align_corners=True, spatial_merge_size=MERGE
        )
        return {
            **super().further_tensors(model, ids, prepared),
            "interpolation_indices": indices.to(torch.int32),
            "interpolation_weights": weights,
        }


# Qwen2-VL and Qwen2.5-VL differ only in the vision tower.
QWEN2_A = dict(
    dtype=torch.float32,
    tie=False,
    text=dict(
        hidden_size=48,
        intermediate_size=88,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        rope_parameters=dict(rope_type="default", rope_theta=1000000.0, mrope_section=[2, 2, 2]),
    ),
    pixels=(28 * 28 * 2, 28 * 28 * 20),
    mean_std=([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]),
    # height, width: exact multiple of the factor, rounded, downscaled
    images=[(84, 112), (51, 95), (200, 150)],
    lora=dict(r=4, lora_alpha=8, target_modules=TEXT_LINEARS),
)
QWEN2_B = dict(
    dtype=torch.bfloat16,
    tie=True,
    text=dict(
        hidden_size=72,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=3,
        num_key_value_heads=1,
        rope_parameters=dict(rope_type="default", rope_theta=10000.0, mrope_section=[6, 3, 3]),
    ),
    pixels=(16 * 16 * 4, 16 * 16 * 40),
    mean_std=([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
    # upscaled, exact multiple of the factor
    images=[(20, 31), (112, 80)],
)

CASES = {
    "qwen2-vl-a": Qwen2Vl(
        **QWEN2_A,
        seed=3,
        vision=dict(depth=3, embed_dim=32, hidden_size=48, num_heads=2, mlp_ratio=2, patch_size=14),
    ),
    "qwen2-vl-b": Qwen2Vl(
        **QWEN2_B,
        seed=5,
        vision=dict(depth=2, embed_dim=24, hidden_size=72, num_heads=3, mlp_ratio=3, patch_size=8),
        lora=dict(r=3, lora_alpha=5, target_modules=["q_proj", "v_proj", "down_proj", "qkv", "attn.proj", "fc1", "fc2"]),
    ),
    "qwen2-5-vl-a": Qwen25Vl(
        **QWEN2_A,
        seed=11,
        vision=dict(
            depth=4,
            hidden_size=32,
            out_hidden_size=48,
            num_heads=2,
            intermediate_size=40,
            patch_size=14,
            window_size=56,
            fullatt_block_indexes=[1, 3],
        ),
    ),
    "qwen2-5-vl-b": Qwen25Vl(
        **QWEN2_B,
        seed=8,
        vision=dict(
            depth=3,
            hidden_size=24,
            out_hidden_size=72,
            num_heads=3,
            intermediate_size=36,
            patch_size=8,
            window_size=48,
            fullatt_block_indexes=[1],
        ),
        lora=dict(r=3, lora_alpha=5, target_modules=[*TEXT_LINEARS, "qkv", "attn.proj"]),
    ),
    "qwen3-vl-a": Qwen3Vl(
        seed=7,
        dtype=torch.float32,
        tie=False,
        text=dict(
            hidden_size=64,
            intermediate_size=88,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            rope_parameters=dict(
                rope_type="default", rope_theta=500000.0, mrope_section=[4, 2, 2], mrope_interleaved=True
            ),
        ),
        vision=dict(
            depth=4,
            hidden_size=24,
            intermediate_size=40,
            num_heads=3,
            patch_size=8,
            num_position_embeddings=16,
            deepstack_visual_indexes=[1, 2],
        ),
        pixels=(16 * 16, 64 * 80),
        mean_std=([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
        # height, width: exact multiple of the factor, rounded, downscaled
        images=[(48, 64), (37, 50), (120, 90)],
        lora=dict(
            r=4,
            lora_alpha=8,
            target_modules=TEXT_LINEARS,
        ),
    ),
    "qwen3-vl-b": Qwen3Vl(
        seed=4,
        dtype=torch.bfloat16,
        tie=True,
        text=dict(
            hidden_size=48,
            intermediate_size=72,
            num_hidden_layers=4,
            num_attention_heads=3,
            num_key_value_heads=1,
            head_dim=24,
            rope_parameters=dict(
                rope_type="default", rope_theta=5000000.0, mrope_section=[6, 3, 3], mrope_interleaved=True
            ),
        ),
        vision=dict(
            depth=4,
            hidden_size=32,
            intermediate_size=56,
            num_heads=2,
            patch_size=14,
            num_position_embeddings=36,
            deepstack_visual_indexes=[0, 1, 3],
        ),
        pixels=(28 * 28 * 4, 28 * 28 * 12),
        mean_std=([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]),
        # upscaled, exact multiple of the factor
        images=[(20, 31), (84, 56)],
        lora=dict(
            r=3,
            lora_alpha=5,
            target_modules=["q_proj", "v_proj", "down_proj", "qkv", "attn.proj", "linear_fc1", "linear_fc2"],
        ),
    ),
}


if __name__ == "__main__":
    main(CASES)
