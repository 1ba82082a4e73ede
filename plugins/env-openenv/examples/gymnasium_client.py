"""A Gymnasium environment on top of the environments that an env service of ui-rl serves (ENVIRONMENTS_PORT).

One file to copy: it needs gymnasium, numpy, pillow and websockets. Nothing of ui-rl needs it.

    env = UiEnv("http://127.0.0.1:8321", task_id="train_02_enable_wifi")
    observation, info = env.reset(seed=3)
    observation, reward, terminated, truncated, info = env.step({"kind": 0, "point": [80, 40], "text": ""})

An observation is the screen, height x width x RGB. An action is what is done (`KINDS`), where (x and y in pixels of the screen), and with which
text; what a kind does not need is left out. What the environment makes of it stands in `info["outcome"]`, the goal in `info["goal"]`. The
reward is that of the run file, paid in the last step; `info["success"]` is what the verifier says.
"""

import base64
import contextlib
import io
import json
import string

import gymnasium
import numpy as np
from gymnasium import spaces
from PIL import Image
from websockets.sync.client import connect

KINDS = ("click", "double_click", "right_click", "move", "type", "enter", "back", "scroll_up", "scroll_down", "wait", "finish")
POINTED = ("click", "double_click", "right_click", "move", "scroll_up", "scroll_down")


class UiEnv(gymnasium.Env):
    """One socket is one environment; the service's number of sessions limits the open ones."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}

    def __init__(self, url, task_id=None, render_mode=None, api_key=None, timeout=30.0):
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f'render_mode is "{render_mode}", expected None or "rgb_array"')
        self.render_mode = render_mode
        self._task_id = task_id
        self._timeout = timeout
        headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        # A message contains a screenshot; the first one determines the screen size.
        address = url.replace("http", "ws", 1).rstrip("/") + "/ws"
        self._leaving = contextlib.ExitStack()
        self._socket = self._leaving.enter_context(
            connect(address, additional_headers=headers, open_timeout=timeout, max_size=64 * 2**20)
        )
        self._screen = None
        first, _ = self._observe(self._ask({"type": "reset", "data": self._wish(0)}))
        height, width, _ = first.shape
        self.observation_space = spaces.Box(0, 255, first.shape, np.uint8)
        self.action_space = spaces.Dict(
            {
                "kind": spaces.Discrete(len(KINDS)),
                "point": spaces.Box(np.zeros(2, np.int64), np.array([width - 1, height - 1]), dtype=np.int64),
                "text": spaces.Text(100, min_length=0, charset=string.ascii_letters + string.digits + " .,-@"),
            }
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        # Without a seed, Gymnasium's own generator continues from the last seed.
        chosen = int(self.np_random.integers(2**31)) if seed is None else seed
        task_id = (options or {}).get("task_id")
        return self._observe(self._ask({"type": "reset", "data": self._wish(chosen, task_id)}))

    def step(self, action):
        told = self._ask({"type": "step", "data": self._action(action)})
        observation, info = self._observe(told)
        is_cut_off = info["status"] == "truncated"
        return observation, float(told["reward"]), told["done"] and not is_cut_off, is_cut_off, info

    def render(self):
        return self._screen if self.render_mode == "rgb_array" else None

    def close(self):
        if self._socket is None:
            return
        self._socket.send(json.dumps({"type": "close"}))
        self._leaving.close()
        self._socket = None

    def _wish(self, seed, task_id=None):
        chosen = task_id or self._task_id
        return {"seed": seed} if chosen is None else {"seed": seed, "task_id": chosen}

    def _action(self, action):
        kind = KINDS[int(action["kind"])]
        x, y = (int(value) for value in action["point"])
        at = {"x": x, "y": y} if kind in POINTED else {}
        if kind in ("scroll_up", "scroll_down"):
            return {"action": "scroll", "direction": kind.removeprefix("scroll_"), "amount": 3, **at}
        if kind == "type":
            return {"action": "type", "text": action["text"]}
        if kind == "enter":
            return {"action": "key", "keys": ["enter"]}
        if kind == "back":
            return {"action": "button", "button": "back"}
        if kind == "wait":
            return {"action": "wait", "seconds": 0.1}
        if kind == "finish":
            return {"action": "finish", "success": True}
        return {"action": kind, **at}

    def _ask(self, message):
        self._socket.send(json.dumps(message))
        answer = json.loads(self._socket.recv(timeout=self._timeout))
        if answer["type"] == "error":
            raise RuntimeError(f"{answer['data']['code']}: {answer['data']['message']} {answer['data'].get('errors', '')}")
        return answer["data"]

    def _observe(self, told):
        info = dict(told["observation"])
        png = base64.b64decode(info.pop("screenshot"))
        self._screen = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
        return self._screen, info


if __name__ == "__main__":
    import sys

    from gymnasium.utils.env_checker import check_env

    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8321"
    gymnasium.register("UiRl-v0", UiEnv, kwargs={"url": url})
    env = gymnasium.make("UiRl-v0", render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()
    print("Gymnasium's check_env has nothing to complain about")
