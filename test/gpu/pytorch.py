"""PyTorch's figures for the loads of measure.ts: the same shapes and batches in transformers and PEFT, eager, with SDPA.

    python3 test/gpu/pytorch.py OUT --models FOLDER

Requirements: torch, transformers 5, peft. Needs no network and no checkpoint: FOLDER/{small,256M,2B}/config.json give the
shapes, and the weights are random numbers made on the device. As in measure.ts, images are encoded once and prompts are
read in each round; the adapter is not merged, except in figures that say so. PEFT keeps adapters in float32.

Appends each figure to OUT/pytorch.jsonl as soon as it is known: a line as in lines.ts, of variant "torch bf16" or
"torch fp32" (TF32 off). Device memory is that of PyTorch's allocator, without the CUDA context.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import peft
import torch
import transformers
from transformers import AutoConfig, AutoModelForImageTextToText

DTYPES = {"torch bf16": torch.bfloat16, "torch fp32": torch.float32}
REPEATS = 3
RANK = 16
WARM_UP_TOKENS = 4


@dataclass(frozen=True)
class Load:
    """One load of measure.ts; `grid` is what its image processor makes of the screen: frames or tiles, rows, columns."""

    grid: tuple[int, int, int]
    sequences: int
    words: int
    trained: int
    rows: tuple[int, ...]
    new_tokens: int


LOADS = {
    "small": Load((1, 14, 10), sequences=128, words=50, trained=16, rows=(1, 8, 64), new_tokens=64),
    "256M": Load((13, 32, 32), sequences=4, words=100, trained=40, rows=(1, 8), new_tokens=64),
    "2B": Load((1, 50, 72), sequences=2, words=100, trained=40, rows=(1, 4), new_tokens=32),
}


def quick_load(load: Load) -> Load:
    frames, rows, columns = load.grid
    # A tile has a fixed size.
    grid = (1, rows, columns) if frames > 1 else (1, 8, 8)
    return replace(load, grid=grid, sequences=2, words=10, trained=4, rows=(1, 2), new_tokens=WARM_UP_TOKENS)


def quick_config(config):
    """Two layers of the text model and of the vision tower."""
    config.get_text_config().num_hidden_layers = 2
    vision = config.vision_config
    setattr(vision, "depth" if hasattr(vision, "depth") else "num_hidden_layers", 2)
    if getattr(config.get_text_config(), "layer_types", None):
        config.get_text_config().layer_types = config.get_text_config().layer_types[:2]
    return config


class Results:
    """Appends lines to OUT/pytorch.jsonl and prints them."""

    def __init__(self, out: Path):
        out.mkdir(parents=True, exist_ok=True)
        self.file = out / "pytorch.jsonl"

    def add(self, **line) -> None:
        text = json.dumps(line, ensure_ascii=False)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
        print(text, flush=True)


@dataclass(frozen=True)
class Run:
    device: torch.device
    quick: bool
    deadline: float
    results: Results

    def synchronize(self) -> float:
        """Waits for the device. Returns the time in seconds."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def repeated(self, measure: Callable[[], dict]) -> dict:
        """Median of each value of the repeated measurements."""
        found = [measure() for _ in range(1 if self.quick else REPEATS)]
        return {name: statistics.median(each[name] for each in found) for name in found[0]}

    def check_time(self) -> None:
        if time.perf_counter() > self.deadline:
            raise TimeoutError("the time of the whole run was over")


class Batch:
    """The sequences of measure.ts: a screen, then words, the last of which are trained."""

    def __init__(self, config, load: Load, device: torch.device, dtype: torch.dtype):
        self.config, self.load, self.device, self.dtype = config, load, device, dtype
        self.is_qwen = hasattr(config.vision_config, "temporal_patch_size")
        vision = config.vision_config
        merge = vision.spatial_merge_size if self.is_qwen else config.scale_factor
        frames, rows, columns = load.grid
        self.image_tokens = frames * rows * columns // merge**2
        self.length = 1 + self.image_tokens + load.words
        self.prompt_tokens = self.length - load.trained

    def token_ids(self, number: int) -> list[int]:
        most = min(150, self.config.get_text_config().vocab_size - 10)
        words = [10 + (37 * index + number) % most for index in range(self.load.words)]
        return [1, *[self.config.image_token_id] * self.image_tokens, *words]

    def images(self, rows: int) -> dict:
        vision = self.config.vision_config
        frames, height, width = self.load.grid
        edge = vision.patch_size
        random = {"device": self.device, "dtype": self.dtype}
        if not self.is_qwen:
            return {"pixel_values": torch.randn(rows, frames, 3, height * edge, width * edge, **random)}
        values = 3 * vision.temporal_patch_size * edge**2
        return {
            "pixel_values": torch.randn(rows * frames * height * width, values, **random),
            "image_grid_thw": torch.tensor([self.load.grid] * rows, device=self.device),
        }

    def inputs(self, rows: int, length: int) -> dict:
        ids = torch.tensor([self.token_ids(number)[:length] for number in range(rows)], device=self.device)
        inputs = {"input_ids": ids, **self.images(rows)}
        if self.is_qwen:
            inputs["mm_token_type_ids"] = (ids == self.config.image_token_id).int()
        return inputs


class FirstToken(transformers.StoppingCriteria):
    """Takes the time when the prompts are read and the first tokens are sampled."""

    def __init__(self, run: Run):
        self.run = run
        self.at: float | None = None

    def __call__(self, input_ids: torch.Tensor, scores, **kwargs) -> torch.Tensor:
        self.at = self.at or self.run.synchronize()
        return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)


class Measurement:
    """The figures of one model and variant."""

    def __init__(self, run: Run, folder: Path, model: str, variant: str):
        self.run, self.name, self.variant = run, model, variant
        self.load = quick_load(LOADS[model]) if run.quick else LOADS[model]
        config = AutoConfig.from_pretrained(folder / model)
        if run.quick:
            config = quick_config(config)
        dtype = DTYPES[variant]
        with run.device:
            base = AutoModelForImageTextToText.from_config(config, dtype=dtype, attn_implementation="sdpa")
        lora = peft.LoraConfig(
            r=RANK,
            lora_alpha=2 * RANK,
            # All linear layers of the text model; the vision tower stays frozen.
            target_modules=r".*(language_model|text_model)\.layers\..*_proj",
        )
        self.peft = peft.get_peft_model(base, lora)
        self.model = self.peft.get_base_model()
        self.encode_images_once()
        self.trained = [weight for weight in self.peft.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=1e-6, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
        self.batch = Batch(config, self.load, run.device, dtype)

    def encode_images_once(self) -> None:
        """Keeps the features of each batch, as the engine keeps those of each image."""
        encode = torch.no_grad()(self.model.model.get_image_features)
        features = {}

        def known_or_encoded(pixel_values, *args, **kwargs):
            key = len(pixel_values)
            if key not in features:
                features[key] = encode(pixel_values, *args, **kwargs)
            return features[key]

        self.model.model.get_image_features = known_or_encoded

    def figure(self, what: str, unit: str, value: float) -> None:
        line = {"model": self.name, "variant": self.variant, "what": what, "unit": unit, "value": value}
        self.run.results.add(kind="figure", **line)

    def measure(self) -> None:
        began = time.perf_counter()
        self.training()
        for rows in self.load.rows:
            self.generation(rows)
        if self.variant == "torch bf16":
            self.peft.merge_adapter()
            for rows in self.load.rows:
                self.generation(rows, ", adapter merged")
        if self.run.device.type == "cuda":
            self.figure("device memory, at its peak", "MiB", torch.cuda.max_memory_reserved() / 2**20)
        self.figure("measuring all this", "s", time.perf_counter() - began)

    def training(self) -> None:
        self.run.check_time()
        load, length = self.load, self.batch.length
        inputs = self.batch.inputs(load.sequences, length)
        targets = inputs["input_ids"][:, -load.trained :].flatten()
        self.peft.train()

        def step() -> dict:
            began = self.run.synchronize()
            hidden = self.model.model(**inputs, use_cache=False).last_hidden_state
            # The output layer is applied only to the positions that predict trained tokens.
            logits = self.model.lm_head(hidden[:, -load.trained - 1 : -1].flatten(0, 1))
            torch.nn.functional.cross_entropy(logits.float(), targets).backward()
            passed = self.run.synchronize()
            torch.nn.utils.clip_grad_norm_(self.trained, 1.0, foreach=True)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            ended = self.run.synchronize()
            return {"step": ended - began, "optimizer": ended - passed}

        step()
        times = self.run.repeated(step)
        self.figure(f"training step, {load.sequences} × {length} tokens", "ms", 1000 * times["step"])
        self.figure("of it the optimizer", "ms", 1000 * times["optimizer"])
        self.figure("training", "tokens/s", load.sequences * length / times["step"])

    def generation(self, rows: int, remark: str = "") -> None:
        self.run.check_time()
        inputs = self.batch.inputs(rows, self.batch.prompt_tokens)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        self.peft.eval()
        self.sample(inputs, min(WARM_UP_TOKENS, self.load.new_tokens))
        rates = self.run.repeated(lambda: self.sample(inputs, self.load.new_tokens))
        prompts = f"prompts of {self.batch.prompt_tokens} tokens"
        self.figure(f"sampling, {rows} at once, {prompts} read{remark}", "tokens/s", rates["all"])
        self.figure(f"sampling, {rows} at once, without reading {prompts}{remark}", "tokens/s", rates["decoding"])

    def sample(self, inputs: dict, tokens: int) -> dict:
        """Rates with and without the time until the first tokens."""
        settings = transformers.GenerationConfig(
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=tokens,
            pad_token_id=0,
            eos_token_id=None,
            # As in ui-rl, answers contain no placeholder.
            suppress_tokens=[self.batch.config.image_token_id],
        )
        self.model.generation_config.eos_token_id = None
        torch.manual_seed(0)
        first = FirstToken(self.run)
        began = self.run.synchronize()
        ids = self.model.generate(**inputs, generation_config=settings, stopping_criteria=[first])
        ended = self.run.synchronize()
        rows, found = len(ids), ids.shape[1] - inputs["input_ids"].shape[1]
        if found != tokens:
            raise ValueError(f"generate() returned {found} tokens per row, expected {tokens}")
        return {"all": rows * tokens / (ended - began), "decoding": rows * (tokens - 1) / (ended - first.at)}


def products(run: Run, variant: str) -> None:
    """The products of probe.ts: the rate of the fastest size."""
    count = 8
    rates = []
    for size in [256] if run.quick else [1024, 4096]:
        x = torch.full((size, size), size**-0.5, device=run.device, dtype=DTYPES[variant])

        def chain() -> dict:
            began = run.synchronize()
            power = x
            for _ in range(count):
                power = power @ x
            return {"rate": count * 2 * size**3 / (run.synchronize() - began) / 1e9}

        chain()
        rates.append(run.repeated(chain)["rate"])
    line = {"model": "—", "variant": variant, "what": "matrix products", "unit": "GFLOP/s", "value": max(rates)}
    run.results.add(kind="figure", **line)


def attempt(run: Run, part: str, measure: Callable[[], None]) -> bool:
    """Returns whether the part finished; a failure becomes a line."""
    gc.collect()
    if run.device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    try:
        run.check_time()
        measure()
        return True
    except Exception as error:
        if not isinstance(error, TimeoutError):
            traceback.print_exc()
        run.results.add(kind="failure", part=part, reason=f"{type(error).__name__}: {error}"[:600])
        return False


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of pytorch.jsonl")
    parser.add_argument("--models", type=Path, required=True, help="folder with {small,256M,2B}/config.json")
    parser.add_argument("--only", choices=LOADS, nargs="+", default=list(LOADS), help="models to measure")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=75, help="no figure begins after so many (75)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the script; the figures mean nothing")
    return parser.parse_args()


def main(began: float) -> int:
    given = arguments()
    transformers.utils.logging.set_verbosity_error()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    run = Run(torch.device(given.device), given.quick, began + given.seconds, Results(given.out))
    versions = ", ".join(f"{each.__name__} {each.__version__}" for each in (torch, transformers, peft))
    name = torch.cuda.get_device_name() if run.device.type == "cuda" else given.device
    run.results.add(kind="fact", name="PyTorch", value=f"{versions}, {name}")
    parts = [(f"products on {variant}", lambda variant=variant: products(run, variant)) for variant in DTYPES]
    parts += [
        (f"figures of {model}, {variant}", lambda pair=(model, variant): Measurement(run, given.models, *pair).measure())
        for model in given.only
        for variant in DTYPES
    ]
    finished = [attempt(run, *part) for part in parts]
    run.results.add(kind="fact", name="PyTorch's run, start included", value=f"{time.perf_counter() - began:.1f} s")
    return 0 if all(finished) else 1


if __name__ == "__main__":
    sys.exit(main(began=time.perf_counter()))
