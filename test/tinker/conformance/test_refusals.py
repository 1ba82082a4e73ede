"""What SkyRL's tests do not ask: whether a client goes on after a request that was refused."""

import pytest
import tinker
from tinker import types

from test_api import BASE_MODEL, make_datum, service_client, api_server  # noqa: F401


def test_client_goes_on_after_a_refusal(service_client):  # noqa: F811
    training_client = service_client.create_lora_training_client(base_model=BASE_MODEL)
    data = [make_datum(training_client.get_tokenizer(), "Hello", " world")]
    path = training_client.save_state(name="first").result().path
    # The client counts these, too, and sends what follows under the next number.
    with pytest.raises(tinker.BadRequestError, match="LoadWeights is not permitted"):
        training_client.load_state(path).result(timeout=60)
    with pytest.raises(tinker.BadRequestError, match="loss_fn"):
        training_client.forward_backward(data, "dpo").result(timeout=60)
    training_client.forward_backward(data, "cross_entropy").result(timeout=60)
    training_client.optim_step(types.AdamParams(learning_rate=1e-4)).result(timeout=60)
