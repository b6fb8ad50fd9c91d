"""The certificate of a page: checked before it is used, renewed without a restart.

What is wrong with the files is found by a handshake in memory, as a browser would do it that trusts this certificate.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

from eqa_nodes.core.errors import ConfigError

LOOK_S = 5.0  # how often the files are looked at
HANDSHAKE_S = 10.0  # that a client may take; a connection that is held longer is closed
SOON_DAYS = 14.0  # before its end a certificate is complained of
_NOT_YET, _EXPIRED = 9, 10  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED


class Certificate:
    """A certificate with its key; `context` serves it, from TLS 1.2 on. trouble: why a new one is not used, or when it
    ends; "" = all is well."""

    def __init__(self, cert: Path, key: Path) -> None:
        """cert: PEM with the chain. Raises ConfigError, with the remedy."""
        self.cert, self.key, self.trouble = cert, key, ""
        self._seen = self._stats()
        self._until = checked(cert, key)
        self.context = _loaded(cert, key)
        self._ended = threading.Event()
        self._judge()

    def watch(self, ring: Callable[[], None]) -> None:
        """Look at the files from time to time, until `close`. ring: called when something changed."""
        def look() -> None:
            while not self._ended.wait(LOOK_S):
                before = self.trouble
                self.renew()
                if self.trouble != before:
                    ring()

        threading.Thread(target=look, name="certificate", daemon=True).start()

    def renew(self) -> bool:
        """Use the files if they have changed and are right; else what was right before goes on. Return whether."""
        now = self._stats()
        if now == self._seen:
            self._judge()
            return False
        try:
            until = checked(self.cert, self.key)
            self.context.load_cert_chain(self.cert, self.key, _no_password)
        except (ConfigError, OSError) as error:
            self.trouble = f"the new certificate is not used, the old one is: {error}"
            return False
        self._seen, self._until = now, until
        self._judge()
        return True

    def close(self) -> None:
        """Look at the files no longer."""
        self._ended.set()

    def _judge(self) -> None:
        """Complain of an end that is near; a new certificate that is wrong goes first."""
        days = (self._until - time.time()) / 86400.0
        if self._stats() != self._seen and self.trouble:
            return
        when = "has expired: browsers warn" if days <= 0.0 else f"expires in {days:.0f} days"
        self.trouble = f"the certificate {self.cert} {when}; renew it, no restart is needed" * (days < SOON_DAYS)

    def _stats(self) -> object:
        try:
            return [(s.st_mtime_ns, s.st_ino, s.st_size) for s in (self.cert.stat(), self.key.stat())]
        except OSError as error:
            return str(error)


def checked(cert: Path, key: Path) -> float:
    """Return when a certificate ends, seconds since 1970. Raises ConfigError for files that cannot be served."""
    server = _loaded(cert, key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(cert)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (ours, theirs, ours, theirs):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            if error.verify_code == _EXPIRED:
                raise ConfigError(f"the certificate {cert} has expired: renew it") from error
            if error.verify_code == _NOT_YET:
                raise ConfigError(f"the certificate {cert} is not valid yet: is this machine's clock right?") from error
            raise ConfigError(f"the certificate {cert} cannot be used: {error.verify_message}") from error
        except ssl.SSLError as error:
            raise ConfigError(f"the certificate {cert} cannot be used: {error}") from error
    return float(ssl.cert_time_to_seconds(str((ours.getpeercert() or {})["notAfter"])))


def _loaded(cert: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for file, what in ((cert, "certificate"), (key, "key")):
        try:
            file.open("rb").close()
        except OSError as error:
            raise ConfigError(f"the {what} {file} cannot be read: {error.strerror}") from error
    try:
        context.load_cert_chain(cert, key, _no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ConfigError(f"the key {key} is not that of the certificate {cert}: name the two that belong together"
                              ) from error
        raise ConfigError(f"{cert} and {key} are not a certificate and its key in PEM ({error.reason or error}): name "
                          "the chain with --tls-cert and the key with --tls-key") from error
    return context


def _no_password() -> str:
    raise ConfigError("the key is encrypted, and nobody is there to type its password: decrypt it (openssl pkey -in "
                      "KEY -out NEW), and let only this user read it")
