"""TLS: from 1.2 on, wrong files by name."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import http.client
import socket
import ssl
import subprocess
import warnings
from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from eqa_nodes.console.server import rules_for, tls_context
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.testing.waiting import WAIT_S
from tests.fixtures.certificates import HAVE, make_certificate
from tests.fixtures.console_server import serving

pytestmark = pytest.mark.skipif(not HAVE, reason="openssl is not installed: apt install openssl")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return make_certificate(tmp_path, "robot")


def trusting(cert: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(cert))


def of_version(version: ssl.TLSVersion) -> ssl.SSLContext:
    """Return a client of one version that takes any cipher and any certificate."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a version is old is the point
        client.minimum_version = client.maximum_version = version
    client.set_ciphers("ALL:@SECLEVEL=0")
    return client


def test_a_page_is_served_over_tls_and_its_cookie_is_secure(tmp_path: Path, files: tuple[Path, Path]) -> None:
    rules = rules_for("127.0.0.1", True, secure=True)
    with serving(tmp_path, rules, tls=tls_context(*files)) as (server, _, robot):
        assert server.url.startswith("https://127.0.0.1:")
        host = server.url.split("/")[2]
        with closing(http.client.HTTPSConnection(host, timeout=WAIT_S, context=trusting(files[0]))) as connection:
            connection.request("POST", "/enter", f'{{"token": "{rules.token}"}}', {
                "Content-Type": "application/json", "Origin": f"https://{host}"})
            reply = connection.getresponse()
            assert reply.status == 200 and "; secure" in reply.headers["Set-Cookie"].lower()
            reply.read()
            connection.request("POST", "/stop", "{}", {"Content-Type": "application/json",
                                                       "Cookie": reply.headers["Set-Cookie"].split(";")[0]})
            assert connection.getresponse().status == 200 and robot.stopped.is_set()
        name, port = host.split(":")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_1):
            with socket.create_connection((name, int(port)), WAIT_S) as plain:
                if version is ssl.TLSVersion.TLSv1_1:
                    with pytest.raises((ssl.SSLError, OSError)):
                        of_version(version).wrap_socket(plain, server_hostname="localhost")
                else:
                    assert of_version(version).wrap_socket(plain).version() == "TLSv1.2"


def test_what_cannot_be_served_is_named(tmp_path: Path, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
                                        ) -> None:
    cert, key = files
    _, other = make_certificate(tmp_path, "other")
    locked = tmp_path / "locked.key"
    subprocess.run(["openssl", "pkey", "-in", key, "-aes128", "-passout", "pass:secret", "-out", locked], check=True)
    text = tmp_path / "text"
    text.write_text("hello")
    for files_, says in (((cert, other), "(?i)key.values.mismatch.*belongs to it"), ((text, text), "in PEM"),
                         ((cert, tmp_path / "none"), "No such file"), ((cert, locked), "encrypted")):
        with pytest.raises(ConfigError, match=says):
            tls_context(*files_)
    assert main(["console", "--tls-cert", str(cert)]) == 2
    assert "belong together" in capsys.readouterr().err
    assert main(["console", "--tls-cert", str(cert), "--tls-key", str(other)]) == 2
    assert "cannot be served as a certificate and its key" in capsys.readouterr().err
