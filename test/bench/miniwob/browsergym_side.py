"""Plays in BrowserGym what the random agent of `npm run bench:miniwob -- --out FILE` played here, page by page, seed by seed, click by click.

    pip install browsergym-miniwob
    python browsergym_side.py FILE --dir CHECKOUT --chromium PROGRAM [--seeds 1] [--out FILE]

BrowserGym draws the number that a page is seeded with from its own seed; here it is given the number itself, so that both sides play the same
task. Nothing else of it is changed. Prints both sides for each page, and where they differ.
"""

import argparse
import functools
import http.server
import json
import os
import pathlib
import threading
import time


class Given:
    """Replaces BrowserGym's random numbers by the seed for the page."""

    def __init__(self, seed):
        self.seed = seed

    def randint(self, *_):
        return self.seed


def serve(folder):
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/miniwob/"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def use(chromium):
    """Makes Playwright launch this browser for both of BrowserGym's pages: the task and its chat."""
    from playwright.sync_api import BrowserType

    launch = BrowserType.launch
    given = {"executable_path": chromium, "chromium_sandbox": False}
    BrowserType.launch = lambda self, **kwargs: launch(self, **given, **kwargs)


def play(env, clicks):
    """@returns raw reward, whether the episode is over, and the reward by BrowserGym's rule"""
    raw, done, reward = 0.0, False, 0.0
    for x, y in clicks:
        _, reward, done, _, info = env.step(f"mouse_click({x}, {y})")
        raw = info["task_info"]["RAW_REWARD_GLOBAL"]
        if done:
            break
    return {"raw": float(raw), "done": bool(done), "positive": reward > 0}


def episode_of(task, clicks, seed, kwargs):
    from browsergym.core.env import BrowserEnv

    class Seeded(task):
        def __init__(self, *args, **given):
            super().__init__(*args, **given)
            self.random = Given(seed)

    env = BrowserEnv(task_entrypoint=Seeded, **kwargs)
    try:
        env.reset(seed=seed)
        return play(env, clicks)
    finally:
        env.close()


def actions(action):
    """BrowserGym executes Python; this is the only one of its actions needed."""
    x, y = action[len("mouse_click(") : -1].split(", ")
    return f"page.mouse.click({x}, {y})"


def line(page, ours, theirs, same):
    mean = lambda side, of: sum(float(of(each)) for each in side) / len(side)
    figures = [
        mean(side, of)
        for side in (ours, theirs)
        for of in (lambda e: e["raw"] == 1, lambda e: e["positive"], lambda e: e["raw"])
    ]
    return f"{page:<30}" + " ".join(f"{each:6.2f}" for each in figures) + ("" if same else "  DIFFERS")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report")
    parser.add_argument("--dir", required=True, help="checkout of MiniWoB++")
    parser.add_argument("--chromium", required=True, help="the Chromium of this machine")
    parser.add_argument("--seeds", type=int, default=1, help="episodes of each page (1)")
    parser.add_argument("--pages", type=int, default=1000, help="only the first so many")
    parser.add_argument("--out", help="everything as JSON")
    args = parser.parse_args()
    os.environ["MINIWOB_URL"] = serve(str(pathlib.Path(args.dir) / "miniwob" / "html"))
    from browsergym.miniwob import ALL_MINIWOB_TASKS

    tasks = {task.subdomain: task for task in ALL_MINIWOB_TASKS}
    use(args.chromium)
    kwargs = {"action_mapping": actions}
    checked = json.loads(pathlib.Path(args.report).read_text())["checked"][: args.pages]
    print(f"{'':<30}{'here':<21}BrowserGym\n{'page':<30}" + "strict     >0    raw " * 2)
    rows, steps, began = [], 0, time.monotonic()
    for each in checked:
        page, ours, theirs = each["page"], each["episodes"][: args.seeds], []
        for episode in ours:
            theirs.append(episode_of(tasks[page], episode["clicks"], episode["seed"], kwargs))
            steps += len(episode["clicks"])
        # Raw rewards that decay with time differ in the last digits.
        same = all(
            a["done"] == b["done"] and a["positive"] == b["positive"] and abs(a["raw"] - b["raw"]) < 1e-3
            for a, b in zip(ours, theirs)
        )
        rows.append({"page": page, "here": ours, "browsergym": theirs, "same": same})
        print(line(page, ours, theirs, same), flush=True)
    seconds = time.monotonic() - began
    differ = [row["page"] for row in rows if not row["same"]]
    print(f"{len(rows)} pages, {len(differ)} differ: {' '.join(differ) or 'none'}; BrowserGym took {seconds:.0f} s for {steps} steps")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(rows, indent=1) + "\n")


main()
