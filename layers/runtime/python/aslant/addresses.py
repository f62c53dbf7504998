"""Which network addresses a step may talk to: public ones, and what the installation's allow-list opens."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
# What Python's versions call global by turns, or at all, and what is answered by a machine close by: protocol assignments
# with their anycast addresses (RFC 7723, 8155), relays of 6to4 (RFC 7526), documentation (RFC 9637), segment routing
# (RFC 9602), NAT64 for local use (RFC 8215), and 6to4 itself.
_CLOSE: tuple[Network, ...] = tuple(map(ipaddress.ip_network, (
    "192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "100::/64", "2001::/23", "2002::/16", "3fff::/20", "5f00::/16",
)))


def is_public(address: Address) -> bool:
    """Whether an address is on the public internet, whatever it is wrapped in (mapped, 6to4, Teredo, NAT64)."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = embedded(address)
        if inner is not None and not is_public(inner):
            return False
        if address.ipv4_mapped is not None or address in _NAT64[0]:
            return True
        if address.is_site_local or (address.packed[:12] == bytes(12)):
            return False
    return not any(address in network for network in _CLOSE if network.version == address.version) and (
        address.is_global and not address.is_multicast and not address.is_reserved
        and not address.is_loopback and not address.is_link_local and not address.is_unspecified
    )


def embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that traffic to this one ends at, if there is one."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    isatap = address.packed[8:12] in (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")  # RFC 5214
    if isatap or any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(address.packed[12:])
    return None


@dataclass(frozen=True, slots=True)
class AllowList:
    """Hosts (`build.internal`), domains (`*.internal`) and blocks (`10.1.0.0/16`, `::1`) that may be private."""

    hosts: frozenset[str] = frozenset()
    domains: tuple[str, ...] = ()
    networks: tuple[Network, ...] = field(default=())

    @staticmethod
    def of(entries: Iterable[str]) -> AllowList:
        hosts, domains, networks = set(), [], []
        for entry in entries:
            text = entry.strip().lower().strip("[]")
            try:
                networks.append(ipaddress.ip_network(text, strict=False))
            except ValueError:
                if text.startswith("*."):
                    domains.append(text[1:])
                elif text:
                    hosts.add(text.rstrip("."))
        return AllowList(frozenset(hosts), tuple(domains), tuple(networks))

    def permits(self, host: str, address: Address) -> bool:
        """Whether a connection to `address`, which `host` resolved to, may be made."""
        if is_public(address):
            return True
        name = host.lower().rstrip(".")
        if name in self.hosts or any(name.endswith(domain) for domain in self.domains):
            return True
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self.networks if network.version == address.version)
