"""Common parts of LLaVA 1.5 and LLaVA-OneVision."""

from pathlib import Path

import torch

from golden_conversations import part_samples
from golden_files import write_json
from reference import Prepared, Reference

CLIP_MEAN_STD = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])


class Tower(Reference):
    """Common parts of both families."""

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
