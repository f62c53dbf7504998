"""Who may call the API: a Cognito user pool, or any OIDC issuer that the settings name."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from aslant.access import ROLES
from infra.constructs.nag import accept
from infra.settings import StageSettings


class Identity(Construct):
    """`issuer`, `audience` and `keys_url` are those of tokens; `pool_arn` is empty with an issuer of one's own."""

    def __init__(self, scope: Construct, id: str, *, settings: StageSettings, removal: RemovalPolicy) -> None:
        super().__init__(scope, id)
        self.pool_arn = ""
        if settings.issuer:
            self.issuer, self.audience = settings.issuer, settings.audience
            self.keys_url = settings.keys_url or f"{settings.issuer.rstrip('/')}/.well-known/jwks.json"
            return
        pool = cognito.UserPool(
            self, "Users", self_sign_up_enabled=False, removal_policy=removal,
            sign_in_aliases=cognito.SignInAliases(email=True), mfa=cognito.Mfa.REQUIRED,
            mfa_second_factor=cognito.MfaSecondFactor(otp=True, sms=False),
            password_policy=cognito.PasswordPolicy(
                min_length=12, require_digits=True, require_lowercase=True, require_uppercase=True, require_symbols=True,
            ),
            custom_attributes={"tenant": cognito.StringAttribute(min_len=1, max_len=64, mutable=False)},
            feature_plan=cognito.FeaturePlan.PLUS,
            standard_threat_protection_mode=cognito.StandardThreatProtectionMode.FULL_FUNCTION,
        )  # fmt: skip
        for role in ROLES:
            cognito.CfnUserPoolGroup(self, f"Role{role.title()}", user_pool_id=pool.user_pool_id, group_name=role)
        client = pool.add_client(
            "Client", auth_flows=cognito.AuthFlow(user_srp=True), prevent_user_existence_errors=True,
            id_token_validity=Duration.hours(1), access_token_validity=Duration.hours(1),
        )  # fmt: skip
        accept(pool, {"AwsSolutions-COG4": "the authorizer is one of API Gateway's HTTP APIs, which the rule does not know"})
        stack = Stack.of(self)
        self.pool_arn = pool.user_pool_arn
        self.issuer = f"https://cognito-idp.{stack.region}.{stack.url_suffix}/{pool.user_pool_id}"
        self.audience, self.keys_url = client.user_pool_client_id, f"{self.issuer}/.well-known/jwks.json"
