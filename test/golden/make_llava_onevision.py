"""Writes the fixtures of LLaVA-OneVision for comparison with the TypeScript implementation.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_llava_onevision.py [name ...]

For each of the named cases (all of them without a name) it writes `fixtures/<name>`, see golden_cases.py.

    LLaVA-OneVision a: fp32, one file, untied, one image in tiles, patches that do not fill a tile
    LLaVA-OneVision b: bf16, sharded, tied, one image whose tiles have too many features, adapter on all parts
    LLaVA-OneVision c: fp32, one file, tied, several images, of one picture each
"""

from pathlib import Path

import torch
from PIL import Image
from transformers import LlavaOnevisionConfig, LlavaOnevisionForConditionalGeneration
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
from transformers.models.llava_onevision.modeling_llava_onevision import get_anyres_image_grid_shape, unpad_image
from transformers.models.llava_onevision.processing_llava_onevision import LlavaOnevisionProcessor

from golden_cases import main
from golden_images import Exact, cut_patches
from golden_llava import CLIP_MEAN_STD, Tower
from reference import TEXT_LINEARS, Prepared


class OneVisionImages(Exact, LlavaOnevisionImageProcessorPil):
    pass


class OneVision(Tower):
    pad_token = "<|endoftext|>"
    end_of_turn = "<|im_end|>"
    special_tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<video>"]
    template = "chat_template_llava_onevision.jinja"
    config_class, model_class = LlavaOnevisionConfig, LlavaOnevisionForConditionalGeneration
    processor_name = "LlavaOnevisionProcessor"

    def pixel_tokens(self, model) -> list[int]:
        return [model.config.image_token_id, model.config.video_token_id]

    def build_model(self, tokenizer):
        self.case["further"]["video_token_index"] = tokenizer.convert_tokens_to_ids("<video>")
        return super().build_model(tokenizer)

    def geometry_of(self, image: Image.Image) -> dict:
        pinpoints, edge = self.case["processor"]["image_grid_pinpoints"], self.case["vision"]["image_size"]
        size = (image.height, image.width)
        tiles = get_anyres_image_grid_shape(size, pinpoints, edge)
        joined = torch.zeros(1, tiles[0] * self.side, tiles[1] * self.side)
        shown = unpad_image(joined, size).shape[1:]
        grid = [1 + tiles[0] * tiles[1], self.side, self.side]
        return {"grid": grid, "tiles": list(tiles), "shown": list(shown)}

    def prepare(self, model_dir: Path, images: list[Image.Image]) -> Prepared:
        processor = OneVisionImages.from_pretrained(model_dir)
        found = processor(images=[images], return_tensors="pt")
        several = len(images) > 1
        geometry = [{"grid": [1, self.side, self.side]} if several else self.geometry_of(image) for image in images]
        pictures = [
            picture for image, own in zip(found["pixel_values"], geometry) for picture in image[: own["grid"][0]]
        ]
        return Prepared(
            inputs={key: found[key] for key in ("pixel_values", "image_sizes", "batch_num_images")},
            geometry=geometry,
            patches=torch.cat([cut_patches(picture, self.case["vision"]["patch_size"]) for picture in pictures]),
            extra={"found": found, "images": processor},
        )

    def processor(self, images):
        # Created without its parts, since the one for videos needs torchvision.
        processor = LlavaOnevisionProcessor.__new__(LlavaOnevisionProcessor)
        processor.image_processor = images
        processor.image_token = self.image_token
        processor.num_image_tokens = self.side**2
        processor.vision_feature_select_strategy = "full"
        processor.vision_aspect_ratio = self.case["further"]["vision_aspect_ratio"]
        return processor


CASES = {
    "llava-onevision-a": OneVision(
        seed=4,
        dtype=torch.float32,
        tie=False,
        text=dict(
            model_type="qwen2",
            hidden_size=48,
            intermediate_size=88,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            rope_parameters=dict(rope_type="default", rope_theta=1000000.0),
        ),
        vision=dict(
            model_type="siglip_vision_model",
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=3,
            num_attention_heads=3,
            patch_size=8,
            image_size=43,
            vision_use_head=False,
        ),
        further=dict(
            vision_feature_layer=-1,
            vision_feature_select_strategy="full",
            vision_aspect_ratio="anyres_max_9",
            image_grid_pinpoints=[[43, 43], [43, 86], [86, 43], [86, 86], [129, 86]],
        ),
        images_type="LlavaOnevisionImageProcessor",
        mean_std=([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
        processor=dict(
            size={"height": 43, "width": 43},
            image_grid_pinpoints=[[43, 43], [43, 86], [86, 43], [86, 86], [129, 86]],
        ),
        # taller than its tiling, with margins left and right
        images=[(130, 70)],
        lora=dict(r=4, lora_alpha=8, target_modules=rf".*language_model.*\.({'|'.join(TEXT_LINEARS)})"),
    ),
    "llava-onevision-b": OneVision(
        seed=7,
        dtype=torch.bfloat16,
        tie=True,
        text=dict(
            model_type="qwen2",
            hidden_size=72,
            intermediate_size=64,
            num_hidden_layers=3,
            num_attention_heads=3,
            num_key_value_heads=1,
            rope_parameters=dict(rope_type="default", rope_theta=100000.0),
        ),
        vision=dict(
            model_type="siglip_vision_model",
            hidden_size=32,
            intermediate_size=56,
            num_hidden_layers=2,
            num_attention_heads=2,
            patch_size=7,
            image_size=21,
            vision_use_head=False,
        ),
        further=dict(
            vision_feature_layer=-1,
            vision_feature_select_strategy="full",
            vision_aspect_ratio="anyres_max_2",
            image_grid_pinpoints=[[21, 21], [42, 63], [63, 63]],
        ),
        images_type="LlavaOnevisionImageProcessor",
        mean_std=CLIP_MEAN_STD,
        processor=dict(
            size={"height": 21, "width": 21},
            image_grid_pinpoints=[[21, 21], [42, 63], [63, 63]],
        ),
        images=[(60, 111)],
        lora=dict(
            r=3,
            lora_alpha=5,
            target_modules=["q_proj", "v_proj", "down_proj", "out_proj", "fc1", "fc2", "linear_1", "linear_2"],
        ),
    ),
    "llava-onevision-c": OneVision(
        seed=6,
        dtype=torch.float32,
        tie=True,
        text=dict(
            model_type="qwen2",
            hidden_size=32,
            intermediate_size=40,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            rope_parameters=dict(rope_type="default", rope_theta=10000.0),
        ),
        vision=dict(
            model_type="siglip_vision_model",
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=2,
            num_attention_heads=2,
            patch_size=8,
            image_size=24,
            vision_use_head=False,
        ),
        further=dict(
            vision_feature_layer=[-2, -1],
            vision_feature_select_strategy="full",
            vision_aspect_ratio="anyres_max_4",
            image_grid_pinpoints=[[24, 48], [48, 24], [48, 48]],
        ),
        images_type="LlavaOnevisionImageProcessor",
        mean_std=CLIP_MEAN_STD,
        processor=dict(
            size={"height": 24, "width": 24},
            image_grid_pinpoints=[[24, 48], [48, 24], [48, 48]],
        ),
        # unchanged, padded to a square, padded to a square and upscaled
        images=[(24, 24), (40, 64), (17, 12)],
        lora=dict(r=4, lora_alpha=6, target_modules=[*TEXT_LINEARS, "linear_1", "linear_2"]),
    ),
}


if __name__ == "__main__":
    main(CASES)
