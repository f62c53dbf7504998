"""A dashboard, and alarms that somebody has to do something about. `infra/README.md` has what, for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_cloudwatch as watch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from aslant import observability
from infra.constructs.estate import Store
from infra.settings import StageSettings

_FIVE, _HOUR = Duration.minutes(5), Duration.hours(1)
_ENDS = ("completed", "failed", "timed_out", "cancelled", "rolled_back")
_ANSWERS = ("granted", "rejected", "expired")
_BY_MACHINE = "{AWS/States,StateMachineArn}"  # a dashboard finds those that are published at run time, too


class ObservabilityStack(Stack):
    """Alarms go to the topic `Alarms`. Metrics of executions are the functions' own: Step Functions has them for each
    state machine only, and an alarm takes no search.
    """

    def __init__(
        self, scope: Construct, id: str, *, settings: StageSettings, store: Store, functions: Mapping[str, lambda_.Function],
        queues: Mapping[str, sqs.Queue], api: gateway.HttpApi, **stack: Any,
    ) -> None:
        super().__init__(scope, id, **stack)
        self._topic = sns.Topic(self, "Alarms", master_key=store.key, enforce_ssl=True)
        if settings.alarm_email:
            self._topic.add_subscription(subscriptions.EmailSubscription(settings.alarm_email))
        ended = {status: _own("Executions", _FIVE, status=status) for status in _ENDS}
        failed = _sum([ended["failed"], ended["timed_out"]], _FIVE, "failed executions")
        self._alarm("Failures", failed, settings.failure_alarm, "executions fail")
        unusual = watch.AnomalyDetectionAlarm(
            self, "FailureRate", metric=_own("Executions", _HOUR, status="failed"), std_devs=3, evaluation_periods=2,
            comparison_operator=watch.ComparisonOperator.GREATER_THAN_UPPER_THRESHOLD,
            treat_missing_data=watch.TreatMissingData.NOT_BREACHING,
            alarm_description="more executions fail than at other times",
        )
        unusual.add_alarm_action(actions.SnsAction(self._topic))
        low = unusual.node.default_child
        assert isinstance(low, watch.CfnAlarm)
        low.add_property_deletion_override("Period")  # CloudFormation takes none beside metrics
        starts = watch.Metric(
            namespace="AWS/States", metric_name="ThrottledEvents", dimensions_map={"APIName": "StartExecution"},
            statistic="Sum", period=_FIVE,
        )  # fmt: skip
        transitions = sfn.StateTransitionMetric.metric_throttled_events(period=_FIVE)
        throttled = _sum([starts, transitions], _FIVE, "throttled by Step Functions")
        self._alarm("Throttled", throttled, 1, "Step Functions throttles: raise the quota of starts or of state transitions")
        calls = watch.Metric(namespace="AWS/Lambda", metric_name="Throttles", statistic="Sum", period=_FIVE)
        self._alarm("FunctionsThrottled", calls, 1, "Lambda throttles: raise the quota of concurrent executions")
        late = _own("SlaBreached", _FIVE)
        self._alarm("Late", late, 1, "an execution has not ended in the time that its workflow promises")
        self._silence(
            "Stuck", "workflow_started", [f"workflow_{one}" for one in _ENDS], 24,
            "executions start, and for a day none has ended",
        )  # fmt: skip
        self._silence(
            "ApprovalsWaiting", "approval_requested", [f"approval_{one}" for one in _ANSWERS], settings.approval_alarm_hours,
            "approvals are asked for, and nobody answers",
        )  # fmt: skip
        for name, queue in queues.items():
            metric = queue.metric_approximate_number_of_messages_visible(period=_FIVE, statistic="Maximum")
            self._alarm(f"Dead{''.join(part.title() for part in name.split('-'))}", metric, 1, f"{name} is not empty")
        behind = functions["aslant-publish-events"].metric(
            "IteratorAge", period=_FIVE, statistic="Maximum", label="age of the streams"
        )
        self._alarm("StreamsBehind", behind, 15 * 60 * 1000, "the tables' streams are a quarter of an hour behind")
        errors = functions["aslant-api"].metric_errors(period=_FIVE)
        self._alarm("ApiFails", errors, 1, "the API's function ends with errors")
        board = watch.Dashboard(self, "Dashboard", default_interval=Duration.hours(12))
        api_metrics = [
            one(period=_FIVE) for one in (api.metric_count, api.metric_client_error, api.metric_server_error)
        ]
        board.add_widgets(
            watch.GraphWidget(title="Executions", left=[
                _found("ExecutionsStarted", "started"), *(one.with_(label=name) for name, one in ended.items()),
            ], width=12),
            watch.GraphWidget(title="Duration of executions", left=[_found("ExecutionTime", "", "p95")], width=12),
        )  # fmt: skip
        board.add_widgets(
            watch.GraphWidget(title="Failures", left=[failed], right=[late.with_(label="late")], width=12),
            watch.GraphWidget(title="Approvals", left=[
                _event(f"approval_{name}", _HOUR).with_(label=name) for name in ("requested", *_ANSWERS)
            ], right=[_waiting()], width=12),
        )  # fmt: skip
        board.add_widgets(
            watch.GraphWidget(title="Functions: errors", left=[
                one.metric_errors(period=_FIVE, label=name) for name, one in functions.items()
            ], width=12),
            watch.GraphWidget(title="Functions: time", left=[
                one.metric_duration(period=_FIVE, label=name, statistic="p95") for name, one in functions.items()
            ], width=12),
        )  # fmt: skip
        board.add_widgets(
            watch.GraphWidget(title="Throttles", left=[throttled, calls.with_(label="functions")], width=12),
            watch.GraphWidget(title="Cost of models in US dollars", left=[
                _own("ExecutionCost", _HOUR, status=status).with_(label=status) for status in _ENDS
            ], width=12),
        )  # fmt: skip
        board.add_widgets(
            watch.GraphWidget(title="API", left=api_metrics, right=[api.metric_latency(period=_FIVE)], width=12),
            watch.GraphWidget(title="Dead letters, streams", left=[
                one.metric_approximate_number_of_messages_visible(period=_FIVE) for one in queues.values()
            ], right=[behind], width=12),
        )  # fmt: skip
        if settings.budget_usd:
            _budget(self, settings)

    def _silence(self, id: str, begins: str, ends: Sequence[str], hours: int, about: str) -> None:
        """An alarm for a time of so many hours in which something began, and nothing ended."""
        period = Duration.hours(min(hours, 24))  # a day is the longest
        names = [f"end{number}" for number, _ in enumerate(ends)]
        over = " + ".join(f"FILL({name}, 0)" for name in names)
        metric = watch.MathExpression(
            expression=f"IF(FILL(begun, 0) > 0 AND ({over}) == 0, 1, 0)", period=period, label=about,
            using_metrics={"begun": _event(begins, period), **{
                name: _event(kind, period) for name, kind in zip(names, ends, strict=True)
            }},
        )  # fmt: skip
        self._alarm(id, metric, 1, about)

    def _alarm(self, id: str, metric: watch.IMetric, threshold: float, about: str) -> None:
        alarm = watch.Alarm(
            self, id, metric=metric, threshold=threshold, evaluation_periods=1, alarm_description=about,
            comparison_operator=watch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=watch.TreatMissingData.NOT_BREACHING,
        )  # fmt: skip
        alarm.add_alarm_action(actions.SnsAction(self._topic))


def _own(name: str, period: Duration, **dimensions: str) -> watch.Metric:
    """A metric that functions write, of all workflows together."""
    return watch.Metric(
        namespace=observability.NAMESPACE, metric_name=name, statistic="Sum", period=period, dimensions_map=dimensions
    )


def _event(kind: str, period: Duration) -> watch.Metric:
    return _own("Events", period, event_type=kind)


def _sum(metrics: Sequence[watch.IMetric], period: Duration, label: str) -> watch.MathExpression:
    names = {f"part{number}": metric for number, metric in enumerate(metrics)}
    text = " + ".join(f"FILL({name}, 0)" for name in names)
    return watch.MathExpression(expression=text, period=period, label=label, using_metrics=names)


def _found(name: str, label: str, statistic: str = "Sum") -> watch.MathExpression:
    """A metric of Step Functions for all state machines that there are: one line, or one for each without a label."""
    search = f"SEARCH('{_BY_MACHINE} MetricName=\"{name}\"', '{statistic}', 300)"
    return watch.MathExpression(expression=f"SUM({search})" if label else search, period=_FIVE, label=label)


def _waiting() -> watch.MathExpression:
    """Approvals that were asked for in the time shown, and not answered in it."""
    names = {f"answer{number}": _event(f"approval_{kind}", _HOUR) for number, kind in enumerate(_ANSWERS)}
    answered = " - ".join(f"FILL({name}, 0)" for name in names)
    return watch.MathExpression(
        expression=f"RUNNING_SUM(FILL(asked, 0) - {answered})", period=_HOUR, label="waiting",
        using_metrics={"asked": _event("approval_requested", _HOUR), **names},
    )  # fmt: skip


def _budget(scope: Construct, settings: StageSettings) -> None:
    subscribers = [budgets.CfnBudget.SubscriberProperty(address=settings.alarm_email, subscription_type="EMAIL")]
    notice = budgets.CfnBudget.NotificationWithSubscribersProperty(
        notification=budgets.CfnBudget.NotificationProperty(
            comparison_operator="GREATER_THAN", notification_type="FORECASTED", threshold=100,
        ),
        subscribers=subscribers,
    )  # fmt: skip
    budgets.CfnBudget(
        scope, "Budget",
        budget=budgets.CfnBudget.BudgetDataProperty(
            budget_type="COST", time_unit="MONTHLY",
            budget_limit=budgets.CfnBudget.SpendProperty(amount=settings.budget_usd, unit="USD"),
            cost_filters={"TagKeyValue": [f"user:project${settings.name}"]},
        ),
        notifications_with_subscribers=[notice] if settings.alarm_email else [],
    )  # fmt: skip
