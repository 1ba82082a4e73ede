"""Writes the fixtures of Idefics2, Idefics3 and SmolVLM that the TypeScript implementation is compared with.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_idefics.py [name ...]

For each of the named cases (all of them without a name) it writes `fixtures/<name>`, see reference.py.

    Idefics3 a: fp32, one file, untied, images cut into tiles, llama3-scaled positions, adapter on the text model
    Idefics3 b: bf16, sharded, tied, biases, images not cut, tiles smaller than the tower's table, adapter on all parts
    SmolVLM a: fp32, tied, images cut into tiles, 9 patches per token, no grouped heads, adapter on all parts
    Idefics2 a: fp32, one file, untied, images not split, of several sizes, grouped heads in the resampler
    Idefics2 b: bf16, sharded, tied, images split, of odd sizes, adapter on all parts
"""

from pathlib import Path

import torch
from PIL import Image
from transformers import (
    Idefics2Config,
    Idefics2ForConditionalGeneration,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)
from transformers.models.idefics2.image_processing_pil_idefics2 import Idefics2ImageProcessorPil
from transformers.models.idefics2.processing_idefics2 import Idefics2Processor
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.smolvlm.processing_smolvlm import get_image_prompt_string

from reference import (
    TEXT_LINEARS,
    Exact,
    Prepared,
    Reference,
    cut_patches,
    main,
    part_samples,
    write_byte_level_tokenizer,
    write_llama_tokenizer,
    write_json,
)

AROUND = "<fake_token_around_image>"


class Idefics3Images(Exact, Idefics3ImageProcessorPil):
    pass


class Idefics2Images(Exact, Idefics2ImageProcessorPil):
    pass


class Idefics(Reference):
    """What the families have in common."""

    image_token = "<image>"
    end_of_turn = "<end_of_utterance>"
    before_answer = " "
    # whatever ends a generation
    ending_tokens = ["<end_of_utterance>"]
    config_class: type
    model_class: type

    def text_config(self, tokenizer) -> dict:
        ids = tokenizer.convert_tokens_to_ids
        return dict(
            vocab_size=len(tokenizer),
            max_position_embeddings=4096,
            tie_word_embeddings=self.case["tie"],
            pad_token_id=ids(self.pad_token),
            eos_token_id=[ids(token) for token in self.ending_tokens],
            **self.case["text"],
        )

    def build_model(self, tokenizer):
        config = self.config_class(
            text_config=self.text_config(tokenizer),
            vision_config=self.case["vision"],
            image_token_id=tokenizer.convert_tokens_to_ids(self.image_token),
            tie_word_embeddings=self.case["tie"],
            **self.case.get("further", {}),
        )
        config._attn_implementation = "eager"
        return self.model_class(config)

    def features(self, model, prepared: Prepared) -> dict[str, torch.Tensor]:
        return {"vision_features": torch.cat(model.model.get_image_features(**prepared.inputs).pooler_output)}

    def template_samples(self) -> list[dict]:
        return part_samples()


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


class Idefics2(Idefics):
    template = "chat_template_idefics2.jinja"
    pad_token = "<unk>"
    special_tokens = ["<unk>", "<s>", "</s>", AROUND, "<image>", "<end_of_utterance>"]
    ending_tokens = ["</s>", "<end_of_utterance>"]
    config_class, model_class = Idefics2Config, Idefics2ForConditionalGeneration

    def write_tokenizer(self, folder: Path) -> None:
        """Its end-of-sequence token is not what ends a turn; generation_config.json names both."""
        write_llama_tokenizer(folder, self.special_tokens, "</s>")

    def write_processor(self, folder: Path) -> None:
        low, high = self.case["edges"]
        config = {
            "do_convert_rgb": True,
            "do_image_splitting": self.case["splits"],
            "do_normalize": True,
            "do_pad": True,
            "do_rescale": True,
            "do_resize": True,
            "image_mean": [0.5, 0.5, 0.5],
            "image_std": [0.5, 0.5, 0.5],
            "image_processor_type": "Idefics2ImageProcessor",
            "processor_class": "Idefics2Processor",
            "resample": 2,
            "rescale_factor": 0.00392156862745098,
            "size": {"longest_edge": high, "shortest_edge": low},
        }
        write_json(folder / "preprocessor_config.json", config)

    def prepare(self, model_dir: Path, images: list[Image.Image]) -> Prepared:
        processor = Idefics2Images.from_pretrained(model_dir)
        found = processor(images=[images], return_tensors="pt")
        patch = self.case["vision"]["patch_size"]
        pictures, sizes = [], []
        for picture, mask in zip(found["pixel_values"][0], found["pixel_attention_mask"][0]):
            height, width = int(mask[:, 0].sum()), int(mask[0].sum())
            pictures.append(cut_patches(picture[:, :height, :width], patch))
            sizes.append([height // patch, width // patch])
        each = len(pictures) // len(images)
        geometry = []
        for first in range(0, len(pictures), each):
            own = sizes[first : first + each]
            largest = [max(size[axis] for size in own) for axis in range(2)]
            differ = any(size != largest for size in own)
            geometry.append({"grid": [each, *largest], **({"pictures": own} if differ else {})})
        return Prepared(
            inputs={key: found[key] for key in ("pixel_values", "pixel_attention_mask")},
            geometry=geometry,
            patches=torch.cat(pictures),
            extra={"processor": processor, "images": images},
        )

    def expand(self, prompt_text: str, prepared: Prepared) -> str:
        latents = self.case["further"]["perceiver_config"]["resampler_n_latents"]
        processor = Idefics2Processor(prepared.extra["processor"], self.tokenizer, image_seq_len=latents)
        texts = []

        def keep(text, **_):
            texts.extend(text)
            return {}

        processor.tokenizer, processor._check_special_mm_tokens = keep, lambda *_, **__: None
        keep.init_kwargs = {}
        processor(text=[prompt_text])
        return texts[0]


TEXT_ONLY = rf".*text_model.*\.({'|'.join(TEXT_LINEARS)})"

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
    "idefics2-a": Idefics2(
        seed=7,
        dtype=torch.float32,
        tie=False,
        text=dict(
            model_type="mistral",
            hidden_size=40,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            rms_norm_eps=1e-5,
            sliding_window=4096,
            rope_parameters=dict(rope_type="default", rope_theta=10000.0),
        ),
        vision=dict(
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=2,
            num_attention_heads=3,
            patch_size=8,
            image_size=56,
        ),
        further=dict(
            perceiver_config=dict(
                hidden_size=40,
                rms_norm_eps=1e-6,
                resampler_n_latents=5,
                resampler_depth=2,
                resampler_n_heads=4,
                resampler_head_dim=8,
                num_key_value_heads=2,
            )
        ),
        splits=False,
        edges=(30, 70),
        # as it is, to be shrunk, to be enlarged in one direction
        images=[(40, 64), (140, 90), (20, 50)],
        lora=dict(r=4, lora_alpha=8, target_modules=TEXT_ONLY),
    ),
    "idefics2-b": Idefics2(
        seed=6,
        dtype=torch.bfloat16,
        tie=True,
        text=dict(
            model_type="mistral",
            hidden_size=40,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            rms_norm_eps=1e-6,
            sliding_window=None,
            rope_parameters=dict(rope_type="default", rope_theta=100000.0),
        ),
        vision=dict(
            hidden_size=32,
            intermediate_size=56,
            num_hidden_layers=2,
            num_attention_heads=2,
            patch_size=7,
            image_size=63,
        ),
        further=dict(
            perceiver_config=dict(
                hidden_size=40,
                rms_norm_eps=1e-5,
                resampler_n_latents=3,
                resampler_depth=1,
                resampler_n_heads=3,
                resampler_head_dim=12,
                num_key_value_heads=1,
            )
        ),
        splits=True,
        edges=(21, 49),
        images=[(45, 61), (90, 50)],
        lora=dict(
            r=3,
            lora_alpha=5,
            target_modules=["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj", "out_proj", "fc1", "fc2"],
        ),
    ),
}


if __name__ == "__main__":
    main(CASES)
