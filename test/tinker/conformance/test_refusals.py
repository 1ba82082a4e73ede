"""Not covered by SkyRL's tests: whether a client continues after a rejected request."""

import pytest
import tinker
from tinker import types

from tinker.proto.tinker_public_pb2 import ForwardBackwardRequest

from test_api import BASE_MODEL, make_datum, service_client, api_server  # noqa: F401


def test_client_goes_on_after_a_refusal(service_client):  # noqa: F811
    training_client = service_client.create_lora_training_client(base_model=BASE_MODEL)
    data = [make_datum(training_client.get_tokenizer(), "Hello", " world")]
    path = training_client.save_state(name="first").result().path
    # The client counts these, too, and uses the next number for later requests.
    with pytest.raises(tinker.BadRequestError, match="LoadWeights is not permitted"):
        training_client.load_state(path).result(timeout=60)
    with pytest.raises(tinker.BadRequestError, match="loss_fn"):
        training_client.forward_backward(data, "dpo").result(timeout=60)
    training_client.forward_backward(data, "cross_entropy").result(timeout=60)
    training_client.optim_step(types.AdamParams(learning_rate=1e-4)).result(timeout=60)


# Newer clients have string options, which they send in a separate map.
if "loss_fn_config_v2" in ForwardBackwardRequest.DESCRIPTOR.fields_by_name:

    def test_options_that_are_texts(service_client):  # noqa: F811
        training_client = service_client.create_lora_training_client(base_model=BASE_MODEL)
        data = [make_datum(training_client.get_tokenizer(), "Hello", " world")]

        def train(loss, options):
            return training_client.forward_backward(data, loss, options).result(timeout=60)

        with pytest.raises(tinker.BadRequestError, match="loss_fn_config.kl_mode: is no option of ppo here"):
            train("ppo", {"kl_mode": "k3"})
        with pytest.raises(tinker.BadRequestError, match="clip_low_threshold: is a text, expected a number"):
            train("ppo", {"clip_low_threshold": "soft"})
        with pytest.raises(tinker.BadRequestError, match="custom"):
            train("custom", {"loss_id": "x"})
        train("cross_entropy", {})
