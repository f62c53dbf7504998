"""The wrapper: what goes in, what comes out, and under which name a failure leaves."""

from __future__ import annotations

import time
import traceback
import uuid

import pytest

from aslant import bootstrap, errors
from aslant.configs.base import Config, Text
from aslant.contracts import CLAIM_THRESHOLD, MAX_PAYLOAD
from aslant.error_names import canonical
from aslant.step import StepRun, result, retry_name, step


class Any_(Config):
    value: object = None
    text: Text = ""


def handler_of(logic):
    return step("test", Any_)(logic)


def event(config=None, **more):
    return {"step": "review", "type": "test", "execution": {"id": "e1", "tenant": "acme"},
            "config": config or {}, **more}


def another(config=None, **more):
    """A step of an execution that has no records yet."""
    return event(config, execution={"id": str(uuid.uuid4()), "tenant": "acme"}, **more)


def after(attempts, **more):
    """The step's next event in an execution in which it failed so many times."""
    for _ in range(attempts):
        failure(handler_of(fail), event())
    return event(**more)


def fail(config, run):
    raise errors.ServerError("down")


def failure(handler, payload):
    with pytest.raises(Exception) as caught:
        handler(payload, None)
    return caught.value


class FakeSecrets:
    def __init__(self, **values: str) -> None:
        self.values = values

    def get(self, tenant: str, name: str) -> str:
        if f"{tenant}_{name}" not in self.values:
            raise errors.SecretNotFound(f"there is no secret {name!r}")
        return self.values[f"{tenant}_{name}"]


@pytest.fixture
def secrets(monkeypatch):
    port = FakeSecrets(acme_token="s3cr3t-value", acme_db='{"user": "ada", "password": "hunter22", "port": 5432}',
                       acme_pin="0042", other_token="not-yours")
    monkeypatch.setattr(bootstrap, "secrets", lambda settings: port)
    return port


def test_a_result_passes_through():
    handler = handler_of(lambda config, run: result({"got": config.value}, calls=1))
    assert handler(event({"value": [1, None, "é"]}), None) == {"output": {"got": [1, None, "é"]}, "usage": {"calls": 1}}


def test_what_the_logic_is_told():
    seen: list[StepRun] = []
    handler = handler_of(lambda config, run: seen.append(run) or result(None))

    class Context:
        def get_remaining_time_in_millis(self):
            return 10_000

    handler(event(iteration=[2, 0], token="t", timeout=60), Context())
    handler(event(execution="arn:aws:states:us-east-1:1:execution:m:e", timeout=5), None)
    run, by_hand = seen
    assert (run.label, run.tenant, run.execution, run.attempt, run.run, run.token) == ("review[2][0]", "acme", "e1", 0, 1, "t")
    assert 5 < run.deadline - time.monotonic() <= 9.5
    assert by_hand.execution.startswith("arn:") and by_hand.tenant == "default"
    assert by_hand.remaining() <= 5 and by_hand.remaining(1) <= 1
    assert run.idempotency_key != by_hand.idempotency_key


def test_a_short_attempt_keeps_most_of_its_time():
    class Context:
        def get_remaining_time_in_millis(self):
            return 400

    seen: list[float] = []
    handler_of(lambda config, run: seen.append(run.deadline - time.monotonic()) or result(None))(event(), Context())
    assert 0.1 < seen[0] <= 0.36


@pytest.mark.parametrize("payload", [None, [], {}, {"step": "a"}, {"config": {}}, {"step": 1, "config": {}}])
def test_payloads_that_are_none(payload):
    assert isinstance(failure(handler_of(lambda config, run: result(None)), payload), errors.ValidationError)


def test_secrets_are_put_in_place_by_pointer(secrets):
    handler = handler_of(lambda config, run: result([len(str(config.value)), config.value["list"][1]["a/b"]["port"],
                                                     type(config.value["pin"]).__name__]))
    places = {
        "/value/list/1/a~1b": [{"secret": "db"}],
        "/value/pin": [{"secret": "pin"}],
        "/text": ["Bearer ", {"secret": "token"}, "/", {"value": {"n": 100.0}}, {"value": None}, {"value": "{x}"}],
    }
    config = {"value": {"list": [0, {"a/b": None}], "pin": None}}
    assert handler(event(config, secrets=places), None)["output"][1:] == [5432, "str"]
    texts: list[str] = []
    handler_of(lambda config, run: texts.append(config.text) or result(None))(another(config, secrets=places), None)
    assert texts == ['Bearer s3cr3t-value/{"n":100}{x}']
    assert config == {"value": {"list": [0, {"a/b": None}], "pin": None}}


def test_a_value_from_outside_never_names_a_secret(secrets):
    handler = handler_of(lambda config, run: result(config.value))
    config = {"value": {"secret": "token", "text": "{{ secrets.token }}"}}
    assert handler(event(config, secrets={}), None)["output"] == config["value"]


def test_secrets_do_not_leave_by_the_output_nor_by_an_error(secrets):
    def leak(config, run):
        if config.value == "raise":
            raise RuntimeError(f"could not log in with {config.text}")
        return result({"echo": config.text, "nested": [{config.text: 1}], "b64": "czNjcjN0LXZhbHVl"})

    places = {"/text": [{"secret": "token"}]}
    output = handler_of(leak)(event({}, secrets=places), None)
    assert output["output"] == {"echo": "***", "nested": [{"***": 1}], "b64": "***"}
    error = failure(handler_of(leak), another({"value": "raise"}, secrets=places))
    assert type(error).__name__ == "RuntimeError"
    assert str(error) == "step review: could not log in with ***"
    assert error.__cause__ is None and error.__context__ is None
    assert "s3cr3t" not in "".join(traceback.format_exception(error))


def test_the_password_of_a_structured_secret_is_hidden_but_its_port_is_not(secrets):
    handler = handler_of(lambda config, run: result({"all": config.value, "text": "hunter22 at port 5432 as ada"}))
    output = handler(event({}, secrets={"/value": [{"secret": "db"}]}), None)["output"]
    assert output == {"all": {"user": "ada", "password": "***", "port": 5432}, "text": "*** at port 5432 as ada"}


@pytest.mark.parametrize(("places", "name"), [
    ({"/text": [{"secret": "nope"}]}, "SecretNotFound"),
    ({"/text": [{"secret": "a b"}]}, "ValidationError"),
    ({"/value/9": [{"secret": "token"}]}, "ValidationError"),
])
def test_secrets_that_cannot_be_placed(secrets, places, name):
    handler = handler_of(lambda config, run: result(None))
    error = failure(handler, event({"value": [1]}, secrets=places))
    assert type(error).__name__ == name and str(error).startswith("step review: ")


def test_errors_name_the_step_and_the_iteration_and_keep_their_class():
    class DeploymentError(Exception):
        pass

    def fail(kind):
        def logic(config, run):
            raise kind("no")
        return handler_of(logic)

    error = failure(fail(DeploymentError), event(iteration=[1]))
    assert (type(error).__name__, str(error)) == ("DeploymentError", "step review[1]: no")
    error = failure(fail(errors.ServerError), event())
    assert type(error) is errors.ServerError and str(error) == "step review: no"
    assert str(failure(fail(KeyError), event())) == "step review: missing key 'no'"


@pytest.mark.parametrize(("length", "fits"), [(CLAIM_THRESHOLD - 2, True), (CLAIM_THRESHOLD - 1, False)])
def test_a_large_result_is_stored_by_its_utf8_bytes_of_json(length, fits, stored):
    for character, width in (("x", 1), ("界", 3), ("🙂", 4), ("\n", 2)):
        text = character * (length // width) + "x" * (length % width)
        handler = handler_of(lambda config, run, text=text: result(text))
        output = handler(another(), None)["output"]
        assert (output == text) is fits
        if not fits:
            assert output["size"] == CLAIM_THRESHOLD + 1
            seen = handler_of(lambda config, run: result(len(config.value)))
            assert seen(another(config={"value": output}), None)["output"] == len(text)


def test_what_the_machine_looks_into_cannot_be_stored():
    handler = handler_of(lambda config, run: result("x" * MAX_PAYLOAD))
    error = failure(handler, another(iteration=[7], claims={"keep": [""]}))
    assert type(error) is errors.PayloadTooLarge
    assert "review[7]" in str(error) and "262,146" in str(error)


def test_later_iterations_of_a_loop_have_less_room():
    def length(index):
        handler = handler_of(lambda config, run: result("x" * 1000))
        return len(str(handler(another(iteration=[index], claims={"shared": True}), None)["output"]))

    assert [length(index) for index in (0, 23)] == [1000, 1000]
    assert length(24) < 300
    assert length(2000) < 300


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), {"a": b"x"}, {("a",): 1}])
def test_results_that_are_not_json(value):
    assert isinstance(failure(handler_of(lambda config, run: result(value)), event()), errors.ValidationError)


def test_a_result_that_contains_itself():
    loop: list = []
    loop.append(loop)
    assert isinstance(failure(handler_of(lambda config, run: result(loop)), event()), errors.ValidationError)


def plan(**more):
    return {"max_attempts": 4, "delays": [1, 1, 2], "on": [], **more}


@pytest.mark.parametrize(("kind", "attempt", "on", "name"), [
    (errors.ServerError, 0, [], "Retry.1"),
    (errors.ServerError, 2, [], "Retry.3"),
    (errors.ServerError, 3, [], None),
    (errors.ValidationError, 0, [], None),
    (ValueError, 0, [], None),
    (ValueError, 0, ["ValueError"], "Retry.1"),
    (ValueError, 0, ["States.ALL"], "Retry.1"),
    (errors.ServerError, 0, ["NetworkError"], None),
    (errors.StepTimeout, 0, canonical("timeout"), "Retry.1"),
    (errors.StepTimeout, 0, canonical("all"), "Retry.1"),
    (errors.AuthorizationError, 0, ["States.ALL"], None),
    (errors.ValidationError, 0, ["ValidationError"], None),
])
def test_which_failures_a_plan_retries(kind, attempt, on, name):
    assert retry_name(kind("x"), attempt, plan(on=on)) == name


@pytest.mark.parametrize(("attempt", "runs"), [(0, True), (2, True), (3, False), (5, False)])
def test_no_attempt_runs_beyond_the_plan(attempt, runs):
    ran = []
    handler = handler_of(lambda config, run: ran.append(1) or result("done"))
    payload = after(attempt, retry={"max_attempts": 3, "delays": [1, 2], "on": []})
    if runs:
        assert handler(payload, None)["output"] == "done"
    else:
        assert type(failure(handler, payload)).__name__ == "StepTimeout"
    assert bool(ran) is runs


@pytest.mark.parametrize(("retry_after", "number"), [(None, 1), (0, 1), (3, 3), (4, 3), (4.5, 4), (1000, 5)])
def test_adaptive_waits_at_least_as_long_as_it_was_asked_to(retry_after, number):
    error = errors.RateLimited("x", retry_after=retry_after)
    adaptive = {"max_attempts": 9, "delays": [1, 2, 4, 8, 16], "on": [], "adaptive": True}
    assert retry_name(error, 0, adaptive) == f"Retry.{number}"
    assert retry_name(error, 0, {**adaptive, "adaptive": False}) == "Retry.1"


def test_a_renamed_error_says_what_it_was():
    error = failure(handler_of(fail), event(retry=plan()))
    assert (type(error).__name__, str(error)) == ("Retry.1", "step review: down (ServerError)")
    assert [type(failure(handler_of(fail), event(retry=plan()))).__name__ for _ in range(3)] == \
        ["Retry.2", "Retry.3", "ServerError"]


