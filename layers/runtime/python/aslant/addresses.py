"""Which network addresses a step may talk to: public ones, and what the installation's allow-list opens."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


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
    return (
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
    if any(address in network for network in _NAT64):
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
