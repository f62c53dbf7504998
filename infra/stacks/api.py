"""The HTTP API in front of its function: who calls is checked before the function runs, and again in it."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_certificatemanager as certificates
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_wafv2 as waf
from constructs import Construct

from functions.api.permissions import ROUTES
from infra.constructs.function import access_logs
from infra.constructs.identity import Identity
from infra.constructs.nag import accept
from infra.settings import StageSettings

PREFIX = "/api/v1"
_HOOKS = "/hooks/"  # of what is open, this has the prefix
_FIELDS = ("requestId", "ip", "requestTime", "httpMethod", "routeKey", "path", "status", "protocol", "responseLength",
    "integrationErrorMessage", "authorizer.error")  # fmt: skip


class ApiStack(Stack):
    """`api` is the HTTP API; its address is the output `ApiUrl`."""

    def __init__(
        self, scope: Construct, id: str, *, settings: StageSettings, function: lambda_.IFunction, identity: Identity,
        stream: lambda_.IFunction, sockets: gateway.WebSocketApi,
        **stack: Any,
    ) -> None:
        super().__init__(scope, id, **stack)
        domain = None
        if settings.domain:
            certificate = certificates.Certificate.from_certificate_arn(self, "Certificate", settings.certificate)
            name = gateway.DomainName(self, "Domain", domain_name=settings.domain, certificate=certificate)
            domain = gateway.DomainMappingOptions(domain_name=name)
            CfnOutput(self, "DomainTarget", value=name.regional_domain_name, description="What the domain's CNAME is")
        api = gateway.HttpApi(
            self, "Api", description="Workflows, executions and approvals", create_default_stage=False,
            cors_preflight=gateway.CorsPreflightOptions(
                allow_origins=["*"], allow_headers=["authorization", "content-type", "if-match", "idempotency-key"],
                allow_methods=[gateway.CorsHttpMethod.ANY], expose_headers=["etag", "location"], max_age=Duration.minutes(10),
            ),
        )  # fmt: skip
        stage = gateway.HttpStage(
            self, "Stage", http_api=api, stage_name="$default", auto_deploy=True, domain_mapping=domain,
            throttle=gateway.ThrottleSettings(rate_limit=settings.api_rate, burst_limit=settings.api_burst),
        )  # fmt: skip
        access_logs(self, "AccessLogs", stage, settings, _FIELDS)
        target = integrations.HttpLambdaIntegration("Function", function)
        tokens = authorizers.HttpJwtAuthorizer("Tokens", identity.issuer, jwt_audience=[identity.audience])
        api.add_routes(
            path=f"{PREFIX}/{{proxy+}}", methods=[_method(name) for name in sorted({method for method, _ in ROUTES})],
            integration=target, authorizer=tokens,
        )  # fmt: skip
        for (method, path), rule in ROUTES.items():
            if rule is None:
                full = PREFIX + path if path.startswith(_HOOKS) else path
                for route in api.add_routes(path=full, methods=[_method(method)], integration=target):
                    accept(route, {"AwsSolutions-APIG4": "it needs no token: it tells nothing, or its link or call is signed"})
        follow = integrations.WebSocketLambdaIntegration("Stream", stream)
        for key in ("$connect", "$disconnect", "$default"):
            route = gateway.WebSocketRoute(
                self, f"Sockets{key[1:].title()}", web_socket_api=sockets, route_key=key, integration=follow
            )
            accept(route, {"AwsSolutions-APIG4": "the function checks the token, which browsers send in the address"})
        if settings.waf and identity.pool_arn:
            _firewall(self, identity.pool_arn)
        self.api = api
        CfnOutput(self, "ApiUrl", value=f"https://{settings.domain}" if settings.domain else api.api_endpoint)


def _method(name: str) -> gateway.HttpMethod:
    return gateway.HttpMethod(name)


def _firewall(scope: Construct, pool: str) -> None:
    """In front of the sign-in: an HTTP API takes no web ACL itself."""
    visible = waf.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name="aslant", sampled_requests_enabled=True
    )
    rules = [
        waf.CfnWebACL.RuleProperty(
            name=name, priority=number, visibility_config=visible,
            override_action=waf.CfnWebACL.OverrideActionProperty(none={}),
            statement=waf.CfnWebACL.StatementProperty(
                managed_rule_group_statement=waf.CfnWebACL.ManagedRuleGroupStatementProperty(vendor_name="AWS", name=name),
            ),
        )
        for number, name in enumerate(("AWSManagedRulesCommonRuleSet", "AWSManagedRulesAmazonIpReputationList"))
    ]  # fmt: skip
    limit = waf.CfnWebACL.RuleProperty(
        name="rate", priority=9, visibility_config=visible, action=waf.CfnWebACL.RuleActionProperty(block={}),
        statement=waf.CfnWebACL.StatementProperty(
            rate_based_statement=waf.CfnWebACL.RateBasedStatementProperty(limit=1000, aggregate_key_type="IP"),
        ),
    )  # fmt: skip
    acl = waf.CfnWebACL(
        scope, "Firewall", scope="REGIONAL", default_action=waf.CfnWebACL.DefaultActionProperty(allow={}),
        visibility_config=visible, rules=[*rules, limit],
    )  # fmt: skip
    waf.CfnWebACLAssociation(scope, "FirewallOfPool", resource_arn=pool, web_acl_arn=acl.attr_arn)
