"""Which hosts a model may be asked at, and how much is sent and read: requests hold camera pictures and the API key."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.models.config import ModelConfig

HOSTS = "EQA_VLM_HOSTS"  # environment variable: hosts that are allowed on this machine, whatever a configuration says
_HTTP = ("it is neither this machine nor in a private network, and http:// would send pictures and the key "
         "unencrypted: use https://, or set model.allow_http (--allow-http)")


class EndpointPolicy:
    """The rules for one endpoint."""

    def __init__(self, config: ModelConfig, url: str, environ: Mapping[str, str] = os.environ) -> None:
        """Raises ConfigError where the configured URL itself breaks them."""
        self.config, self._own = config, _host(url)
        self._lists = [_listed(text) for text in (config.hosts, environ.get(HOSTS, "")) if text.strip()]
        for source, allowed in (("model.hosts", _listed(config.hosts)), (HOSTS, _listed(environ.get(HOSTS, "")))):
            if allowed and not _matches(self._own, allowed):
                raise ConfigError(f"{self._own} is not an allowed host of models ({source}: {', '.join(allowed)}): set "
                                  "the base URL to one of them, or add it there")
        if self._open_http(url) and not _private(_addresses(self._own)):
            raise ConfigError(f"base URL {url!r} cannot be used: {_HTTP}")

    async def check(self, url: str) -> None:
        """Raise ModelError for a request that may not be sent: a name may lead elsewhere than when this began."""
        host = _host(url)
        allowed = all(_matches(host, each) for each in self._lists) if self._lists else host == self._own
        if not allowed:
            raise ModelError(f"host not allowed: {host} is not an allowed host of models: set model.hosts, if it is "
                             "meant")
        if self._open_http(url):
            found = await asyncio.get_running_loop().run_in_executor(None, _addresses, host)
            if not _private(found):
                raise ModelError(f"host not allowed: {host} leads to {', '.join(found)}; {_HTTP}")

    def check_size(self, body: Mapping[str, Any]) -> None:
        """Raise ModelError for a request that is larger than allowed."""
        size, limit = _size(body["messages"]), self.config.request_mb * 1e6
        if size > limit:
            raise ModelError(f"too large: the request has {size / 1e6:.1f} MB, model.request_mb allows "
                             f"{limit / 1e6:g}: send fewer or smaller pictures (model.image_side_px, "
                             "model.picture_kb), or raise it")

    def _open_http(self, url: str) -> bool:
        return url.startswith("http://") and not self.config.allow_http


def _listed(text: str) -> list[str]:
    return [name.strip().lower() for name in text.split(",") if name.strip()]


def _matches(host: str, allowed: Iterable[str]) -> bool:
    return any(fnmatchcase(host, pattern) for pattern in allowed)


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def _addresses(host: str) -> Sequence[str]:
    """Return the IP addresses of a host; none for a name that nobody knows, which no request can reach."""
    try:
        return sorted({str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(host, None)})
    except (OSError, UnicodeError):
        return ()


def _private(addresses: Iterable[str]) -> bool:
    """Return whether no address is reachable over the internet."""
    return not any(ipaddress.ip_address(address).is_global for address in addresses)


def _size(value: Any) -> int:
    """Return about how many bytes a request has as JSON."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(each) for each in value.values())
    return sum(_size(each) for each in value) if isinstance(value, (list, tuple)) else 0
