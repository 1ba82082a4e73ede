"""Writes the fixtures of Gemma 3 for comparison with the TypeScript implementation; see golden_cases.py.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.15.0 transformers==5.24.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_gemma3.py [name ...]

    a: fp32, one file, tied; a window of 12 tokens, shorter than the prompt and than an image; 16 tokens per image; three images
    b: bf16, sharded, tied, one key/value head; scaled positions in the global layers, no window shorter than the prompt;
        pictures of 2 tokens per edge; adapter on all parts
"""

import json
from pathlib import Path

import torch
from PIL import Image
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import Gemma3Config, Gemma3ForConditionalGeneration
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.gemma3.processing_gemma3 import Gemma3Processor

from golden_cases import main
from golden_conversations import part_samples
from golden_files import write_json
from golden_images import Exact, cut_patches
from golden_tokenizers import CORPUS, added_tokens
from reference import TEXT_LINEARS, Prepared, Reference

BEGIN, SOFT, END = "<start_of_image>", "<image_soft_token>", "<end_of_image>"


class Gemma3Images(Exact, Gemma3ImageProcessorPil):
    pass


def write_gemma_tokenizer(folder: Path, special: list[str], further_words: int = 60) -> None:
    """As that of Gemma: spaces as ▁ and none added, bytes where a character is unknown, <bos> before every text.

    `special` begins with <pad>, <eos>, <bos> and <unk>.
    """
    learner = Tokenizer(models.BPE())
    learner.normalizer = normalizers.Replace(" ", "▁")
    learner.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="never", split=True)
    alphabet = len({character for text in CORPUS for character in text.replace(" ", "▁")})
    learner.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=alphabet + further_words, special_tokens=[], show_progress=False)
    )
    learnt = json.loads(learner.to_str())["model"]
    tokens = [*special[:4], *[f"<0x{byte:02X}>" for byte in range(256)]]
    tokens += sorted(learnt["vocab"], key=learnt["vocab"].get)
    vocabulary = {token: index for index, token in enumerate(tokens)}
    merges = [tuple(merge) for merge in learnt["merges"]]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token=special[3], byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous", invert=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    begin = tokenizer.token_to_id(special[2])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{special[2]} $A", pair=f"{special[2]} $A {special[2]} $B", special_tokens=[(special[2], begin)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "add_bos_token": True,
        "added_tokens_decoder": added_tokens(tokenizer, special),
        "bos_token": special[2],
        "clean_up_tokenization_spaces": False,
        "eos_token": special[1],
        "model_max_length": 4096,
        "pad_token": special[0],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": special[3],
    }
    write_json(folder / "tokenizer_config.json", config)


class Gemma3(Reference):
    image_token = SOFT
    pad_token = "<pad>"
    end_of_turn = "<end_of_turn>"
    special_tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", BEGIN, END, SOFT]
    template = "chat_template_gemma3.jinja"

    def build_model(self, tokenizer):
        ids = tokenizer.convert_tokens_to_ids
        config = Gemma3Config(
            text_config=dict(
                vocab_size=len(tokenizer),
                max_position_embeddings=4096,
                pad_token_id=ids(self.pad_token),
                eos_token_id=[ids("<eos>"), ids(self.end_of_turn)],
                bos_token_id=ids("<bos>"),
                **self.case["text"],
            ),
            vision_config=dict(model_type="siglip_vision_model", vision_use_head=False, **self.case["vision"]),
            mm_tokens_per_image=self.case["tokens"],
            image_token_index=ids(SOFT),
            boi_token_index=ids(BEGIN),
            eoi_token_index=ids(END),
            eos_token_id=[ids("<eos>"), ids(self.end_of_turn)],
        )
        config._attn_implementation = "eager"
        return Gemma3ForConditionalGeneration(config)

    def randomize(self, model) -> None:
        """Like the other families, but the norms' weights are offsets from 1."""
        super().randomize(model)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                offset = "norm" in name and not ("vision_tower" in name)
                if offset:
                    parameter.sub_(1)

    def write_tokenizer(self, folder: Path) -> None:
        write_gemma_tokenizer(folder, self.special_tokens)

    def write_processor(self, folder: Path) -> None:
        edge = self.case["vision"]["image_size"]
        config = {
            "do_convert_rgb": None,
            "do_normalize": True,
            "do_pan_and_scan": None,
            "do_rescale": True,
            "do_resize": True,
            "image_mean": [0.5, 0.5, 0.5],
            "image_processor_type": "Gemma3ImageProcessor",
            "image_seq_length": self.case["tokens"],
            "image_std": [0.5, 0.5, 0.5],
            "pan_and_scan_max_num_crops": None,
            "pan_and_scan_min_crop_size": None,
            "pan_and_scan_min_ratio_to_activate": None,
            "processor_class": "Gemma3Processor",
            "resample": 2,
            "rescale_factor": 0.00392156862745098,
            "size": {"height": edge, "width": edge},
        }
        write_json(folder / "preprocessor_config.json", config)

    def prepare(self, model_dir: Path, images: list[Image.Image]) -> Prepared:
        processor = Gemma3Images.from_pretrained(model_dir)
        found = processor(images=images, return_tensors="pt", **Gemma3Processor.images_kwargs)
        patch = self.case["vision"]["patch_size"]
        side = self.case["vision"]["image_size"] // patch
        return Prepared(
            inputs={"pixel_values": found["pixel_values"]},
            geometry=[{"grid": [1, side, side]} for _ in images],
            patches=torch.cat([cut_patches(picture, patch) for picture in found["pixel_values"]]),
            extra={"found": found},
        )

    def expand(self, prompt_text: str, prepared: Prepared) -> str:
        """Without the template's <bos>, which the tokenizer adds."""
        processor = Gemma3Processor.__new__(Gemma3Processor)
        processor.full_image_sequence = f"\n\n{BEGIN}{SOFT * self.case['tokens']}{END}\n\n"
        first, *rest = prompt_text.removeprefix("<bos>").split(BEGIN)
        found = prepared.extra["found"]
        expanded = [processor.replace_image_token(found, index) for index in range(len(rest))]
        return first + "".join(image + part for image, part in zip(expanded, rest, strict=True))

    def model_inputs(self, ids: torch.Tensor, prepared: Prepared) -> dict:
        return {**prepared.inputs, "token_type_ids": (ids == self.image_token_id).long()[None]}

    def features(self, model, prepared: Prepared) -> dict[str, torch.Tensor]:
        return {"vision_features": model.model.get_image_features(**prepared.inputs).pooler_output.flatten(0, 1)}

    def template_samples(self) -> list[dict]:
        return part_samples()


CASES = {
    "gemma3-a": Gemma3(
        seed=3,
        dtype=torch.float32,
        tie=True,
        text=dict(
            hidden_size=24,
            intermediate_size=36,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            query_pre_attn_scalar=6,
            sliding_window=12,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        ),
        vision=dict(
            hidden_size=18,
            intermediate_size=24,
            num_hidden_layers=2,
            num_attention_heads=3,
            patch_size=3,
            image_size=24,
        ),
        tokens=16,
        # height, width: shrunk, stretched, of the tower's size
        images=[(30, 70), (11, 12), (24, 24)],
        lora=dict(r=4, lora_alpha=8, target_modules=rf".*language_model.*\.({'|'.join(TEXT_LINEARS)})"),
    ),
    "gemma3-b": Gemma3(
        seed=12,
        dtype=torch.bfloat16,
        tie=True,
        text=dict(
            hidden_size=24,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=3,
            num_key_value_heads=1,
            head_dim=8,
            query_pre_attn_scalar=8,
            sliding_window=512,
            sliding_window_pattern=2,
            rope_theta=1000000.0,
            rope_local_base_freq=5000.0,
            rope_scaling=dict(rope_type="linear", factor=8.0),
        ),
        vision=dict(
            hidden_size=20,
            intermediate_size=28,
            num_hidden_layers=2,
            num_attention_heads=2,
            patch_size=4,
            image_size=24,
        ),
        tokens=4,
        images=[(40, 40), (60, 91)],
        lora=dict(r=3, lora_alpha=5, target_modules=["q_proj", "v_proj", "down_proj", "out_proj", "fc1", "fc2"]),
    ),
}


if __name__ == "__main__":
    main(CASES)
