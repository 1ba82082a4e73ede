"""What the scripts that write fixtures share: tokenizer, weights, images, conversation, reference values, adapter.

A script describes its families as subclasses of `Reference` and its cases as instances of them; `write_case` writes

    model/                 an ordinary Hugging Face folder with small random weights
    adapter/               a PEFT folder, LoRA B not zero
    images/*.png           inputs
    expected.json          conversation, prompt text, token ids, log-probabilities, greedy tokens, ...
    expected.safetensors   pixel patches, vision features, what else the family adds (fp32)
    gradients.safetensors  d loss / d weight for all weights, under the names of the model's modules (fp32)
    lora_gradients.safetensors  d loss / d A, d B with the adapter on, under the names of the adapter file (fp32)

The loss is the mean over the tokens of the response (end-of-turn token included) of -log p(token).
"""

import json
import math
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import transformers.image_processing_backends as backends
from peft import LoraConfig, get_peft_model
from peft.utils import get_peft_model_state_dict
from PIL import Image
from safetensors.torch import save_file
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import AutoTokenizer

HERE = Path(__file__).resolve().parent
FIXTURES = HERE / "fixtures"
GREEDY_TOKENS = 32

TEXT_LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@dataclass
class Prepared:
    """Images as a model takes them."""

    # further arguments of the model's forward pass
    inputs: dict
    # of each image: grid, and where the family has them tiles, shown, pictures (see ImageGeometry in libs/models)
    geometry: list[dict]
    # [P, numbers of a patch] in the order of libs/models, picture after picture
    patches: torch.Tensor
    # whatever else the family needs to expand a prompt
    extra: dict = field(default_factory=dict)


class Reference:
    """A case of a family: how its model, files and inputs are made."""

    special_tokens: list[str]
    image_token: str
    end_of_turn: str
    pad_token: str
    template = "chat_template.jinja"
    # what the template writes between its generation prompt and an answer
    before_answer = ""

    def __init__(self, **case):
        self.case = case

    def open(self, model_dir: Path):
        """The folder's tokenizer; has to be called before anything is prepared."""
        self.tokenizer = AutoTokenizer.from_pretrained(model_dir)
        self.image_token_id = self.tokenizer.convert_tokens_to_ids(self.image_token)
        return self.tokenizer

    def build_model(self, tokenizer):
        """A model with whatever weights."""
        raise NotImplementedError

    def finish_model(self, model):
        """What is done to a model, made or read, before it is used."""
        return model

    def write_processor(self, folder: Path) -> None:
        """Everything about images."""
        raise NotImplementedError

    def prepare(self, model_dir: Path, images: list[Image.Image]) -> Prepared:
        raise NotImplementedError

    def expand(self, prompt_text: str, prepared: Prepared) -> str:
        """The template's text with as many image tokens as there are features."""
        raise NotImplementedError

    def model_inputs(self, ids: torch.Tensor, prepared: Prepared) -> dict:
        """Further arguments for this sequence."""
        return prepared.inputs

    def features(self, model, prepared: Prepared) -> dict[str, torch.Tensor]:
        """`vision_features` [F, hidden], and what else comes out of the tower."""
        raise NotImplementedError

    def further_tensors(self, model, ids: torch.Tensor, prepared: Prepared) -> dict[str, torch.Tensor]:
        return {}

    def further_values(self, model, ids: torch.Tensor, prepared: Prepared) -> dict:
        return {}

    def randomize(self, model) -> None:
        randomize(model, self.case["seed"])

    def save_model(self, model, folder: Path) -> None:
        save_model(model, folder, self.case)

    def pixel_tokens(self, model) -> list[int]:
        """Tokens that stand for pixels; they get a logit of 0, so that they are never the likeliest."""
        return [model.config.image_token_id]

    def write_tokenizer(self, folder: Path) -> None:
        write_byte_level_tokenizer(folder, self.special_tokens, self.end_of_turn, self.pad_token)

    def template_samples(self) -> list[dict]:
        return tool_samples()

    def special_sample(self) -> str:
        """A text with special tokens, for the tokenizer."""
        return f"{self.special_tokens[1]}user\n{self.image_token}text{self.end_of_turn}"


# ---------------------------------------------------------------------------------------------- tokenizer

SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CORPUS = [
    "You operate a phone. Turn on Wi-Fi, open the settings and tap the toggle of the row. The screen is shown.",
    '{"action":"click","x":83,"y":41} {"action":"type","text":"hello"} {"action":"scroll","direction":"down"}',
    "the screen the settings the action the phone the text system user assistant tool",
]
TOKENIZER_SAMPLES = [
    "",
    "hello",
    " hello  world\n\n  x",
    "The toggle's row: 83,41",
    "Äßé e\u0301 漢字 🙂👩‍👩‍👧",
    None,  # the family's text with special tokens
    '{"action":"click","x":83,"y":41}',
    "tab\tand\r\nnewline \u00a0nbsp",
]


def write_byte_level_tokenizer(folder: Path, special: list[str], end_of_turn: str, pad: str, size: int = 300) -> None:
    tokenizer = Tokenizer(models.BPE(unk_token=None, byte_fallback=False, fuse_unk=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": end_of_turn,
        "errors": "replace",
        "model_max_length": 4096,
        "pad_token": pad,
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
        "added_tokens_decoder": added_tokens(tokenizer, special),
    }
    write_json(folder / "tokenizer_config.json", config)


def added_tokens(tokenizer: Tokenizer, special: list[str]) -> dict:
    return {
        str(tokenizer.token_to_id(token)): {
            "content": token,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": True,
        }
        for token in special
    }


def write_llama_tokenizer(folder: Path, special: list[str], eos: str, further_words: int = 60) -> None:
    """As that of Llama and Mistral: spaces as ▁, bytes where a character is unknown, <s> before every text.

    `special` begins with <unk>, <s> and </s>.
    """
    metaspace = dict(replacement="▁", prepend_scheme="first")
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Metaspace(**metaspace, split=True)
    alphabet = len({character for text in CORPUS for character in text.replace(" ", "▁")})
    learner.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=alphabet + further_words, special_tokens=[], show_progress=False)
    )
    learnt = json.loads(learner.to_str())["model"]
    tokens = [*special[:3], *[f"<0x{byte:02X}>" for byte in range(256)]]
    tokens += sorted(learnt["vocab"], key=learnt["vocab"].get)
    vocabulary = {token: index for index, token in enumerate(tokens)}
    merges = [tuple(merge) for merge in learnt["merges"]]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token=special[0], byte_fallback=True, fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(**metaspace, split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    begin = tokenizer.token_to_id(special[1])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{special[1]} $A", pair=f"{special[1]} $A {special[1]} $B", special_tokens=[(special[1], begin)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "added_tokens_decoder": added_tokens(tokenizer, special),
        "bos_token": special[1],
        "clean_up_tokenization_spaces": False,
        "eos_token": eos,
        "model_max_length": 4096,
        "pad_token": special[0],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": special[0],
    }
    write_json(folder / "tokenizer_config.json", config)


def write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


# ---------------------------------------------------------------------------------------------- weights


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
            elif "embed_tokens" in name or "pos_embed" in name or "position_embedding" in name:
                parameter.copy_(0.5 * normal(parameter))
            else:
                # Three axes are a stack of layers: each reads the last one.
                fan_in = parameter.shape[-1] if parameter.dim() == 3 else parameter[0].numel()
                parameter.copy_(normal(parameter) * (1.5 / math.sqrt(fan_in)))


def random_model(reference: Reference, tokenizer):
    """The model with random weights that the case's type can hold."""
    case = reference.case
    model = reference.finish_model(reference.build_model(tokenizer).eval())
    reference.randomize(model)
    with torch.no_grad():
        for token in reference.pixel_tokens(model):
            model.lm_head.weight[token] = 0
        if case["dtype"] != torch.float32:
            for parameter in model.parameters():
                parameter.copy_(parameter.to(case["dtype"]).float())
    model.tie_weights()
    return model


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


def draw(height: int, width: int, seed: int) -> np.ndarray:
    """Smooth gradients, hard edges and a little noise, so that a wrong channel, axis or filter shows."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    image = np.stack([x * 255 / width, y * 255 / height, (x + y) * 255 / (height + width)], axis=-1)
    image[height // 3 : height // 2, width // 4 : width // 2] = [250, 20, 90]
    image[height // 2 :, 2 * width // 3 :, 1] = 10
    return np.clip(image + rng.normal(0, 6, image.shape), 0, 255).astype(np.uint8)


def resize(image: Image.Image, height: int, width: int, resample: int) -> Image.Image:
    """Along the rows, then along the columns: Pillow 13 takes the other order for some sizes, hence two calls."""
    return image.resize((width, image.height), resample).resize((width, height), resample)


def normalize(pixels: torch.Tensor, processor) -> torch.Tensor:
    """Levels [..., 3, H, W] rescaled and normalized in one step, in fp32, as the fast processors of transformers do."""
    scale = 1.0 / processor.rescale_factor
    mean = (torch.tensor(processor.image_mean) * scale)[:, None, None]
    std = (torch.tensor(processor.image_std) * scale)[:, None, None]
    return (pixels.float() - mean) / std


def resize_array(image: np.ndarray, size, resample, **_) -> np.ndarray:
    """What the processors call for resizing, for levels [3, H, W]."""
    resized = resize(Image.fromarray(image.transpose(1, 2, 0)), size[0], size[1], resample)
    return np.array(resized).transpose(2, 0, 1)


backends.np_resize = resize_array


class Exact:
    """Keeps an image processor from rescaling in fp64; `normalize` does both steps in one."""

    def rescale(self, image, scale, **_):
        return image

    def normalize(self, image, mean, std, **_):
        return normalize(torch.from_numpy(np.ascontiguousarray(image)), self).numpy()


def cut_patches(picture: torch.Tensor, size: int) -> torch.Tensor:
    """A picture [3, H, W] as patches [h·w, 3·size²] row after row; what is no whole patch is dropped."""
    rows, columns = picture.shape[1] // size, picture.shape[2] // size
    cut = picture[:, : rows * size, : columns * size].reshape(3, rows, size, columns, size)
    return cut.permute(1, 3, 0, 2, 4).reshape(rows * columns, 3 * size * size)


def read_images(folder: Path, expected: dict) -> list[Image.Image]:
    return [Image.open(folder / image["file"]) for image in expected["images"]]


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


def tool_samples() -> list[dict]:
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


def part_samples() -> list[dict]:
    """As `tool_samples`, for templates that know neither tools nor messages that are plain strings."""

    def message(role: str, *parts: str) -> dict:
        content = [{"type": "image"} if part == "image" else {"type": "text", "text": part} for part in parts]
        return {"role": role, "content": content}

    turns = [message("user", "Look: ", "image", "image", " <b>"), message("assistant", "Going."), message("user", "é")]
    return [
        dict(messages=[message("user", "hi")], tools=None, add_generation_prompt=True),
        dict(messages=[message("user", "image", "hi")], tools=None, add_generation_prompt=False),
        dict(messages=[message("system", "Be brief."), *turns], tools=None, add_generation_prompt=True),
    ]


# ---------------------------------------------------------------------------------------------- reference values


def forward(reference: Reference, model, ids: torch.Tensor, prepared: Prepared, **extra):
    return model(
        input_ids=ids[None],
        attention_mask=torch.ones_like(ids)[None],
        use_cache=False,
        **reference.model_inputs(ids, prepared),
        **extra,
    )


def token_logprobs(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """log p(ids[i+1] | ids[..i]), [T-1]."""
    return torch.log_softmax(logits[0, :-1].float(), dim=-1).gather(-1, ids[1:, None])[:, 0]


def greedy(reference: Reference, model, prompt: torch.Tensor, prepared: Prepared) -> tuple[list[int], float]:
    """Greedy tokens without a cache, past the end-of-turn token too, and the smallest gap between first and second."""
    ids, gap = prompt, math.inf
    for _ in range(GREEDY_TOKENS):
        with torch.no_grad():
            logits = forward(reference, model, ids, prepared).logits[0, -1]
        best = torch.topk(logits, 2)
        gap = min(gap, (best.values[0] - best.values[1]).item())
        ids = torch.cat([ids, best.indices[:1]])
    return ids[len(prompt) :].tolist(), gap


def response_loss(logits: torch.Tensor, ids: torch.Tensor, response: int) -> torch.Tensor:
    return -token_logprobs(logits, ids)[-response:].mean()


def contiguous(tensors: dict) -> dict:
    return {key: value.contiguous() for key, value in tensors.items()}


def write_images(folder: Path, case: dict) -> tuple[list[Image.Image], list[dict]]:
    images, described = [], []
    for index, (height, width) in enumerate(case["images"]):
        image = Image.fromarray(draw(height, width, case["seed"] + index))
        image.save(folder / "images" / f"{index}.png", optimize=True)
        images.append(image)
        described.append({"file": f"images/{index}.png", "height": height, "width": width})
    return images, described


def write_case(name: str, reference: Reference) -> None:
    case = reference.case
    folder = FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    model_dir = folder / "model"
    model_dir.mkdir(parents=True)
    (folder / "images").mkdir()
    reference.write_tokenizer(model_dir)
    (model_dir / "chat_template.jinja").write_text((HERE / reference.template).read_text())
    reference.write_processor(model_dir)
    tokenizer = reference.open(model_dir)
    model = random_model(reference, tokenizer)
    reference.save_model(model, model_dir)

    images, described = write_images(folder, case)
    prepared = reference.prepare(model_dir, images)
    described = [{**image, **geometry} for image, geometry in zip(described, prepared.geometry)]

    messages, response = conversation(len(images))
    prompt_text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    # What a tokenizer puts before every text stands before the prompt, and not before the response.
    prompt = torch.tensor(tokenizer(reference.expand(prompt_text, prepared)).input_ids)
    answer = reference.before_answer + response + reference.end_of_turn
    response_ids = torch.tensor(tokenizer(answer, add_special_tokens=False).input_ids)
    ids = torch.cat([prompt, response_ids])

    tensors = {"pixel_values": prepared.patches}
    tensors.update(reference.further_tensors(model, ids, prepared))
    with torch.no_grad():
        features = reference.features(model, prepared)
        tensors.update(features)
        assert (ids == reference.image_token_id).sum() == len(features["vision_features"])
        output = forward(reference, model, ids, prepared, output_hidden_states=True)
        tensors["logits_last"] = output.logits[0, -1]
        tensors["hidden_states.last_layer_in"] = output.hidden_states[-2][0]
        logprobs = token_logprobs(output.logits, ids)
        text_ids = torch.tensor(tokenizer("Turn on Wi-Fi.", add_special_tokens=False).input_ids)
        text_only = token_logprobs(model(input_ids=text_ids[None]).logits, text_ids)

    loss = response_loss(forward(reference, model, ids, prepared).logits, ids, len(response_ids))
    loss.backward()
    gradients = {key: value.grad for key, value in model.named_parameters() if value.grad is not None}
    save_file(contiguous(gradients), folder / "gradients.safetensors")
    model.zero_grad()
    greedy_ids, gap = greedy(reference, model, prompt, prepared)
    assert gap > 2e-3, f"{name}: greedy tokens hang on a gap of {gap}; take another seed"
    further = reference.further_values(model, ids, prepared)

    lora_values = write_adapter(folder, reference, model, ids, prepared, prompt)

    expected = {
        "images": described,
        "messages": messages,
        "response": response,
        "prompt_text": prompt_text,
        "prompt_ids": prompt.tolist(),
        "response_ids": response_ids.tolist(),
        "special_ids": {token: tokenizer.convert_tokens_to_ids(token) for token in reference.special_tokens},
        **further,
        "loss": loss.item(),
        "logprobs": logprobs.tolist(),
        "text_only": {"ids": text_ids.tolist(), "logprobs": text_only.tolist()},
        "greedy_ids": greedy_ids,
        "greedy_gap": gap,
        "lora": lora_values,
        "tokenizer": [
            {"text": text, "ids": tokenizer(text, add_special_tokens=False).input_ids}
            for text in (reference.special_sample() if sample is None else sample for sample in TOKENIZER_SAMPLES)
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
            for sample in reference.template_samples()
        ],
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
    save_file(contiguous(tensors), folder / "expected.safetensors")


def write_adapter(folder: Path, reference: Reference, model, ids, prepared: Prepared, prompt: torch.Tensor) -> dict:
    case = reference.case
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
        if isinstance(config[key], list):
            config[key].sort()  # a set, saved in random order
    write_json(config_file, config)
    lora.eval()
    logits = forward(reference, lora, ids, prepared).logits
    loss = response_loss(logits, ids, len(ids) - len(prompt))
    loss.backward()
    gradients = {key: value.grad for key, value in lora.named_parameters() if value.grad is not None}
    assert all("lora_" in key for key in gradients)
    named = {key.replace(".default.weight", ".weight"): value for key, value in gradients.items()}
    assert set(named) == set(get_peft_model_state_dict(lora))
    save_file(contiguous(named), folder / "lora_gradients.safetensors")
    greedy_ids, gap = greedy(reference, lora, prompt, prepared)
    assert gap > 2e-3, f"greedy tokens of the adapter hang on a gap of {gap}; take another seed"
    with torch.no_grad():
        save_file({"logits_last": logits[0, -1].clone()}, folder / "lora_logits.safetensors")
    return {
        "loss": loss.item(),
        "logprobs": token_logprobs(logits.detach(), ids).tolist(),
        "greedy_ids": greedy_ids,
        "greedy_gap": gap,
    }


def main(cases: dict[str, Reference]) -> None:
    """Writes the cases named on the command line, all of them without a name."""
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    for name in sys.argv[1:] or cases:
        write_case(name, cases[name])
        print(f"wrote {FIXTURES / name}")
