"""Writes the fixtures of Idefics3 and SmolVLM for comparison with the TypeScript implementation.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_idefics3.py [name ...]

For each of the named cases (all of them without a name) it writes `fixtures/<name>`, see golden_cases.py.

    Idefics3 a: fp32, one file, untied, images cut into tiles, llama3-scaled positions, adapter on the text model
    Idefics3 b: bf16, sharded, tied, biases, images not cut, tiles smaller than the tower's table, adapter on all parts
    SmolVLM a: fp32, tied, images cut into tiles, 9 patches per token, no grouped heads, adapter on all parts
"""

from pathlib import Path

import torch
from PIL import Image
from transformers import (
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.smolvlm.processing_smolvlm import get_image_prompt_string

from golden_cases import main
from golden_files import write_json
from golden_idefics import AROUND, TEXT_ONLY, Idefics
from golden_images import Exact, cut_patches
from golden_tokenizers import write_byte_level_tokenizer
from reference import TEXT_LINEARS, Prepared


class Idefics3Images(Exact, Idefics3ImageProcessorPil):
    pass


class Idefics3(Idefics):
    template = "chat_template_idefics3.jinja"
    pad_token = "<|endoftext|>"
    special_tokens = [
        "<|im_start|>",
        "<|endoftext|>",
        "<|im_end|>",
        AROUND,
        "<image>",
        "<end_of_utterance>",
        "<global-img>",
        *[f"<row_{row}_col_{column}>" for row in range(1, 4) for column in range(1, 4)],
    ]
    config_class, model_class = Idefics3Config, Idefics3ForConditionalGeneration
    processor_name = "Idefics3"

    def write_tokenizer(self, folder: Path) -> None:
        write_byte_level_tokenizer(folder, self.special_tokens, self.end_of_turn, self.pad_token, 320)

    def write_processor(self, folder: Path) -> None:
        case = self.case
        config = {
            "do_convert_rgb": True,
            "do_image_splitting": case["splits"],
            "do_normalize": True,
            "do_pad": True,
            "do_rescale": True,
            "do_resize": True,
            "image_mean": [0.5, 0.5, 0.5],
            "image_std": [0.5, 0.5, 0.5],
            "image_processor_type": f"{self.processor_name}ImageProcessor",
            "max_image_size": {"longest_edge": case["tile"]},
            "processor_class": f"{self.processor_name}Processor",
            "resample": 1,
            "rescale_factor": 0.00392156862745098,
            "size": {"longest_edge": case["longest"]},
        }
        write_json(folder / "preprocessor_config.json", config)

    def prepare(self, model_dir: Path, images: list[Image.Image]) -> Prepared:
        processor = Idefics3Images.from_pretrained(model_dir)
        found = processor(images=[images], return_row_col_info=True, return_tensors="pt")
        patch = self.case["vision"]["patch_size"]
        side = self.case["tile"] // patch
        geometry = [
            {"grid": [rows * columns + 1, side, side], **({"tiles": [rows, columns]} if rows else {})}
            for rows, columns in zip(found["rows"][0], found["cols"][0])
        ]
        tiles = found["pixel_values"][0]
        assert len(tiles) == sum(image["grid"][0] for image in geometry)
        return Prepared(
            inputs={key: found[key] for key in ("pixel_values", "pixel_attention_mask")},
            geometry=geometry,
            patches=torch.cat([cut_patches(tile, patch) for tile in tiles]),
        )

    def expand(self, prompt_text: str, prepared: Prepared) -> str:
        side = self.case["tile"] // self.case["vision"]["patch_size"]
        tokens = (side // self.case["further"]["scale_factor"]) ** 2
        first, *rest = prompt_text.split(self.image_token)
        expanded = [
            get_image_prompt_string(*image.get("tiles", [0, 0]), tokens, AROUND, self.image_token, "<global-img>")
            for image in prepared.geometry
        ]
        return first + "".join(image + part for image, part in zip(expanded, rest, strict=True))


class SmolVlm(Idefics3):
    config_class, model_class = SmolVLMConfig, SmolVLMForConditionalGeneration
    processor_name = "SmolVLM"


CASES = {
    "idefics3-a": Idefics3(
        seed=2,
        dtype=torch.float32,
        tie=False,
        text=dict(
            model_type="llama",
            hidden_size=48,
            intermediate_size=88,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            rms_norm_eps=1e-5,
            rope_parameters=dict(
                rope_type="llama3",
                rope_theta=10000.0,
                factor=8.0,
                low_freq_factor=1.0,
                high_freq_factor=4.0,
                original_max_position_embeddings=64,
            ),
        ),
        vision=dict(
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=3,
            num_attention_heads=3,
            patch_size=8,
            image_size=32,
        ),
        further=dict(scale_factor=2),
        splits=True,
        tile=32,
        longest=96,
        # height, width: landscape, portrait, a strip that is one row of tiles
        images=[(60, 90), (90, 50), (20, 70)],
        lora=dict(r=4, lora_alpha=8, target_modules=TEXT_ONLY),
    ),
    "idefics3-b": Idefics3(
        seed=3,
        dtype=torch.bfloat16,
        tie=True,
        text=dict(
            model_type="llama",
            hidden_size=72,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=3,
            num_key_value_heads=1,
            head_dim=32,
            attention_bias=True,
            rms_norm_eps=1e-6,
            rope_parameters=dict(rope_type="default", rope_theta=100000.0),
        ),
        vision=dict(
            hidden_size=32,
            intermediate_size=56,
            num_hidden_layers=2,
            num_attention_heads=2,
            patch_size=7,
            image_size=63,
            hidden_act="gelu",
        ),
        further=dict(scale_factor=4),
        splits=False,
        tile=56,
        longest=112,
        images=[(20, 31), (112, 80)],
        lora=dict(
            r=3,
            lora_alpha=5,
            target_modules=["q_proj", "v_proj", "down_proj", "out_proj", "fc1", "fc2", "modality_projection.proj"],
        ),
    ),
    "smolvlm-a": SmolVlm(
        seed=4,
        dtype=torch.float32,
        tie=True,
        text=dict(
            model_type="llama",
            hidden_size=40,
            intermediate_size=72,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            rms_norm_eps=1e-5,
            rope_parameters=dict(rope_type="default", rope_theta=130000.0),
        ),
        vision=dict(
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=2,
            num_attention_heads=2,
            patch_size=8,
            image_size=48,
        ),
        further=dict(scale_factor=3),
        splits=True,
        tile=48,
        longest=96,
        images=[(48, 96), (70, 64)],
        lora=dict(r=4, lora_alpha=6, target_modules=[*TEXT_LINEARS, "out_proj", "fc1", "fc2", "modality_projection.proj"]),
    ),
}


if __name__ == "__main__":
    main(CASES)
