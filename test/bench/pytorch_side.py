"""The side of PyTorch in side-by-side.mjs: the same model, adapter and batch in transformers and PEFT.

Requirements: pip install torch==2.13.0 transformers==5.23.0 peft==0.21.2 safetensors==0.8.0

A process that lives as long as the comparison. It reads one command per line from stdin, {"do": name, ...arguments}, and answers
each with one line of JSON on stdout; the commands are the methods of `Side`. Times are taken around the work alone: tensors of
a batch are made before the clock starts.
"""

import contextlib
import json
import sys
import time
import traceback
from pathlib import Path

import peft
import torch
import transformers
from peft import PeftModel
from safetensors.torch import load_file
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForImageTextToText


def milliseconds_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


class Batch:
    """Converts samples written by side-by-side.mjs to inputs of the model's forward pass."""

    def __init__(self, folder: Path, config):
        self.samples = json.loads((folder / "batch.json").read_text())
        self.patches = load_file(folder / "patches.safetensors")
        self.config = config
        self.is_qwen = hasattr(config.vision_config, "temporal_patch_size")

    def images(self, samples: list[dict]) -> dict:
        found = [image for sample in samples for image in sample["images"]]
        patches = [self.patches[image["name"]] for image in found]
        if not self.is_qwen:
            tiles = [self.tiles(*pair) for pair in zip(patches, found, strict=True)]
            # InternVL and Gemma take the tiles of all images together, the others those of each image apart.
            join = torch.cat if self.config.model_type in ("internvl", "gemma3") else torch.stack
            return {"pixel_values": join(tiles)}
        return {
            "pixel_values": self.frames(torch.cat(patches)),
            "image_grid_thw": torch.tensor([image["grid"] for image in found]),
        }

    def frames(self, patches: torch.Tensor) -> torch.Tensor:
        """[P, 3·p²] → [P, 3·frames·p²]: a still image fills every frame of a patch."""
        vision = self.config.vision_config
        by_channel = patches.view(len(patches), vision.in_channels, 1, -1)
        return by_channel.expand(-1, -1, vision.temporal_patch_size, -1).flatten(1)

    def tiles(self, patches: torch.Tensor, image: dict) -> torch.Tensor:
        """Patches, row by row → [tiles, 3, height, width]."""
        edge = self.config.vision_config.patch_size
        edge = edge[0] if isinstance(edge, list) else edge
        tiles, rows, columns = image["grid"]
        cut = patches.view(tiles, rows, columns, 3, edge, edge)
        return cut.permute(0, 3, 1, 4, 2, 5).reshape(tiles, 3, rows * edge, columns * edge)

    def inputs(self, samples: list[dict], ids: list[list[int]], left: bool, masked: bool) -> dict:
        """Sequences padded to the longest."""
        rows = [torch.tensor(row) for row in ids]
        side = "left" if left else "right"
        padded = pad_sequence(rows, batch_first=True, padding_value=0, padding_side=side)
        inputs = {"input_ids": padded, **self.images(samples)}
        if masked:
            ones = [torch.ones_like(row) for row in rows]
            inputs["attention_mask"] = pad_sequence(ones, batch_first=True, padding_side=side)
        if self.is_qwen:
            inputs["mm_token_type_ids"] = (padded == self.config.image_token_id).int()
        elif self.config.model_type == "gemma3":
            inputs["token_type_ids"] = (padded == self.config.image_token_id).int()
        return inputs

    def passes(self, count: int, rows: int, masked: bool) -> list[dict]:
        """The first `count` samples in passes of similar lengths, with the tokens to train in each."""
        order = sorted(range(count), key=lambda index: len(self.samples[index]["tokenIds"]))
        return [self.training_pass(order[at : at + rows], masked) for at in range(0, count, rows)]

    def training_pass(self, indices: list[int], masked: bool) -> dict:
        samples = [self.samples[index] for index in indices]
        inputs = self.inputs(samples, [sample["tokenIds"] for sample in samples], left=False, masked=masked)
        places = [(row, at) for row, sample in enumerate(samples) for at, one in enumerate(sample["mask"]) if one]
        row, token = torch.tensor(places).T
        targets = inputs["input_ids"][row, token]
        return {"indices": indices, "inputs": inputs, "row": row, "token": token, "targets": targets}


class Side:
    """The commands of side-by-side.mjs."""

    def load(self, model: str, adapter: str, batch: str, threads: int, learning_rate: float) -> dict:
        transformers.utils.logging.disable_progress_bar()
        torch.set_num_threads(threads)
        torch.set_flush_denormal(True)
        base = AutoModelForImageTextToText.from_pretrained(model, dtype=torch.float32, attn_implementation="sdpa")
        self.batch = Batch(Path(batch), base.config)
        self.peft = PeftModel.from_pretrained(base, adapter, is_trainable=True)
        self.model = self.peft.get_base_model()
        self.trained = [weight for weight in self.peft.parameters() if weight.requires_grad]
        towers = (getattr(self.model.model, name, None) for name in ("visual", "vision_model", "vision_tower"))
        self.watch_tower(next(tower for tower in towers if tower is not None))
        self.optimizer = torch.optim.AdamW(
            self.trained, lr=learning_rate, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0, fused=True
        )
        self.prepared = {}
        named = [getattr(base.config, name, None) for name in ("image_token_id", "video_token_id")]
        self.placeholders = [token for token in named if token is not None]
        versions = {each.__name__: each.__version__ for each in (torch, transformers, peft)}
        return {"versions": versions, "trainedParameters": sum(weight.numel() for weight in self.trained)}

    def watch_tower(self, tower: torch.nn.Module) -> None:
        """The vision tower is frozen, so it keeps no activations for a backward pass; its time is measured."""
        forward = torch.no_grad()(tower.forward)
        self.tower_ms = 0.0

        def timed(*args, **kwargs):
            began = time.perf_counter()
            result = forward(*args, **kwargs)
            self.tower_ms += milliseconds_since(began)
            return result

        tower.forward = timed

    def times_since(self, began: float, tower_ms: float) -> dict:
        return {"milliseconds": milliseconds_since(began), "towerMs": self.tower_ms - tower_ms}

    def logprobs_of(self, part: dict) -> torch.Tensor:
        """For the tokens to train only: the output layer is applied to the positions that predict them."""
        hidden = self.model.model(**part["inputs"], use_cache=False).last_hidden_state
        logits = self.model.lm_head(hidden[part["row"], part["token"] - 1])
        return -torch.nn.functional.cross_entropy(logits, part["targets"], reduction="none")

    def score(self, count: int, rows: int) -> dict:
        """Log-probabilities of the trained tokens of each sample."""
        self.peft.eval()
        found = [[] for _ in range(count)]
        with torch.inference_mode():
            for part in self.batch.passes(count, rows, masked=True):
                for row, value in zip(part["row"].tolist(), self.logprobs_of(part).tolist(), strict=True):
                    found[part["indices"][row]].append(value)
        return {"logprobs": found}

    def train(self, count: int, rows: int, masked: bool) -> dict:
        """One optimizer step: mean cross entropy over all trained tokens, in passes of the given number of rows."""
        key = (count, rows, masked)
        if key not in self.prepared:
            self.prepared[key] = self.batch.passes(*key)
        passes = self.prepared[key]
        tokens = sum(len(part["row"]) for part in passes)
        self.peft.train()
        began, tower_ms = time.perf_counter(), self.tower_ms
        total = 0.0
        for part in passes:
            loss = -self.logprobs_of(part).sum() / tokens
            loss.backward()
            total += loss.item()
        norm = torch.nn.utils.clip_grad_norm_(self.trained, 1.0, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return {**self.times_since(began, tower_ms), "loss": total, "gradNorm": norm.item()}

    def merge(self, merged: bool) -> dict:
        """Merges the adapter into the base weights, or removes it again."""
        (self.peft.merge_adapter if merged else self.peft.unmerge_adapter)()
        return {}

    def generate(self, rows: int, tokens: int, seed: int, logprobs: bool = False) -> dict:
        """Samples new tokens after the prompts of the first samples, at temperature 1 from all tokens."""
        samples = self.batch.samples[:rows]
        prompts = [sample["tokenIds"][: sample["promptTokens"]] for sample in samples]
        inputs = self.batch.inputs(samples, prompts, left=True, masked=True)
        self.peft.eval()
        torch.manual_seed(seed)
        settings = transformers.GenerationConfig(
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=tokens,
            pad_token_id=0,
            eos_token_id=None,
            # As in ui-rl, answers contain no placeholder: there would be no image for it.
            suppress_tokens=self.placeholders,
            output_logits=logprobs,
            return_dict_in_generate=True,
        )
        self.model.generation_config.eos_token_id = None
        began, tower_ms = time.perf_counter(), self.tower_ms
        with torch.inference_mode():
            result = self.model.generate(**inputs, generation_config=settings)
        answer = self.times_since(began, tower_ms)
        ids = result.sequences[:, inputs["input_ids"].shape[1] :]
        if ids.shape[1] != tokens:
            raise ValueError(f"generate() gave {ids.shape[1]} of {tokens} tokens")
        if logprobs:
            every = torch.stack(result.logits, 1).log_softmax(-1)
            answer["tokenIds"] = ids.tolist()
            answer["logprobs"] = every.gather(-1, ids[..., None])[..., 0].tolist()
        return answer


def main() -> None:
    side = Side()
    answers = sys.stdout
    # Output of libraries must not mix with the answers.
    with contextlib.redirect_stdout(sys.stderr):
        for line in sys.stdin:
            command = json.loads(line)
            try:
                answer = getattr(side, command.pop("do"))(**command)
            except Exception as error:
                traceback.print_exc()
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
