/**
 * A replacement in SkyRL's `tests/tinker/test_api.py`, for code that is specific to SkyRL's server rather than
 * Tinker's API.
 */
export interface Change {
  why: string;
  from: string;
  to: string;
}

/** Excluded tests, with reasons. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  test_build_cmd_engine: "how SkyRL's server finds the command line of its engine process",
  test_build_cmd_engine_invalid_arg: "how SkyRL's server finds the command line of its engine process",
};

const PREFIXED = "Tinker's checkpoint ids have their kind in front (`weights/0000`), SkyRL's have not";
const FOLDERS = 'checkpoints are folders here, archives there';

/** Each must match exactly once; otherwise the test file is not the version that these were written for. */
export const CHANGES: readonly Change[] = [
  {
    why: 'nothing of SkyRL is imported',
    from: `from skyrl.tinker.api import _build_uv_run_cmd_engine
from skyrl.tinker.config import EngineConfig
from tests.tinker.conftest import api_server_is_up, wait_for_condition
`,
    to: `from conftest import api_server_is_up, server_command, unload, wait_for_condition
`,
  },
  {
    why: 'the model that is served',
    from: 'BASE_MODEL = "trl-internal-testing/tiny-Qwen3ForCausalLM"',
    to: 'BASE_MODEL = os.environ["CONFORMANCE_MODEL"]',
  },
  {
    why: 'keys have 16 characters or more here',
    from: 'TINKER_API_KEY = "tml-dummy"',
    to: 'TINKER_API_KEY = os.environ["CONFORMANCE_KEY"]',
  },
  {
    why: 'a free port',
    from: 'TEST_SERVER_PORT = 8000',
    to: 'TEST_SERVER_PORT = int(os.environ["CONFORMANCE_PORT"])',
  },
  {
    why: 'a free port',
    from: 'TEST_SERVER_PORT_FAST_CLEANUP = 8001',
    to: 'TEST_SERVER_PORT_FAST_CLEANUP = TEST_SERVER_PORT',
  },
  {
    why: 'the command that starts the server',
    from: `            cmd = ["uv", "run"]
            for extra in extras:
                cmd.extend(["--extra", extra])
            cmd.extend(["-m", "skyrl.tinker.api"])
            for key, value in defaults.items():
                cmd.extend([f"--{key}", value])
`,
    to: `            cmd = server_command(defaults, tmp_dir)
`,
  },
  {
    why: 'a server that has ended is not waited for',
    from: 'if not wait_for_condition(lambda: api_server_is_up(port), timeout_sec=180, poll_interval_sec=2):',
    to: `wait_for_condition(lambda: process.poll() is not None or api_server_is_up(port), timeout_sec=180)
                if process.poll() is not None or not api_server_is_up(port):`,
  },
  {
    why: 'the client waits for the server itself: it begins a session once the server is there',
    from: `            "session-timeout-sec": str(FAST_CLEANUP_TIMEOUT_SEC),
        },
    ) as server:`,
    to: `            "session-timeout-sec": str(FAST_CLEANUP_TIMEOUT_SEC),
        },
        wait_for_up=True,
    ) as server:`,
  },
  {
    why: 'what the log says of a session that has ended',
    from: 'return "Auto-unloaded stale model" in log_output and "Deleted model" in log_output',
    to: 'return "has ended: nothing was heard of it" in log_output',
  },
  {
    why: 'the shipped model repeats itself: what is the fifth token may be the first one, too',
    from: 'assert len(stopped_result.sequences[0].tokens) == 5',
    to: 'assert len(stopped_result.sequences[0].tokens) == initial_result.sequences[0].tokens.index(stop_token) + 1',
  },
  {
    why: 'refused at once here; theirs fails while it is worked at, which the client tells by another exception',
    from: 'pytest.raises(ValueError, match="topk_prompt_logprobs is not supported")',
    to: 'pytest.raises(tinker.BadRequestError, match="topk_prompt_logprobs: is not supported")',
  },
  {
    why: 'newer clients have no such verb any more',
    from: 'future = await client.models.unload(request=types.UnloadModelRequest(model_id=training_client.model_id))',
    to: 'future = await unload(client, training_client.model_id)',
  },
  {
    why: 'a newer client that makes both at once waits for itself for ever',
    from: `        training_client = service_client.create_lora_training_client(base_model=BASE_MODEL)
        rest_client = service_client.create_rest_client()
`,
    to: `        rest_client = service_client.create_rest_client()
        training_client = service_client.create_lora_training_client(base_model=BASE_MODEL)
`,
  },
  {
    why: 'newer clients get no archives any more',
    from: `    checkpoint_response = rest_client.get_checkpoint_archive_url(training_run_id, checkpoint_id).result()
    with tempfile.NamedTemporaryFile() as tmp_archive:
        urllib.request.urlretrieve(checkpoint_response.url, tmp_archive.name)
        assert os.path.getsize(tmp_archive.name) > 0
`,
    to: `    if hasattr(rest_client, "get_checkpoint_archive_url"):
        checkpoint_response = rest_client.get_checkpoint_archive_url(training_run_id, checkpoint_id).result()
        with tempfile.NamedTemporaryFile() as tmp_archive:
            urllib.request.urlretrieve(checkpoint_response.url, tmp_archive.name)
            assert os.path.getsize(tmp_archive.name) > 0
`,
  },
  { why: PREFIXED, from: 'assert "0000" in checkpoint_ids', to: 'assert "weights/0000" in checkpoint_ids' },
  {
    why: PREFIXED,
    from: 'assert set(listed_checkpoints()) == {"ckpt0", "ckpt1", "ckpt2", "ckpt3", "sampler0"}',
    to: 'assert set(listed_checkpoints()) == {"weights/ckpt0", "weights/ckpt1", "weights/ckpt2", "weights/ckpt3", "sampler_weights/sampler0"}',
  },
  {
    why: PREFIXED,
    from: 'for checkpoint_id in ["ckpt1", "ckpt3", "sampler0"]:',
    to: 'for checkpoint_id in ["weights/ckpt1", "weights/ckpt3", "sampler_weights/sampler0"]:',
  },
  {
    why: PREFIXED,
    from: `        # Deleted checkpoints are gone from both the listing and disk.
        assert set(listed_checkpoints()) == {"ckpt0", "ckpt2"}`,
    to: `        # Deleted checkpoints are gone from both the listing and disk.
        assert set(listed_checkpoints()) == {"weights/ckpt0", "weights/ckpt2"}`,
  },
  {
    why: PREFIXED,
    from: `        assert getattr(exc_info.value, "status_code", None) == 400
        assert set(listed_checkpoints()) == {"ckpt0", "ckpt2"}`,
    to: `        assert getattr(exc_info.value, "status_code", None) == 400
        assert set(listed_checkpoints()) == {"weights/ckpt0", "weights/ckpt2"}`,
  },
  {
    why: FOLDERS,
    from: 'return checkpoints_base / training_run_id / f"{checkpoint_id}.tar.gz"',
    to: 'return checkpoints_base / training_run_id / "weights" / checkpoint_id',
  },
  {
    why: FOLDERS,
    from: 'return checkpoints_base / training_run_id / "sampler_weights" / f"{checkpoint_id}.tar.gz"',
    to: 'return checkpoints_base / training_run_id / "sampler_weights" / checkpoint_id',
  },
];

/** The tests do not depend on listening on, or connecting to, the wildcard address. */
const ANY_ADDRESS = /0\.0\.0\.0/g;

/** @throws Error if a replacement does not match exactly once */
export function changed(source: string): string {
  let text = source.replace(ANY_ADDRESS, '127.0.0.1');
  for (const { from, to, why } of CHANGES) {
    const places = text.split(from).length - 1;
    if (places !== 1)
      throw new Error(
        `test_api.py is another one than this was written for: ${places} times ${from} (${why})`,
      );
    text = text.replace(from, () => to);
  }
  // Their parameters name classes that are not imported here.
  for (const name of Object.keys(LEFT_OUT)) text = withoutTest(text, name);
  return text;
}

/** Removes a function and its decorators; two empty lines separate top-level definitions. */
function withoutTest(text: string, name: string): string {
  const parts = text.split('\n\n\n');
  const kept = parts.filter((part) => !`\n${part}`.includes(`\ndef ${name}(`));
  if (kept.length !== parts.length - 1) throw new Error(`test_api.py has no ${name}, which was left out`);
  return kept.join('\n\n\n');
}
