"""Support for the modified copy of SkyRL's tests/tinker/test_api.py: starts a server of this project, and waits."""

import json
import os
import time
import urllib.request


def wait_for_condition(condition_fn, timeout_sec=10, poll_interval_sec=0.1):
    # This machine may be slower than SkyRL's.
    deadline = time.time() + timeout_sec * float(os.environ.get("CONFORMANCE_PATIENCE", "1"))
    while time.time() < deadline:
        if condition_fn():
            return True
        time.sleep(poll_interval_sec)
    return False


def api_server_is_up(port):
    try:
        url = f"http://127.0.0.1:{port}/api/v1/healthz"
        asked = urllib.request.Request(url, headers={"X-API-Key": os.environ["CONFORMANCE_KEY"]})
        urllib.request.urlopen(asked, timeout=10).read()
        return True
    except OSError:
        return False


def server_command(asked, tmp_dir):
    """Translates options of SkyRL's server to those of `ui-rl serve tinker`, and drops unneeded ones."""
    command = os.environ["CONFORMANCE_SERVER"].split("\n")
    command += ["--model", asked["base-model"], "--host", asked["host"], "--port", asked["port"], "--deterministic"]
    command += ["--dir", asked.get("checkpoints-base", os.path.join(tmp_dir, "checkpoints"))]
    if "session-timeout-sec" in asked:
        command += ["--session-timeout", asked["session-timeout-sec"]]
    return command


async def unload(client, model_id):
    """The format of older clients."""
    from tinker.types import UntypedAPIFuture

    body = {"model_id": model_id, "type": "unload_model"}
    return await client.post("/api/v1/unload_model", body=body, cast_to=UntypedAPIFuture)


def pytest_runtest_logreport(report):
    """One JSON object per line, from which the table is generated."""
    if report.when != "call" and report.passed:
        return
    reason = "" if report.passed else str(report.longrepr).strip().splitlines()[-1]
    line = {"test": report.nodeid.split("::", 1)[1], "outcome": report.outcome, "seconds": report.duration, "reason": reason}
    with open(os.environ["CONFORMANCE_REPORT"], "a") as file:
        file.write(json.dumps(line) + "\n")
