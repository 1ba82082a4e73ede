"""The definition of a family's case: how its model, its files and the inputs of its forward pass are created."""

from dataclasses import dataclass, field
from pathlib import Path

import torch
from PIL import Image
from transformers import AutoTokenizer

from golden_conversations import tool_samples
from golden_files import HERE
from golden_tokenizers import write_byte_level_tokenizer
from golden_weights import randomize, save_model

TEXT_LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@dataclass
class Prepared:
    """Images in the model's input format."""

    # further arguments of the model's forward pass
    inputs: dict
    # of each image: grid, and for some families tiles, shown, pictures (see ImageGeometry in libs/models)
    geometry: list[dict]
    # [P, values per patch] in the order of libs/models, picture after picture
    patches: torch.Tensor
    # other values that the family needs to expand a prompt
    extra: dict = field(default_factory=dict)


class Reference:
    """A case of a family: how its model, files and inputs are created."""

    special_tokens: list[str]
    image_token: str
    end_of_turn: str
    pad_token: str
    template = "chat_template.jinja"
    # text of the template between its generation prompt and an answer
    before_answer = ""

    def __init__(self, **case):
        self.case = case

    def open(self, model_dir: Path):
        """The folder's tokenizer; must be called before anything is prepared."""
        self.tokenizer = AutoTokenizer.from_pretrained(model_dir)
        self.image_token_id = self.tokenizer.convert_tokens_to_ids(self.image_token)
        return self.tokenizer

    def build_model(self, tokenizer):
        """A model with arbitrary weights."""
        raise NotImplementedError

    def finish_model(self, model):
        """Adjusts a new or loaded model before use."""
        return model

    def write_processor(self, folder: Path) -> None:
        """The parts that concern images."""
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
        """`vision_features` [F, hidden], and other outputs of the vision tower."""
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
        """Tokens that stand for pixels; they get a logit of 0, so that they are never the most probable."""
        return [model.config.image_token_id]

    def write_tokenizer(self, folder: Path) -> None:
        write_byte_level_tokenizer(folder, self.special_tokens, self.end_of_turn, self.pad_token)

    def template_text(self) -> str:
        """The chat template."""
        return (HERE / self.template).read_text()

    def template_samples(self) -> list[dict]:
        return tool_samples()

    def special_sample(self) -> str:
        """A text with special tokens, for the tokenizer."""
        return f"{self.special_tokens[1]}user\n{self.image_token}text{self.end_of_turn}"
