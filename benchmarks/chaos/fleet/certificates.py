"""Certificates for drills and tests, made by the program openssl."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HAVE = shutil.which("openssl") is not None
_CONFIG = """[ca]
default_ca=d
[d]
database={0}/index.txt
serial={0}/serial
new_certs_dir={0}
default_md=sha256
policy=p
[p]
commonName=supplied
"""


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Return a new self-signed certificate of this machine and its key, valid for 30 days."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    _openssl("req", "-x509", *_NEW, "-keyout", key, "-out", cert, "-days", "30", "-subj", f"/CN={name}",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    return cert, key


def make_expired(folder: Path) -> tuple[Path, Path]:
    """Return a certificate that ended in 2021, and its key."""
    cert, key, request = folder / "expired.pem", folder / "expired.key", folder / "expired.csr"
    own = folder / "ca"
    own.mkdir()
    (own / "index.txt").touch()
    (own / "serial").write_text("01\n")
    (own / "ca.cnf").write_text(_CONFIG.format(own))
    _openssl("req", *_NEW, "-keyout", key, "-out", request, "-subj", "/CN=expired")
    _openssl("ca", "-batch", "-config", own / "ca.cnf", "-selfsign", "-keyfile", key, "-in", request, "-out", cert,
             "-startdate", "20200101000000Z", "-enddate", "20210101000000Z", "-notext")
    return cert, key


_NEW = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def _openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=60)
