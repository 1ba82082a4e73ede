"""Writes the fixtures of InternVL for comparison with the TypeScript implementation; see golden_cases.py.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.15.0 transformers==5.24.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_internvl.py [name ...]

    a: InternVL3: Qwen2 text, dynamic rotary positions, fp32, one file, untied; LayerNorm and biases in the vision tower; three images
    b: InternVL3.5: Qwen3 text, bf16, tied; RMSNorm and normalized queries and keys in the vision tower, positions
        interpolated to larger tiles, at least two tiles; adapter on all parts
"""

from pathlib import Path

import torch
from PIL import Image
from transformers import InternVLConfig, InternVLForConditionalGeneration
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import (
    GotOcr2ImageProcessorPil,
    get_optimal_tiled_canvas,
)
from transformers.models.internvl.processing_internvl import InternVLProcessor

from golden_cases import main
from golden_conversations import part_samples, tool_samples
from golden_files import write_json
from golden_images import Exact, cut_patches
from reference import TEXT_LINEARS, Prepared, Reference

IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
VISION_LINEARS = ["projection_layer", "fc1", "fc2", "linear_1", "linear_2"]


class GotOcr2Images(Exact, GotOcr2ImageProcessorPil):
    pass


class InternVl(Reference):
    image_token = "<IMG_CONTEXT>"
    pad_token = "<|endoftext|>"
    end_of_turn = "<|im_end|>"
    special_tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>", "<video>"]
    template = "chat_template_internvl.jinja"

    def build_model(self, tokenizer):
        ids = tokenizer.convert_tokens_to_ids
        config = InternVLConfig(
            text_config=dict(
                vocab_size=len(tokenizer),
                max_position_embeddings=4096,
                tie_word_embeddings=self.case["tie"],
                pad_token_id=ids(self.pad_token),
                eos_token_id=ids(self.end_of_turn),
                bos_token_id=None,
                **self.case["text"],
            ),
            vision_config=self.case["vision"],
            image_token_id=ids(self.image_token),
            image_seq_length=self.tile_tokens,
            tie_word_embeddings=self.case["tie"],
        )
        config._attn_implementation = "eager"
        return InternVLForConditionalGeneration(config)

    def randomize(self, model) -> None:
        """Like the other families, plus class token, positions and layer scales, which the base class does not know."""
        super().randomize(model)
        generator = torch.Generator().manual_seed(self.case["seed"] + 1)
        with torch.no_grad():
            for name, parameter in sorted(model.named_parameters()):
                values = torch.randn(parameter.shape, generator=generator)
                if name.endswith(("cls_token", "position_embeddings")):
                    parameter.copy_(0.5 * values)
                elif "lambda" in name:
                    parameter.copy_(0.5 + 0.2 * values)

    @property
    def tile_tokens(self) -> int:
        return (self.case["tile"] // self.case["vision"]["patch_size"][0] // 2) ** 2

    def write_processor(self, folder: Path) -> None:
        mean, std = IMAGENET
        config = {
            # As in the published folders; their processor tiles images nevertheless.
            "crop_to_patches": False,
            "do_convert_rgb": True,
            "do_normalize": True,
            "do_rescale": True,
            "do_resize": True,
            "image_mean": mean,
            "image_processor_type": "GotOcr2ImageProcessorFast",
            "image_std": std,
            "processor_class": "InternVLProcessor",
            "resample": 3,
            "rescale_factor": 0.00392156862745098,
            "size": {"height": self.case["tile"], "width": self.case["tile"]},
            **self.case["patches"],
        }
        write_json(folder / "preprocessor_config.json", config)

    def geometry_of(self, image: Image.Image) -> dict:
        tile, limits = self.case["tile"], self.case["patches"]
        side = tile // self.case["vision"]["patch_size"][0]
        columns, rows = get_optimal_tiled_canvas(
            (image.height, image.width), (tile, tile), limits["min_patches"], limits["max_patches"]
        )
        count = rows * columns
        if count == 1:
            return {"grid": [1, side, side]}
        return {"grid": [count + 1, side, side], "tiles": [rows, columns]}

    def prepare(self, model_dir: Path, images: list[Image.Image]) -> Prepared:
        processor = GotOcr2Images.from_pretrained(model_dir)
        found = processor(images=images, return_tensors="pt", **InternVLProcessor.images_kwargs)
        geometry = [self.geometry_of(image) for image in images]
        assert found["num_patches"].tolist() == [image["grid"][0] for image in geometry]
        patch = self.case["vision"]["patch_size"][0]
        return Prepared(
            inputs={"pixel_values": found["pixel_values"]},
            geometry=geometry,
            patches=torch.cat([cut_patches(picture, patch) for picture in found["pixel_values"]]),
            extra={"found": found},
        )

    def processor(self) -> InternVLProcessor:
        # Created without its parts, since the one for videos needs torchvision.
        processor = InternVLProcessor.__new__(InternVLProcessor)
        processor.image_seq_length = self.tile_tokens
        processor.start_image_token, processor.image_token, processor.end_image_token = "<img>", self.image_token, "</img>"
        return processor

    def expand(self, prompt_text: str, prepared: Prepared) -> str:
        first, *rest = prompt_text.split(self.image_token)
        replace, found = self.processor().replace_image_token, prepared.extra["found"]
        expanded = [replace(found, index) for index in range(len(rest))]
        return first + "".join(image + part for image, part in zip(expanded, rest, strict=True))

    def features(self, model, prepared: Prepared) -> dict[str, torch.Tensor]:
        return {"vision_features": model.model.get_image_features(**prepared.inputs).pooler_output.flatten(0, 1)}

    def template_samples(self) -> list[dict]:
        return [*tool_samples(), *part_samples()]


CASES = {
    "internvl-a": InternVl(
        seed=4,
        dtype=torch.float32,
        tie=False,
        text=dict(
            model_type="qwen2",
            hidden_size=16,
            intermediate_size=28,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            rope_parameters=dict(rope_type="dynamic", rope_theta=1000000.0, factor=2.0),
        ),
        vision=dict(
            hidden_size=18,
            intermediate_size=24,
            num_hidden_layers=2,
            num_attention_heads=3,
            attention_bias=True,
            patch_size=[3, 3],
            image_size=[12, 12],
        ),
        tile=12,
        patches=dict(min_patches=1, max_patches=4),
        # height, width: two tiles side by side, a single picture, a strip of four tiles
        images=[(30, 70), (11, 12), (90, 22)],
        lora=dict(r=4, lora_alpha=8, target_modules=rf".*language_model.*\.({'|'.join(TEXT_LINEARS)})"),
    ),
    "internvl-b": InternVl(
        seed=12,
        dtype=torch.bfloat16,
        tie=True,
        text=dict(
            model_type="qwen3",
            hidden_size=20,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=3,
            num_key_value_heads=1,
            head_dim=8,
            rope_parameters=dict(rope_type="default", rope_theta=100000.0),
        ),
        vision=dict(
            hidden_size=20,
            intermediate_size=28,
            num_hidden_layers=2,
            num_attention_heads=2,
            norm_type="rms_norm",
            use_qk_norm=True,
            use_mean_pooling=False,
            patch_size=[4, 4],
            image_size=[12, 12],
        ),
        tile=16,
        patches=dict(min_patches=2, max_patches=6),
        images=[(40, 40), (60, 91)],
        lora=dict(r=3, lora_alpha=5, target_modules=["q_proj", "v_proj", "down_proj", *VISION_LINEARS]),
    ),
}


if __name__ == "__main__":
    main(CASES)
