"""Writes transformers' pixels of encoded images of many kinds into images/expected.json.

    pip install transformers==5.23.0 pillow==13.0.0
    python test/golden/make_images.py && npx prettier --write test/golden/images

Each picture has 8 × 6 pixels. `file` is the encoded image, `rgb` its pixels row by row, both in base64: opened by Pillow,
turned by `ImageOps.exif_transpose` as `load_image` does, and converted by `convert_to_rgb`, which the image processors of all
families call.
"""

import base64
import io
import struct
import zlib

import numpy as np
from golden_files import HERE, write_json
from PIL import Image, ImageCms, ImageOps, PngImagePlugin
from transformers.image_transforms import convert_to_rgb

WIDTH, HEIGHT = 8, 6
ORIENTATION = 0x0112
XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"/></rdf:RDF></x:xmpmeta>'
)


def levels(channels: int) -> np.ndarray:
    """Different levels in every pixel; the fourth channel contains all from 0 to 255."""
    x = np.linspace(0, 255, WIDTH)[None, :] + np.zeros((HEIGHT, 1))
    y = np.linspace(0, 255, HEIGHT)[:, None] + np.zeros((1, WIDTH))
    alpha = np.linspace(0, 255, WIDTH * HEIGHT).reshape(HEIGHT, WIDTH)
    return np.stack([x, y, 255 - (x + y) / 2, alpha], 2)[:, :, :channels].astype(np.uint8)


RGB, RGBA, CMYK = (Image.fromarray(levels(n), mode) for n, mode in ((3, "RGB"), (4, "RGBA"), (4, "CMYK")))
GREY = Image.fromarray(levels(1)[:, :, 0])
GREY_ALPHA = Image.fromarray(levels(4)[:, :, [0, 3]])


def saved(image: Image.Image, kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def raw_png(depth: int, colour: int, rows: list[bytes], further: bytes = b"") -> bytes:
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, colour, 0, 0, 0)
    data = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + further + data + chunk(b"IEND", b"")


def exif(orientation: int) -> Image.Exif:
    tags = Image.Exif()
    tags[ORIENTATION] = orientation
    return tags


def odd_profile() -> bytes:
    """sRGB with the primaries of red and blue exchanged: applying it changes every color."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    count = struct.unpack(">I", profile[128:132])[0]
    places = {bytes(profile[at : at + 4]): at + 4 for at in range(132, 132 + 12 * count, 12)}
    red, blue = places[b"rXYZ"], places[b"bXYZ"]
    profile[red : red + 8], profile[blue : blue + 8] = profile[blue : blue + 8], profile[red : red + 8]
    return bytes(profile)


def without_adobe(jpeg: bytes) -> bytes:
    at = jpeg.index(b"\xff\xee")
    return jpeg[:at] + jpeg[at + 2 + struct.unpack(">H", jpeg[at + 2 : at + 4])[0] :]


def as_ycck(jpeg: bytes) -> bytes:
    """The last byte of the Adobe segment is the transform: 2 means that the first three channels are YCC."""
    changed = bytearray(jpeg)
    at = jpeg.index(b"\xff\xee")
    changed[at + 1 + struct.unpack(">H", jpeg[at + 2 : at + 4])[0]] = 2
    return bytes(changed)


def deep(image: np.ndarray) -> list[bytes]:
    """16 bits per channel, with lower bits that differ from the upper ones."""
    return [(row.astype(np.uint16) * 256 + 200).astype(">u2").tobytes() for row in image]


def turned() -> dict[str, bytes]:
    lossless = {"lossless": True}
    files = {f"orientation {n} jpeg": saved(RGB, "JPEG", quality=95, exif=exif(n)) for n in (0, *range(2, 10))}
    files |= {f"orientation {n} png": saved(RGB, "PNG", exif=exif(n)) for n in range(2, 9)}
    files |= {f"orientation {n} webp": saved(RGB, "WEBP", exif=exif(n), **lossless) for n in (3, 6)}
    profile, late = PngImagePlugin.PngInfo(), saved(RGB, "PNG")
    data = exif(6).tobytes()
    profile.add_text("Raw profile type exif", f"\nexif\n{len(data):8}\n{data.hex()}\n")
    return files | {
        "orientation 6 png, behind its pixels": late[:-12] + chunk(b"eXIf", data[6:]) + late[-12:],
        "orientation 6 png, as text": saved(RGB, "PNG", pnginfo=profile),
        "orientation 6 rgba png": saved(RGBA, "PNG", exif=exif(6)),
        "orientation 8 grey jpeg": saved(GREY, "JPEG", exif=exif(8)),
        "orientation 6 cmyk jpeg": saved(CMYK, "JPEG", exif=exif(6)),
        "orientation 6 xmp jpeg": saved(RGB, "JPEG", xmp=XMP.encode()),
        "orientation 6 xmp webp": saved(RGB, "WEBP", xmp=XMP.encode(), **lossless),
        "orientation 6 xmp, 8 exif jpeg": saved(RGB, "JPEG", xmp=XMP.encode(), exif=exif(8)),
    }


def transparent() -> dict[str, bytes]:
    palette = RGB.quantize(16)
    pixel = levels(3)[2, 3]
    key = struct.pack(">HHH", *(int(level) for level in pixel))
    rows = [row.tobytes() for row in levels(3)]
    return {
        "rgba png": saved(RGBA, "PNG"),
        "grey and alpha png": saved(GREY_ALPHA, "PNG"),
        "palette png, one colour transparent": saved(palette, "PNG", transparency=3),
        "palette png, alpha by colour": saved(palette, "PNG", transparency=bytes([0, 60, 128, 200] + [255] * 12)),
        "rgb png, one colour transparent": raw_png(8, 2, rows, chunk(b"tRNS", key)),
        "grey png, one level transparent": raw_png(
            8, 0, [row.tobytes() for row in levels(1)], chunk(b"tRNS", struct.pack(">H", int(levels(1)[2, 3, 0])))
        ),
        "rgba 16-bit png": raw_png(16, 6, deep(levels(4))),
        "rgba webp": saved(RGBA, "WEBP", lossless=True, exact=True),
        "rgba gif": saved(RGBA, "GIF"),
    }


def coloured() -> dict[str, bytes]:
    cmyk = saved(CMYK, "JPEG", quality=100)
    return {
        "cmyk jpeg": cmyk,
        "cmyk jpeg without Adobe's segment": without_adobe(cmyk),
        "cmyk jpeg with a profile": saved(CMYK, "JPEG", quality=100, icc_profile=odd_profile()),
        "ycck jpeg": as_ycck(cmyk),
        "rgb jpeg, not converted": saved(RGB, "JPEG", quality=95, keep_rgb=True),
        "grey jpeg": saved(GREY, "JPEG"),
        "jpeg with a profile": saved(RGB, "JPEG", quality=95, icc_profile=odd_profile()),
        "png with a profile": saved(RGB, "PNG", icc_profile=odd_profile()),
        "png with a gamma": raw_png(8, 2, [row.tobytes() for row in levels(3)], chunk(b"gAMA", struct.pack(">I", 100_000))),
        "palette png": saved(RGB.quantize(16), "PNG"),
        "1-bit png": saved(GREY.convert("1"), "PNG"),
        "rgb 16-bit png": raw_png(16, 2, deep(levels(3))),
        "animated gif": saved(RGB, "GIF", save_all=True, append_images=[ImageOps.invert(RGB)]),
        "cmyk tiff": saved(CMYK, "TIFF"),
    }


def expected(file: bytes) -> dict:
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    pixels = convert_to_rgb(image, return_numpy=True)
    return {
        "width": pixels.shape[1],
        "height": pixels.shape[0],
        "file": base64.b64encode(file).decode(),
        "rgb": base64.b64encode(pixels.tobytes()).decode(),
    }


if __name__ == "__main__":
    files = {**turned(), **transparent(), **coloured()}
    write_json(HERE / "images" / "expected.json", {name: expected(file) for name, file in files.items()})
