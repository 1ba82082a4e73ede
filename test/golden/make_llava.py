"""Writes the fixtures of LLaVA 1.5 for comparison with the TypeScript implementation.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_llava.py [name ...]

For each of the named cases (all of them without a name) it writes `fixtures/<name>`, see golden_cases.py.

    LLaVA a: fp32, one file, untied, CLIP tower without its last layer, images cropped, grouped heads, adapter on the text model
    LLaVA b: bf16, sharded, tied, features of three CLIP layers with the class token, images padded to squares, biases,
        stretched positions, adapter on all parts
"""

import json
from pathlib import Path

import torch
from PIL import Image
from tokenizers import normalizers
from transformers import LlavaConfig, LlavaForConditionalGeneration
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
from transformers.models.llava.processing_llava import LlavaProcessor

from golden_cases import main
from golden_images import Exact, cut_patches
from golden_llava import CLIP_MEAN_STD, Tower
from golden_tokenizers import write_llama_tokenizer
from reference import TEXT_LINEARS, Prepared


class ClipImages(Exact, CLIPImageProcessorPil):
    pass


class LlavaImages(Exact, LlavaImageProcessorPil):
    pass


def write_legacy_llama_tokenizer(folder: Path, special: list[str]) -> None:
    """Like the first Llama's: the normalizer adds a space before each text between special tokens."""
    write_llama_tokenizer(folder, special, "</s>")
    content = json.loads((folder / "tokenizer.json").read_text())
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    content["normalizer"] = json.loads(normalizer.__getstate__())
    content["pre_tokenizer"] = None
    (folder / "tokenizer.json").write_text(json.dumps(content, indent=2, ensure_ascii=False))


class Llava(Tower):
    pad_token = "<unk>"
    end_of_turn = "</s>"
    special_tokens = ["<unk>", "<s>", "</s>", "<image>"]
    template = "chat_template_llava.jinja"
    config_class, model_class = LlavaConfig, LlavaForConditionalGeneration
    processor_name = "LlavaProcessor"

    def write_tokenizer(self, folder: Path) -> None:
        write_legacy_llama_tokenizer(folder, self.special_tokens)

    def prepare(self, model_dir: Path, images: list[Image.Image]) -> Prepared:
        kind = {"CLIPImageProcessor": ClipImages, "LlavaImageProcessor": LlavaImages}[self.case["images_type"]]
        processor = kind.from_pretrained(model_dir)
        found = processor(images=images, return_tensors="pt")
        size = self.case["vision"]["patch_size"]
        return Prepared(
            inputs={"pixel_values": found["pixel_values"]},
            geometry=[{"grid": [1, self.side, self.side]} for _ in images],
            patches=torch.cat([cut_patches(picture, size) for picture in found["pixel_values"]]),
            extra={"found": found, "images": processor},
        )

    def processor(self, images):
        return LlavaProcessor(
            images,
            self.tokenizer,
            patch_size=self.case["vision"]["patch_size"],
            vision_feature_select_strategy=self.case["further"]["vision_feature_select_strategy"],
            num_additional_image_tokens=1,
        )


CASES = {
    "llava-a": Llava(
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
            rope_parameters=dict(rope_type="default", rope_theta=10000.0),
        ),
        vision=dict(
            model_type="clip_vision_model",
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=4,
            num_attention_heads=3,
            patch_size=8,
            image_size=32,
        ),
        further=dict(vision_feature_layer=-2, vision_feature_select_strategy="default", image_seq_length=16),
        images_type="CLIPImageProcessor",
        mean_std=CLIP_MEAN_STD,
        processor=dict(do_center_crop=True, size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}),
        # height, width: cropped only, downscaled, upscaled
        images=[(32, 45), (70, 53), (20, 31)],
        lora=dict(r=4, lora_alpha=8, target_modules=rf".*language_model.*\.({'|'.join(TEXT_LINEARS)})"),
    ),
    "llava-b": Llava(
        seed=8,
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
            rope_parameters=dict(rope_type="linear", rope_theta=100000.0, factor=2.5),
        ),
        vision=dict(
            model_type="clip_vision_model",
            hidden_size=32,
            intermediate_size=56,
            num_hidden_layers=3,
            num_attention_heads=2,
            patch_size=7,
            image_size=21,
            hidden_act="gelu",
            layer_norm_eps=1e-6,
        ),
        further=dict(
            vision_feature_layer=[0, -2, -1],
            vision_feature_select_strategy="full",
            image_seq_length=10,
            multimodal_projector_bias=False,
        ),
        images_type="LlavaImageProcessor",
        mean_std=([0.5, 0.4, 0.3], [0.3, 0.25, 0.2]),
        processor=dict(
            do_center_crop=True, do_pad=True, size={"shortest_edge": 21}, crop_size={"height": 21, "width": 21}
        ),
        images=[(20, 31), (64, 45)],
        lora=dict(
            r=3,
            lora_alpha=5,
            target_modules=["q_proj", "v_proj", "down_proj", "out_proj", "fc1", "fc2", "linear_1", "linear_2"],
        ),
    ),
}


if __name__ == "__main__":
    main(CASES)
