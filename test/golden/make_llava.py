"""Writes the fixtures of LLaVA 1.5 and LLaVA-OneVision that the TypeScript implementation is compared with.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_llava.py [name ...]

For each of the named cases (all of them without a name) it writes `fixtures/<name>`, see reference.py.

    LLaVA a: fp32, one file, untied, CLIP tower without its last layer, images cropped, grouped heads, adapter on the text model
    LLaVA b: bf16, sharded, tied, features of three CLIP layers with the class token, images padded to squares, biases,
        stretched positions, adapter on all parts
    LLaVA-OneVision a: fp32, one file, untied, one image in tiles, patches that do not fill a tile
    LLaVA-OneVision b: bf16, sharded, tied, one image whose tiles have too many features, adapter on all parts
    LLaVA-OneVision c: fp32, one file, tied, several images, of one picture each
"""

import json
from pathlib import Path

import torch
from PIL import Image
from tokenizers import normalizers
from transformers import (
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaOnevisionConfig,
    LlavaOnevisionForConditionalGeneration,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
from transformers.models.llava.processing_llava import LlavaProcessor
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
from transformers.models.llava_onevision.modeling_llava_onevision import get_anyres_image_grid_shape, unpad_image
from transformers.models.llava_onevision.processing_llava_onevision import LlavaOnevisionProcessor

from reference import (
    TEXT_LINEARS,
    Exact,
    Prepared,
    Reference,
    cut_patches,
    main,
    part_samples,
    write_json,
    write_llama_tokenizer,
)

CLIP_MEAN_STD = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])


class ClipImages(Exact, CLIPImageProcessorPil):
    pass


class LlavaImages(Exact, LlavaImageProcessorPil):
    pass


class OneVisionImages(Exact, LlavaOnevisionImageProcessorPil):
    pass


def write_legacy_llama_tokenizer(folder: Path, special: list[str]) -> None:
    """As the first Llama's: its normalizer puts a space before every text between special tokens, not the first alone."""
    write_llama_tokenizer(folder, special, "</s>")
    content = json.loads((folder / "tokenizer.json").read_text())
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    content["normalizer"] = json.loads(normalizer.__getstate__())
    content["pre_tokenizer"] = None
    (folder / "tokenizer.json").write_text(json.dumps(content, indent=2, ensure_ascii=False))


class Tower(Reference):
    """What both families have in common."""

    image_token = "<image>"
    config_class: type
    model_class: type
    processor_name: str

    def build_model(self, tokenizer):
        ids = tokenizer.convert_tokens_to_ids
        config = self.config_class(
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
            image_token_index=ids(self.image_token),
            tie_word_embeddings=self.case["tie"],
            **self.case.get("further", {}),
        )
        config._attn_implementation = "eager"
        return self.model_class(config)

    @property
    def side(self) -> int:
        return self.case["vision"]["image_size"] // self.case["vision"]["patch_size"]

    def write_processor(self, folder: Path) -> None:
        mean, std = self.case["mean_std"]
        config = {
            "do_convert_rgb": True,
            "do_normalize": True,
            "do_rescale": True,
            "do_resize": True,
            "image_mean": mean,
            "image_processor_type": self.case["images_type"],
            "image_std": std,
            "processor_class": self.processor_name,
            "resample": 3,
            "rescale_factor": 0.00392156862745098,
            **self.case["processor"],
        }
        write_json(folder / "preprocessor_config.json", config)

    def processor(self):
        """The processor of transformers, for the number of image tokens."""
        raise NotImplementedError

    def expand(self, prompt_text: str, prepared: Prepared) -> str:
        first, *rest = prompt_text.split(self.image_token)
        processor = self.processor(prepared.extra["images"])
        expanded = [processor.replace_image_token(prepared.extra["found"], index) for index in range(len(rest))]
        return first + "".join(image + part for image, part in zip(expanded, rest, strict=True))

    def features(self, model, prepared: Prepared) -> dict[str, torch.Tensor]:
        return {"vision_features": torch.cat(list(model.model.get_image_features(**prepared.inputs).pooler_output))}

    def template_samples(self) -> list[dict]:
        return part_samples()


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
        # Made without its parts, of which the one for videos needs torchvision.
        processor = LlavaOnevisionProcessor.__new__(LlavaOnevisionProcessor)
        processor.image_processor = images
        processor.image_token = self.image_token
        processor.num_image_tokens = self.side**2
        processor.vision_feature_select_strategy = "full"
        processor.vision_aspect_ratio = self.case["further"]["vision_aspect_ratio"]
        return processor


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
        # height, width: to be cropped only, to be shrunk, to be enlarged
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
        # as it is, to be made square, to be made square and enlarged
        images=[(24, 24), (40, 64), (17, 12)],
        lora=dict(r=4, lora_alpha=6, target_modules=[*TEXT_LINEARS, "linear_1", "linear_2"]),
    ),
}


if __name__ == "__main__":
    main(CASES)
