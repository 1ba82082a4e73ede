"""Conversations of the fixtures, and inputs for the chat templates."""


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
    """Like `tool_samples`, for templates without support for tools and plain string messages."""

    def message(role: str, *parts: str) -> dict:
        content = [{"type": "image"} if part == "image" else {"type": "text", "text": part} for part in parts]
        return {"role": role, "content": content}

    turns = [message("user", "Look: ", "image", "image", " <b>"), message("assistant", "Going."), message("user", "é")]
    return [
        dict(messages=[message("user", "hi")], tools=None, add_generation_prompt=True),
        dict(messages=[message("user", "image", "hi")], tools=None, add_generation_prompt=False),
        dict(messages=[message("system", "Be brief."), *turns], tools=None, add_generation_prompt=True),
    ]
