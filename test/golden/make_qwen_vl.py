"""Writes the fixtures of the Qwen-VL families that the TypeScript implementation is compared with.

Requirements (reference only, the product itself needs no Python):
    pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 tokenizers==0.23.3 safetensors==0.8.0 pillow==13.0.0
Run from anywhere:
    python test/golden/make_qwen_vl.py [name ...]

For each of the named cases (all of them without a name) it writes into `fixtures/<name>`
    model/                 an ordinary Hugging Face folder with small random weights
    adapter/               a PEFT folder, LoRA B not zero
    images/*.png           inputs
    expected.json          conversation, prompt text, token ids, log-probabilities, greedy tokens, ...
    expected.safetensors   pixel patches, positions, vision features, hidden states (fp32)
    gradients.safetensors  d loss / d weight for all weights, under the names of the checkpoint (fp32)
    lora_gradients.safetensors  d loss / d A, d B with the adapter on, under the names of the adapter file (fp32)

The loss is the mean over the tokens of the response (end-of-turn token included) of -log p(token).

    a: fp32, one file, untied embeddings, 4 query heads on 2 key/value heads, adapter on the text model
    b: bf16, sharded, tied embeddings, 3 query heads on one key/value head, adapter on both models
    Qwen3-VL a: patches of 8; b: patches of 14, head_dim != hidden/heads, 3 deepstack layers
    Qwen2-VL a: patches of 14; b: patches of 8
    Qwen2.5-VL a: patches of 14, windows that do not divide the images; b: patches of 8, one full layer in the middle
"""

import json
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.utils import get_peft_model_state_dict
from PIL import Image
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    AutoTokenizer,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil, smart_resize
from transformers.vision_utils import get_vision_interpolation_indices_and_weights, get_vision_position_ids

HERE = Path(__file__).resolve().parent
FIXTURES = HERE / "fixtures"
GREEDY_TOKENS = 32

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CORPUS = [
    "You operate a phone. Turn on Wi-Fi, open the settings and tap the toggle of the row. The screen is shown.",
    '{"action":"click","x":83,"y":41} {"action":"type","text":"hello"} {"action":"scroll","direction":"down"}',
    "the screen the settings the action the phone the text system user assistant tool",
]

FAMILIES = {
    "qwen2-vl": (Qwen2VLConfig, Qwen2VLForConditionalGeneration),
    "qwen2-5-vl": (Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration),
    "qwen3-vl": (Qwen3VLConfig, Qwen3VLForConditionalGeneration),
}

TEXT_LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]

# Qwen2-VL and Qwen2.5-VL differ in the vision tower alone.
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
    # height, width: exact multiple of the factor, to be rounded, to be shrunk
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
    # to be enlarged, exact multiple of the factor
    images=[(20, 31), (112, 80)],
)

CASES = {
    "qwen2-vl-a": dict(
        QWEN2_A,
        family="qwen2-vl",
        seed=3,
        vision=dict(depth=3, embed_dim=32, hidden_size=48, num_heads=2, mlp_ratio=2, patch_size=14),
    ),
    "qwen2-vl-b": dict(
        QWEN2_B,
        family="qwen2-vl",
        seed=5,
        vision=dict(depth=2, embed_dim=24, hidden_size=72, num_heads=3, mlp_ratio=3, patch_size=8),
        lora=dict(r=3, lora_alpha=5, target_modules=["q_proj", "v_proj", "down_proj", "qkv", "attn.proj", "fc1", "fc2"]),
    ),
    "qwen2-5-vl-a": dict(
        QWEN2_A,
        family="qwen2-5-vl",
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
    "qwen2-5-vl-b": dict(
        QWEN2_B,
        family="qwen2-5-vl",
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
    "qwen3-vl-a": dict(
        family="qwen3-vl",
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
        # height, width: exact multiple of the factor, to be rounded, to be shrunk
        images=[(48, 64), (37, 50), (120, 90)],
        lora=dict(
            r=4,
            lora_alpha=8,
            target_modules=TEXT_LINEARS,
        ),
    ),
    "qwen3-vl-b": dict(
        family="qwen3-vl",
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
        # to be enlarged, exact multiple of the factor
        images=[(20, 31), (84, 56)],
        lora=dict(
            r=3,
            lora_alpha=5,
            target_modules=["q_proj", "v_proj", "down_proj", "qkv", "attn.proj", "linear_fc1", "linear_fc2"],
        ),
    ),
}


# ---------------------------------------------------------------------------------------------- tokenizer


def write_tokenizer(folder: Path) -> None:
    tokenizer = Tokenizer(models.BPE(unk_token=None, byte_fallback=False, fuse_unk=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_SPLIT), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300 - len(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": 4096,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
        "added_tokens_decoder": {
            str(tokenizer.token_to_id(token)): {
                "content": token,
                "lstrip": False,
                "normalized": False,
                "rstrip": False,
                "single_word": False,
                "special": True,
            }
            for token in SPECIAL
        },
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


# ---------------------------------------------------------------------------------------------- model


def build_model(case: dict, tokenizer):
    ids = tokenizer.convert_tokens_to_ids
    config_class, model_class = FAMILIES[case["family"]]
    widths = {"out_hidden_size": case["text"]["hidden_size"]} if case["family"].startswith("qwen3-vl") else {}
    config = config_class(
        text_config=dict(
            vocab_size=len(tokenizer),
            max_position_embeddings=4096,
            rms_norm_eps=1e-6,
            tie_word_embeddings=case["tie"],
            bos_token_id=ids("<|endoftext|>"),
            eos_token_id=ids("<|im_end|>"),
            **case["text"],
        ),
        vision_config={**widths, **case["vision"]},
        image_token_id=ids("<|image_pad|>"),
        video_token_id=ids("<|video_pad|>"),
        vision_start_token_id=ids("<|vision_start|>"),
        vision_end_token_id=ids("<|vision_end|>"),
        tie_word_embeddings=case["tie"],
        eos_token_id=ids("<|im_end|>"),
        pad_token_id=ids("<|endoftext|>"),
    )
    config._attn_implementation = "eager"
    model = finished(model_class(config).eval(), case)
    randomize(model, case["seed"])
    if case["dtype"] != torch.float32:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.to(case["dtype"]).float())
    model.tie_weights()
    return model


def finished(model, case: dict):
    """A model, made or read, as the case needs it."""
    if "finish" in case:
        case["finish"](model)
    return model


def randomize(model, seed: int) -> None:
    """Weights of a size at which every part of the network matters: library defaults give nearly constant logits."""
    generator = torch.Generator().manual_seed(seed)

    def normal(parameter):
        return torch.randn(parameter.shape, generator=generator)

    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if "norm" in name and name.endswith("weight"):
                parameter.copy_(1 + 0.1 * normal(parameter))
            elif name.endswith("bias"):
                parameter.copy_(0.1 * normal(parameter))
            elif "embed_tokens" in name or "pos_embed" in name:
                parameter.copy_(0.5 * normal(parameter))
            else:
                # Three axes are a stack of layers: each reads the last one.
                fan_in = parameter.shape[-1] if parameter.dim() == 3 else parameter[0].numel()
                parameter.copy_(normal(parameter) * (1.5 / math.sqrt(fan_in)))
        # A placeholder has a logit of 0, so that it is never the likeliest token.
        for token in (model.config.image_token_id, model.config.video_token_id):
            model.lm_head.weight[token] = 0


def save_model(model, folder: Path, case: dict) -> None:
    saved = model if case["dtype"] == torch.float32 else type(model)(model.config).to(case["dtype"])
    if saved is not model:
        saved.load_state_dict({key: value.to(case["dtype"]) for key, value in model.state_dict().items()})
        saved.tie_weights()
    saved.config.dtype = case["dtype"]
    sharded = case["dtype"] != torch.float32
    saved.save_pretrained(folder, max_shard_size="160KB" if sharded else "50MB")
    model.config.dtype = torch.float32


# ---------------------------------------------------------------------------------------------- images


def write_preprocessor(folder: Path, case: dict) -> None:
    mean, std = case["mean_std"]
    low, high = case["pixels"]
    config = {
        "size": {"shortest_edge": low, "longest_edge": high},
        "patch_size": case["vision"]["patch_size"],
        "temporal_patch_size": 2,
        "merge_size": 2,
        "image_mean": mean,
        "image_std": std,
        "processor_class": "Qwen3VLProcessor" if case["family"].startswith("qwen3-vl") else "Qwen2VLProcessor",
        "image_processor_type": "Qwen2VLImageProcessorFast",
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(config, indent=2) + "\n")


def draw(height: int, width: int, seed: int) -> np.ndarray:
    """Smooth gradients, hard edges and a little noise, so that a wrong channel, axis or filter shows."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    image = np.stack([x * 255 / width, y * 255 / height, (x + y) * 255 / (height + width)], axis=-1)
    image[height // 3 : height // 2, width // 4 : width // 2] = [250, 20, 90]
    image[height // 2 :, 2 * width // 3 :, 1] = 10
    return np.clip(image + rng.normal(0, 6, image.shape), 0, 255).astype(np.uint8)


def patches_of(processor, image: Image.Image) -> tuple[torch.Tensor, list[int]]:
    """The fast processor's steps: resized in 8 bits, rescale and normalize fused in fp32.

    The fast processor itself needs torchvision. What it calls for resizing is within one level of Pillow's bicubic filter
    along the rows, then along the columns (Pillow 13 takes the other order for some sizes, hence two calls).
    """
    grid = processor(images=[image], return_tensors="pt")["image_grid_thw"][0].tolist()
    factor = processor.patch_size * processor.merge_size
    height, width = smart_resize(
        image.height, image.width, factor, processor.size["shortest_edge"], processor.size["longest_edge"]
    )
    bicubic = Image.Resampling.BICUBIC
    resized = image.resize((width, image.height), bicubic).resize((width, height), bicubic)
    pixels = torch.from_numpy(np.array(resized)).permute(2, 0, 1)
    original = torch.from_numpy(np.array(image)).permute(2, 0, 1)
    by_torch = torch.nn.functional.interpolate(original[None], (height, width), mode="bicubic", antialias=True)[0]
    assert (pixels.int() - by_torch.int()).abs().max() <= 1
    scale = 1.0 / processor.rescale_factor
    mean = (torch.tensor(processor.image_mean) * scale)[:, None, None]
    std = (torch.tensor(processor.image_std) * scale)[:, None, None]
    normalized = (pixels.float() - mean) / std
    flat, grid_h, grid_w = processor.patchify(
        normalized.numpy(), processor.patch_size, processor.merge_size, processor.temporal_patch_size
    )
    assert grid == [1, grid_h, grid_w]
    return torch.from_numpy(flat.copy()), grid


# ---------------------------------------------------------------------------------------------- conversation


def conversation(number_of_images: int) -> tuple[list, str]:
    """Messages of two turns, the images after the first one in the second turn, and the response."""

    def text(content: str) -> dict:
        return {"type": "text", "text": content}

    last = [{"type": "image"} for _ in range(number_of_images - 1)]
    messages = [
        {"role": "system", "content": [text("You operate a phone.")]},
        {"role": "user", "content": [{"type": "image"}, text("Turn on Wi-Fi.")]},
        {"role": "assistant", "content": [text('{"action":"click","x":83,"y":41}')]},
        {"role": "user", "content": [text("Turn on Wi-Fi.\nNow: "), *last, text(" Äß 漢字 🙂")]},
    ]
    return messages, '{"action":"scroll","direction":"down"}'


TOKENIZER_SAMPLES = [
    "",
    "hello",
    " hello  world\n\n  x",
    "The toggle's row: 83,41",
    "Äßé e\u0301 漢字 🙂👩‍👩‍👧",
    "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>text<|im_end|>",
    '{"action":"click","x":83,"y":41}',
    "tab\tand\r\nnewline \u00a0nbsp",
]


def template_samples() -> list[dict]:
    """Arguments of apply_chat_template; the rendered text is added by the caller."""
    tools = [
        {
            "type": "function",
            "function": {
                "name": "tap",
                "description": "Tap <here> & 'there' – é",
                "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            },
        }
    ]
    called = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Tap it."},
        {
            "role": "assistant",
            "content": "Going.",
            "tool_calls": [{"type": "function", "function": {"name": "tap", "arguments": {"x": 3, "note": "é <b>"}}}],
        },
        {"role": "tool", "content": [{"type": "text", "text": "done"}, {"type": "image"}]},
        {"role": "tool", "content": "again"},
        {"role": "user", "content": [{"type": "text", "text": "Thanks"}]},
    ]
    return [
        dict(messages=[{"role": "user", "content": "hi"}], tools=None, add_generation_prompt=True),
        dict(messages=[{"role": "user", "content": "hi"}], tools=None, add_generation_prompt=False),
        dict(messages=called, tools=tools, add_generation_prompt=True),
        dict(messages=called[1:], tools=tools, add_generation_prompt=False),
    ]


# ---------------------------------------------------------------------------------------------- reference values


def forward(model, ids: torch.Tensor, pixels: torch.Tensor, grids: torch.Tensor, image_token: int, **extra):
    return model(
        input_ids=ids[None],
        attention_mask=torch.ones_like(ids)[None],
        pixel_values=pixels,
        image_grid_thw=grids,
        mm_token_type_ids=(ids == image_token).int()[None],
        use_cache=False,
        **extra,
    )


def token_logprobs(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """log p(ids[i+1] | ids[..i]), [T-1]."""
    return torch.log_softmax(logits[0, :-1].float(), dim=-1).gather(-1, ids[1:, None])[:, 0]


def greedy(model, prompt: torch.Tensor, pixels, grids, image_token: int) -> tuple[list[int], float]:
    """Greedy tokens without a cache, past the end-of-turn token too, and the smallest gap between first and second."""
    ids, gap = prompt, math.inf
    for _ in range(GREEDY_TOKENS):
        with torch.no_grad():
            logits = forward(model, ids, pixels, grids, image_token).logits[0, -1]
        best = torch.topk(logits, 2)
        gap = min(gap, (best.values[0] - best.values[1]).item())
        ids = torch.cat([ids, best.indices[:1]])
    return ids[len(prompt) :].tolist(), gap


def response_loss(logits: torch.Tensor, ids: torch.Tensor, response: int) -> torch.Tensor:
    return -token_logprobs(logits, ids)[-response:].mean()


def write_case(name: str, case: dict) -> None:
    folder = FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    model_dir = folder / "model"
    model_dir.mkdir(parents=True)
    (folder / "images").mkdir()
    write_tokenizer(model_dir)
    template = (HERE / "chat_template.jinja").read_text()
    (model_dir / "chat_template.jinja").write_text(template)
    write_preprocessor(model_dir, case)
    tokenizer = AutoTokenizer.from_pretrained(model_dir)
    model = build_model(case, tokenizer)
    save_model(model, model_dir, case)
    image_token = model.config.image_token_id

    processor = Qwen2VLImageProcessorPil.from_pretrained(model_dir)
    images, patches, grids = [], [], []
    for index, (height, width) in enumerate(case["images"]):
        image = Image.fromarray(draw(height, width, case["seed"] + index))
        image.save(folder / "images" / f"{index}.png", optimize=True)
        flat, grid = patches_of(processor, image)
        images.append({"file": f"images/{index}.png", "height": height, "width": width, "grid": grid})
        patches.append(flat)
        grids.append(grid)
    pixels, grid_thw = torch.cat(patches), torch.tensor(grids)

    messages, response = conversation(len(images))
    prompt_text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    counts = iter([t * h * w // 4 for t, h, w in grids])
    parts = prompt_text.split("<|image_pad|>")
    expanded = parts[0] + "".join("<|image_pad|>" * next(counts) + part for part in parts[1:])
    prompt = torch.tensor(tokenizer(expanded, add_special_tokens=False).input_ids)
    response_ids = torch.tensor(tokenizer(response + "<|im_end|>", add_special_tokens=False).input_ids)
    ids = torch.cat([prompt, response_ids])
    assert (ids == image_token).sum() == sum(t * h * w // 4 for t, h, w in grids)

    tensors = {"pixel_values": pixels}
    position_ids, rope_delta = model.model.get_rope_index(
        ids[None], (ids == image_token).int()[None], image_grid_thw=grid_thw
    )
    tensors["position_ids"] = position_ids[:, 0].to(torch.int32)
    text_cos, text_sin = model.model.language_model.rotary_emb(torch.zeros(1), position_ids)
    tensors["text_cos"], tensors["text_sin"] = text_cos[0], text_sin[0]
    vision_positions = get_vision_position_ids(grid_thw, 2)
    tensors["vision_position_ids"] = vision_positions.to(torch.int32)
    tensors["vision_cos"], tensors["vision_sin"] = model.model.visual.rotary_pos_emb(torch.zeros(1), vision_positions)
    if case["family"].startswith("qwen3-vl"):
        side = int(case["vision"]["num_position_embeddings"] ** 0.5)
        indices, weights = get_vision_interpolation_indices_and_weights(
            grid_thw, side, mode="bilinear", align_corners=True, spatial_merge_size=2
        )
        tensors["interpolation_indices"], tensors["interpolation_weights"] = indices.to(torch.int32), weights

    with torch.no_grad():
        vision = model.model.visual(pixels, grid_thw=grid_thw)
        tensors["vision_features"] = vision.pooler_output
        for index, feature in enumerate(getattr(vision, "deepstack_features", [])):
            tensors[f"deepstack_features.{index}"] = feature
        output = forward(model, ids, pixels, grid_thw, image_token, output_hidden_states=True)
        tensors["logits_last"] = output.logits[0, -1]
        tensors["hidden_states.last_layer_in"] = output.hidden_states[-2][0]
        logprobs = token_logprobs(output.logits, ids)
        text_ids = torch.tensor(tokenizer("Turn on Wi-Fi.", add_special_tokens=False).input_ids)
        text_only = token_logprobs(model(input_ids=text_ids[None]).logits, text_ids)

    loss = response_loss(forward(model, ids, pixels, grid_thw, image_token).logits, ids, len(response_ids))
    loss.backward()
    gradients = {key: value.grad for key, value in model.named_parameters()}
    save_file({key: value.contiguous() for key, value in gradients.items()}, folder / "gradients.safetensors")
    model.zero_grad()
    greedy_ids, gap = greedy(model, prompt, pixels, grid_thw, image_token)
    assert gap > 2e-3, f"{name}: greedy tokens hang on a gap of {gap}; take another seed"

    lora_values = write_adapter(folder, case, model, (ids, pixels, grid_thw, image_token), prompt, len(response_ids))

    expected = {
        "images": images,
        "messages": messages,
        "response": response,
        "prompt_text": prompt_text,
        "prompt_ids": prompt.tolist(),
        "response_ids": response_ids.tolist(),
        "special_ids": {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL},
        "rope_delta": rope_delta.item(),
        "loss": loss.item(),
        "logprobs": logprobs.tolist(),
        "text_only": {"ids": text_ids.tolist(), "logprobs": text_only.tolist()},
        "greedy_ids": greedy_ids,
        "greedy_gap": gap,
        "lora": lora_values,
        "tokenizer": [
            {"text": text, "ids": tokenizer(text, add_special_tokens=False).input_ids} for text in TOKENIZER_SAMPLES
        ],
        "template": [
            {
                **sample,
                "text": tokenizer.apply_chat_template(
                    sample["messages"],
                    tools=sample["tools"],
                    add_generation_prompt=sample["add_generation_prompt"],
                    tokenize=False,
                ),
            }
            for sample in template_samples()
        ],
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
    save_file({key: value.contiguous() for key, value in tensors.items()}, folder / "expected.safetensors")


def write_adapter(folder: Path, case: dict, model, inputs, prompt, response: int) -> dict:
    ids, pixels, grids, image_token = inputs
    lora = get_peft_model(model, LoraConfig(lora_dropout=0.0, bias="none", task_type="CAUSAL_LM", **case["lora"]))
    generator = torch.Generator().manual_seed(case["seed"] + 100)
    with torch.no_grad():
        for key, parameter in sorted(lora.named_parameters()):
            if "lora_B" in key:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
            elif "lora_A" in key:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / math.sqrt(parameter.shape[1]))
    lora.save_pretrained(folder / "adapter")
    (folder / "adapter" / "README.md").unlink(missing_ok=True)
    config_file = folder / "adapter" / "adapter_config.json"
    config = json.loads(config_file.read_text())
    for key in ("target_modules", "target_parameters"):
        if config[key] is not None:
            config[key].sort()  # sets are saved in random order
    config_file.write_text(json.dumps(config, indent=2) + "\n")
    lora.eval()
    logits = forward(lora, ids, pixels, grids, image_token).logits
    loss = response_loss(logits, ids, response)
    loss.backward()
    gradients = {key: value.grad for key, value in lora.named_parameters() if value.grad is not None}
    assert all("lora_" in key for key in gradients)
    named = {key.replace(".default.weight", ".weight"): value.contiguous() for key, value in gradients.items()}
    assert set(named) == set(get_peft_model_state_dict(lora))
    save_file(named, folder / "lora_gradients.safetensors")
    greedy_ids, gap = greedy(lora, prompt, pixels, grids, image_token)
    assert gap > 2e-3, f"greedy tokens of the adapter hang on a gap of {gap}; take another seed"
    with torch.no_grad():
        save_file({"logits_last": logits[0, -1].clone()}, folder / "lora_logits.safetensors")
    return {
        "loss": loss.item(),
        "logprobs": token_logprobs(logits.detach(), ids).tolist(),
        "greedy_ids": greedy_ids,
        "greedy_gap": gap,
    }


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    for case_name in sys.argv[1:] or CASES:
        write_case(case_name, CASES[case_name])
        print(f"wrote {FIXTURES / case_name}")
