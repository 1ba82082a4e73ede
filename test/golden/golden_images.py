"""Images of the fixtures, and their resizing, normalization and patching.

Importing this module replaces what the image processors of transformers call for resizing.
"""

from pathlib import Path

import numpy as np
import torch
import transformers.image_processing_backends as backends
from PIL import Image


def draw(height: int, width: int, seed: int) -> np.ndarray:
    """Smooth gradients, hard edges and a little noise, so that a wrong channel, axis or filter is detected."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    image = np.stack([x * 255 / width, y * 255 / height, (x + y) * 255 / (height + width)], axis=-1)
    image[height // 3 : height // 2, width // 4 : width // 2] = [250, 20, 90]
    image[height // 2 :, 2 * width // 3 :, 1] = 10
    return np.clip(image + rng.normal(0, 6, image.shape), 0, 255).astype(np.uint8)


def resize(image: Image.Image, height: int, width: int, resample: int) -> Image.Image:
    """Along the rows, then along the columns: Pillow 13 uses the other order for some sizes, hence two calls."""
    return image.resize((width, image.height), resample).resize((width, height), resample)


def normalize(pixels: torch.Tensor, processor) -> torch.Tensor:
    """Rescales and normalizes levels [..., 3, H, W] in one step, in fp32, like transformers' fast processors."""
    scale = 1.0 / processor.rescale_factor
    mean = (torch.tensor(processor.image_mean) * scale)[:, None, None]
    std = (torch.tensor(processor.image_std) * scale)[:, None, None]
    return (pixels.float() - mean) / std


def resize_array(image: np.ndarray, size, resample, **_) -> np.ndarray:
    """The processors' resize function, for levels [3, H, W]."""
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
    """A picture [3, H, W] as patches [h·w, 3·size²], row by row; incomplete patches are dropped."""
    rows, columns = picture.shape[1] // size, picture.shape[2] // size
    cut = picture[:, : rows * size, : columns * size].reshape(3, rows, size, columns, size)
    return cut.permute(1, 3, 0, 2, 4).reshape(rows * columns, 3 * size * size)


def write_images(folder: Path, case: dict) -> tuple[list[Image.Image], list[dict]]:
    images, described = [], []
    for index, (height, width) in enumerate(case["images"]):
        image = Image.fromarray(draw(height, width, case["seed"] + index))
        image.save(folder / "images" / f"{index}.png", optimize=True)
        images.append(image)
        described.append({"file": f"images/{index}.png", "height": height, "width": width})
    return images, described


def read_images(folder: Path, expected: dict) -> list[Image.Image]:
    return [Image.open(folder / image["file"]) for image in expected["images"]]
