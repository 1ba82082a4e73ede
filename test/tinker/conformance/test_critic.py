"""A critic, which the official client has no word for: what makes it is sent beside the client, which then trains it as any model."""

import inspect
import json
import urllib.request

import pytest
import tinker
from tinker import types

from test_api import BASE_MODEL, TEST_SERVER_PORT, TINKER_API_KEY, api_server, service_client  # noqa: F401

TOKENS = [10, 20, 30, 40]
RETURNS = [0.0, 1.0, 1.0]


def ask(verb, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{TEST_SERVER_PORT}/api/v1/{verb}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "X-API-Key": TINKER_API_KEY},
    )
    return json.load(urllib.request.urlopen(request, timeout=60))


def create_critic(holder):
    seq = holder.get_training_client_id()
    begun = ask(
        "create_model",
        {
            "session_id": holder.get_session_id(),
            "model_seq_id": seq,
            "base_model": BASE_MODEL,
            "lora_config": {"rank": 8, "seed": 1},
            "model_role": "critic",
        },
    )
    ask("retrieve_future", {"request_id": begun["request_id"]})
    further = {}
    if "info" in inspect.signature(tinker.TrainingClient.__init__).parameters:
        info = types.GetInfoResponse.model_validate(ask("get_info", {"model_id": begun["model_id"]}))
        further = {"info": info}
    return tinker.TrainingClient(holder, model_seq_id=seq, model_id=begun["model_id"], **further)


def datum(**numbers):
    inputs = {
        name: types.TensorData(data=values, dtype="float32", shape=[len(values)])
        for name, values in {"weights": [0.0, 1.0, 1.0], **numbers}.items()
    }
    targets = types.TensorData(data=TOKENS[1:], dtype="int64", shape=[3])
    return types.Datum(
        model_input=types.ModelInput.from_ints(TOKENS[:-1]), loss_fn_inputs={"target_tokens": targets, **inputs}
    )


def values_of(critic):
    [output] = critic.forward([datum()], "ppo").result(timeout=60).loss_fn_outputs
    return list(output["values"].data)


def test_critic_learns_returns(service_client):  # noqa: F811
    holder = service_client.create_lora_training_client(base_model=BASE_MODEL).holder
    critic = create_critic(holder)
    assert values_of(critic) == [0.0, 0.0, 0.0]
    losses = []
    for _ in range(10):
        data = [datum(values=values_of(critic), returns=RETURNS)]
        learnt = critic.forward_backward(data, "ppo", {"value_clip": 0.5}).result(timeout=60)
        losses.append(learnt.metrics["loss:sum"])
        critic.optim_step(types.AdamParams(learning_rate=1e-2)).result(timeout=60)
    assert min(losses) < losses[0] / 2
    critic.save_state(name="critic").result(timeout=60)
    with pytest.raises(tinker.BadRequestError, match="cannot be sampled from"):
        critic.save_weights_for_sampler(name="critic").result(timeout=60)
    with pytest.raises(tinker.BadRequestError, match="trains no critic"):
        critic.forward_backward([datum()], "cross_entropy").result(timeout=60)
