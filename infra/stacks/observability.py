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
from constructs import Construct

from infra.constructs.estate import Store
from infra.settings import StageSettings

_FIVE = Duration.minutes(5)
_STATES = ("ExecutionsStarted", "ExecutionsSucceeded", "ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted")


class ObservabilityStack(Stack):
    def __init__(
        self, scope: Construct, id: str, *, settings: StageSettings, store: Store, functions: Mapping[str, lambda_.Function],
        queues: Mapping[str, sqs.Queue], machines: Sequence[str], api: gateway.HttpApi, **stack: Any,
    ) -> None:
        super().__init__(scope, id, **stack)
        self._topic = sns.Topic(self, "Alarms", master_key=store.key, enforce_ssl=True)
        if settings.alarm_email:
            self._topic.add_subscription(subscriptions.EmailSubscription(settings.alarm_email))
        executions = {name: _total("AWS/States", name) for name in _STATES}
        throttled = _total("AWS/States", "ExecutionThrottled")
        calls = _total("AWS/Lambda", "Throttles")
        late = watch.Metric(namespace="Aslant", metric_name="SlaBreached", statistic="Sum", period=_FIVE)
        failed = watch.MathExpression(
            expression="failed + timed", period=_FIVE, label="failed executions",
            using_metrics={"failed": executions["ExecutionsFailed"], "timed": executions["ExecutionsTimedOut"]},
        )  # fmt: skip
        self._alarm("Failures", failed, settings.failure_alarm, "executions fail")
        self._alarm("Throttled", throttled, 1, "Step Functions throttles: raise the quota of starts or of state transitions")
        self._alarm("FunctionsThrottled", calls, 1, "Lambda throttles: raise the quota of concurrent executions")
        self._alarm("Late", late, 1, "an execution has not ended in the time that its workflow promises")
        for name, queue in queues.items():
            metric = queue.metric_approximate_number_of_messages_visible(period=_FIVE, statistic="Maximum")
            self._alarm(f"Dead{''.join(part.title() for part in name.split('-'))}", metric, 1, f"{name} is not empty")
        stuck = functions["aslant-publish-events"].metric(
            "IteratorAge", period=_FIVE, statistic="Maximum", label="age of the streams"
        )
        self._alarm("StreamsBehind", stuck, 15 * 60 * 1000, "the tables' streams are a quarter of an hour behind")
        errors = functions["aslant-api"].metric_errors(period=_FIVE)
        self._alarm("ApiFails", errors, 1, "the API's function ends with errors")
        board = watch.Dashboard(self, "Dashboard", default_interval=Duration.hours(12))
        api_metrics = [
            one(period=_FIVE) for one in (api.metric_count, api.metric_client_error, api.metric_server_error)
        ]
        board.add_widgets(
            watch.GraphWidget(title="Executions", left=[*executions.values()], width=12),
            watch.GraphWidget(title="Duration of executions", left=[_duration(one) for one in machines[:20]], width=12),
        )
        board.add_widgets(
            watch.GraphWidget(title="Functions: errors and throttles", left=[
                one.metric_errors(period=_FIVE, label=name) for name, one in functions.items()
            ], right=[calls, throttled], width=12),
            watch.GraphWidget(title="Functions: time", left=[
                one.metric_duration(period=_FIVE, label=name, statistic="p95") for name, one in functions.items()
            ], width=12),
        )  # fmt: skip
        board.add_widgets(
            watch.GraphWidget(title="API", left=api_metrics, right=[api.metric_latency(period=_FIVE)], width=12),
            watch.GraphWidget(title="Late, dead letters, streams", left=[late, *(
                one.metric_approximate_number_of_messages_visible(period=_FIVE) for one in queues.values()
            )], right=[stuck], width=12),
        )  # fmt: skip
        if settings.budget_usd:
            _budget(self, settings)

    def _alarm(self, id: str, metric: watch.IMetric, threshold: float, about: str) -> None:
        alarm = watch.Alarm(
            self, id, metric=metric, threshold=threshold, evaluation_periods=1, alarm_description=about,
            comparison_operator=watch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=watch.TreatMissingData.NOT_BREACHING,
        )  # fmt: skip
        alarm.add_alarm_action(actions.SnsAction(self._topic))


def _total(namespace: str, name: str) -> watch.Metric:
    return watch.Metric(namespace=namespace, metric_name=name, statistic="Sum", period=_FIVE)


def _duration(machine: str) -> watch.Metric:
    return watch.Metric(
        namespace="AWS/States", metric_name="ExecutionTime", statistic="p95", period=_FIVE,
        dimensions_map={"StateMachineArn": machine},
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
