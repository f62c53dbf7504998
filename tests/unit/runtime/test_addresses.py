"""Which addresses are public, in every spelling, and what the allow-list opens."""

from __future__ import annotations

import contextlib
import ipaddress
import socket

import pytest

from aslant.adapters.guarded_http import GuardedHttp, resolve, target
from aslant.addresses import AllowList, is_public
from aslant.errors import AuthorizationError, NetworkError, ValidationError
from aslant.http_ports import HttpRequest


@pytest.mark.parametrize("address", [
    "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "0.1.2.3", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1",
    "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "2002:7f00:1::", "2002:a00:1::",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "fec0::1", "2001:db8::1", "::ffff:169.254.169.254", "64:ff9b:1::a00:1",
])
def test_not_public(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", [
    "8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "2a00:1450:4001::1", "64:ff9b::808:808",
])
def test_public(address):
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0x7f000001", "[::1]", "[::ffff:7f00:1]",
                                  "127.0.0.1.", "0", "localhost", "LOCALHOST"])
def test_other_spellings_of_loopback_are_refused(host):
    with pytest.raises((AuthorizationError, NetworkError)) as caught:
        GuardedHttp().send(HttpRequest("GET", f"http://{host}:9/x", timeout=5))
    if host not in ("LOCALHOST",):
        assert isinstance(caught.value, AuthorizationError)


@pytest.mark.parametrize(("entries", "host", "address", "open_"), [
    (["127.0.0.1"], "x", "127.0.0.1", True),
    (["127.0.0.1"], "x", "127.0.0.2", False),
    (["10.1.0.0/16"], "x", "10.1.2.3", True),
    (["10.1.0.0/16"], "x", "10.2.2.3", False),
    (["build.internal"], "Build.Internal.", "10.2.2.3", True),
    (["build.internal"], "evil-build.internal", "10.2.2.3", False),
    (["*.internal"], "a.internal", "10.2.2.3", True),
    (["*.internal"], "internal", "10.2.2.3", False),
    (["::1"], "x", "::1", True),
    (["127.0.0.0/8"], "x", "::ffff:127.0.0.1", True),
    (["::1"], "x", "127.0.0.1", False),
    ([], "x", "8.8.8.8", True),
])
def test_allow_list(entries, host, address, open_):
    assert AllowList.of(entries).permits(host, ipaddress.ip_address(address)) is open_


def test_the_checked_address_is_the_one_that_is_connected_to():
    """A name whose second look-up would give loopback is looked up only once, and its bad address is never used."""
    asked = []

    def resolver(host, port):
        asked.append(host)
        return [ipaddress.ip_address("127.0.0.1" if len(asked) > 1 else "192.0.2.1")]

    connected = []
    listener = socket.create_server(("127.0.0.1", 0))
    try:
        http = GuardedHttp(("192.0.2.0/24",), resolver)
        with pytest.raises(Exception) as caught:
            http.send(HttpRequest("GET", f"http://rebind.example:{listener.getsockname()[1]}/", timeout=0.3))
        listener.settimeout(0.05)
        with contextlib.suppress(TimeoutError):
            connected.append(listener.accept())
    finally:
        listener.close()
    assert type(caught.value).__name__ in ("StepTimeout", "NetworkError")
    assert asked == ["rebind.example"]
    assert connected == []


def test_private_addresses_of_a_mixed_answer_are_left_out():
    tried = []

    class Watching(GuardedHttp):
        __slots__ = ()

        def _exchange(self, here, address, request, deadline):
            tried.append(str(address))
            raise NetworkError("stop")

    both = [ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("8.8.8.8")]
    with pytest.raises(NetworkError):
        Watching((), lambda host, port: both).send(HttpRequest("GET", "http://mixed.example/"))
    assert tried == ["8.8.8.8"]


def test_unknown_hosts_are_network_errors():
    with pytest.raises(NetworkError):
        resolve("no-such-host.invalid", 80)


def test_targets_hide_what_may_be_secret():
    here = target("HTTPS://Example.com:8443/a b".replace(" ", "%20") + "?token=abc#frag")
    assert "token" not in here.shown and here.path == "/a%20b?token=abc"
    assert target("http://münchen.example/ü").host == "xn--mnchen-3ya.example"
    assert target("http://example.com").authority == "example.com"
    assert target("http://[::1]:80/").authority == "[::1]"
    with pytest.raises(ValidationError):
        target("http://a\x00b/")


@pytest.mark.parametrize("address", [
    "192.0.0.9", "192.0.0.10", "192.88.99.1", "2001:1::1", "2001:1::2", "2002:808:808::1", "3fff::1", "5f00::1", "100::1",
    "64:ff9b:1::808:808", "2606:4700::5efe:a00:1", "2606:4700::200:5efe:7f00:1", "::ffff:0:7f00:1",
])
def test_close_by_although_some_call_it_global(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", [
    "127.1", "017700000001", "0x7f.0x0.0x0.0x1", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "localhost.", "localhost..",
    "ⅼocalhost", "loc\u00adalhost", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[fd00:ec2::254]", "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]", "[2001:0:1:1:0:0:80ff:fffe]", "[::127.0.0.1]", "100.64.0.1", "255.255.255.255", "224.0.0.1", "0.0.0.0",
    "[::]", "192.0.0.192", "169.254.169.254?x", "169.254.169.254#x",
])
def test_spellings_that_reach_nobody_private(host):
    with pytest.raises(AuthorizationError):
        GuardedHttp().send(HttpRequest("GET", f"http://{host}/", timeout=5))


@pytest.mark.parametrize("host", [
    "[fe80::1%25lo]", "[fe80::1%lo]", "[::1].example.com", "[::1]x:80", "[127.0.0.1]", "[::1", "::1", "127.0.0.1%00.example.com",
    "127.0.0.1%2eexample", "127.0.0.1;x", "a@127.0.0.1", "example.com@127.0.0.1", "127.0.0.1\\@example.com", "127.0.0.1:0",
    "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:80:90", "127.0.0.1:８０", "ü" * 300, "a" * 64 + ".com", "\u200d", "\ud800x.com",
    "127.0.0.1\u2028", "127.0.0.1\r\nHost: x", "..", "[v1.x]:",
])
def test_hosts_that_are_none_are_not_looked_up(host):
    asked = []
    http = GuardedHttp((), lambda name, port: asked.append(name) or [ipaddress.ip_address("127.0.0.1")])
    with pytest.raises(ValidationError):
        http.send(HttpRequest("GET", f"http://{host}/", timeout=5))
    assert asked == []
