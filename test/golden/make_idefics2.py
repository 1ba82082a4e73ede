"""Writes the fixtures of Idefics2 for comparison with the TypeScript implementation.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_idefics2.py [name ...]

For each of the named cases (all of them without a name) it writes `fixtures/<name>`, see golden_cases.py.

    Idefics2 a: fp32, one file, untied, images not split, of several sizes, grouped heads in the resampler
    Idefics2 b: bf16, sharded, tied, images split, of odd sizes, adapter on all parts
"""

from pathlib import Path

import torch
from PIL import Image
from transformers import Idefics2Config, Idefics2ForConditionalGeneration
from transformers.models.idefics2.image_processing_pil_idefics2 import Idefics2ImageProcessorPil
from transformers.models.idefics2.processing_idefics2 import Idefics2Processor

from golden_cases import main
from golden_files import write_json
from golden_idefics import AROUND, TEXT_ONLY, Idefics
from golden_images import Exact, cut_patches
from golden_tokenizers import write_llama_tokenizer
from reference import Prepared


class Idefics2Images(Exact, Idefics2ImageProcessorPil):
    pass


class Idefics2(Idefics):
    template = "chat_template_idefics2.jinja"
    pad_token = "<unk>"
    special_tokens = ["<unk>", "<s>", "</s>", AROUND, "<image>", "<end_of_utterance>"]
    ending_tokens = ["</s>", "<end_of_utterance>"]
    config_class, model_class = Idefics2Config, Idefics2ForConditionalGeneration

    def write_tokenizer(self, folder: Path) -> None:
        """Its end-of-sequence token does not end a turn; generation_config.json names both."""
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


CASES = {
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
        # unchanged, downscaled, upscaled in one direction
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
