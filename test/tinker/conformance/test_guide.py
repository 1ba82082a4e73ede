"""The program of docs/guides/tinker.md, verbatim, with its own server."""

import ast
import os
import re

from test_api import TEST_SERVER_PORT, TINKER_API_KEY, start_api_server


def test_program_of_the_guide(capsys):
    with open(os.environ["CONFORMANCE_GUIDE"]) as file:
        [program] = re.findall(r"```python\n(.*?)```", file.read(), re.S)
    program = program.replace("http://127.0.0.1:8123", f"http://127.0.0.1:{TEST_SERVER_PORT}")
    program = program.replace('api_key="tml-none"', f'api_key="{TINKER_API_KEY}"')
    with start_api_server({"base-model": "small"}, wait_for_up=True, teardown_timeout=20.0):
        exec(compile(program, "docs/guides/tinker.md", "exec"), {})
    tokens = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    assert 0 < len(tokens) <= 8 and all(type(token) is int for token in tokens)
